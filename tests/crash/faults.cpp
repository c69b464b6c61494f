// SPDX-License-Identifier: BSD-3-Clause
// Preloaded (LD_PRELOAD) into a process of the crash test: system calls on files fail, do only part of their work, or
// are the last call of the process. The environment says which:
//     CINNABAR_FAULTS_ON    nothing happens before this file exists
//     CINNABAR_FAULTS_SEED  seed of the random choice
//     CINNABAR_KILL_AT      kill the process before its n-th call; 0: never
//     CINNABAR_FAULT_RATE   how many of a thousand calls fail
//     CINNABAR_FAULT_READS  if set, reads may fail too
// Calls are numbered in the order in which the threads of the process make them.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>

namespace {

std::uint64_t number_of(const char* name) {
    const char* const text = std::getenv(name);
    return text ? std::strtoull(text, nullptr, 10) : 0;
}

struct Choice {
    const char* on = std::getenv("CINNABAR_FAULTS_ON");
    std::uint64_t seed = number_of("CINNABAR_FAULTS_SEED");
    std::uint64_t kill_at = number_of("CINNABAR_KILL_AT");
    std::uint64_t rate = number_of("CINNABAR_FAULT_RATE");
    bool reads = std::getenv("CINNABAR_FAULT_READS") != nullptr;
    std::atomic<std::uint64_t> calls{0};
};

Choice& choice() {
    static Choice made;
    return made;
}

std::uint64_t mixed(std::uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

// Kills the process if it is time for that. Otherwise returns a number if the call should fail, or 0.
std::uint64_t next_fault() {
    Choice& of = choice();
    const int before = errno;
    const bool on = of.on && ::syscall(SYS_access, of.on, F_OK) == 0;
    errno = before;
    if (!on) return 0;
    const auto call = of.calls.fetch_add(1) + 1;
    if (call == of.kill_at) (void)::kill(::getpid(), SIGKILL);
    const auto drawn = mixed(of.seed + call);
    return drawn % 1000 < of.rate ? drawn / 1000 + 1 : 0;
}

int errno_of(std::uint64_t fault) { return fault % 2 == 0 ? EIO : ENOSPC; }

// True: the call fails, with errno set.
bool fails() {
    const auto fault = next_fault();
    if (fault != 0) errno = errno_of(fault);
    return fault != 0;
}

template <typename F>
F* real(const char* name) {
    return reinterpret_cast<F*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

#define WRAP(name, result, parameters, arguments)                              \
    extern "C" __attribute__((visibility("default"))) result name parameters { \
        static auto* const next = real<result parameters>(#name);              \
        return fails() ? -1 : next arguments;                                  \
    }
WRAP(fsync, int, (int fd), (fd))
WRAP(fdatasync, int, (int fd), (fd))
WRAP(renameat, int, (int from, const char* old, int to, const char* name), (from, old, to, name))
WRAP(renameat2, int, (int from, const char* old, int to, const char* name, unsigned flags),
     (from, old, to, name, flags))
WRAP(mkdirat, int, (int folder, const char* name, mode_t mode), (folder, name, mode))
WRAP(symlinkat, int, (const char* target, int folder, const char* name), (target, folder, name))

#define WRAP_WRITE(name)                                                                                   \
    extern "C" __attribute__((visibility("default"))) ssize_t name(int fd, const void* from, size_t bytes, \
                                                                   off64_t offset) {                       \
        static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>(#name);                 \
        const auto fault = next_fault();                                                                   \
        if (fault % 3 != 0) {                                                                              \
            errno = errno_of(fault);                                                                       \
            return -1;                                                                                     \
        }                                                                                                  \
        return next(fd, from, fault != 0 && bytes > 1 ? bytes / 2 : bytes, offset);                        \
    }
WRAP_WRITE(pwrite)
WRAP_WRITE(pwrite64)

#define WRAP_READ(name)                                                                                              \
    extern "C" __attribute__((visibility("default"))) ssize_t name(int fd, void* to, size_t bytes, off64_t offset) { \
        static auto* const next = real<ssize_t(int, void*, size_t, off64_t)>(#name);                                 \
        if (next_fault() != 0 && choice().reads) {                                                                   \
            errno = EIO;                                                                                             \
            return -1;                                                                                               \
        }                                                                                                            \
        return next(fd, to, bytes, offset);                                                                          \
    }
WRAP_READ(pread)
WRAP_READ(pread64)

// These calls do not fail: being killed before them is enough.
#define WRAP_KILL(name, result, parameters, arguments)                         \
    extern "C" __attribute__((visibility("default"))) result name parameters { \
        static auto* const next = real<result parameters>(#name);              \
        (void)next_fault();                                                    \
        return next arguments;                                                 \
    }
WRAP_KILL(unlinkat, int, (int folder, const char* name, int flags), (folder, name, flags))
WRAP_KILL(ftruncate, int, (int fd, off64_t bytes), (fd, bytes))
