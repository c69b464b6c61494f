// SPDX-License-Identifier: BSD-3-Clause
// Preloaded (LD_PRELOAD) into a process of the crash test: system calls on files fail, do only part of their work, or
// are the last call of the process. The environment says which:
//     CINNABAR_FAULTS_ON    nothing happens before this file exists; it has the number of the client's process
//     CINNABAR_FAULTS_SEED  seed of the random choice
//     CINNABAR_KILL_AT      kill the process before its n-th call; 0: never
//     CINNABAR_KILL_CLIENT  if set, that kills the client instead
//     CINNABAR_FAULT_RATE   how many of a thousand calls fail
//     CINNABAR_FAULT_READS  if set, reads may fail too
//     CINNABAR_UNSYNCED     this file gets the name of each file that is renamed before its last bytes are synced
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
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

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
    bool client = std::getenv("CINNABAR_KILL_CLIENT") != nullptr;
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

pid_t client_of(const char* file) {
    char text[16] = {};
    const int fd = static_cast<int>(::syscall(SYS_open, file, O_RDONLY | O_CLOEXEC));
    (void)!::syscall(SYS_read, fd, text, sizeof text - 1);
    (void)::syscall(SYS_close, fd);
    return std::atoi(text);
}

void kill_one(const Choice& of) {
    const pid_t victim = of.client ? client_of(of.on) : ::getpid();
    if (victim > 0) (void)::kill(victim, SIGKILL);
}

// Kills a process if it is time for that. Otherwise returns a number if the call should fail, or 0.
std::uint64_t next_fault() {
    Choice& of = choice();
    const int before = errno;
    const bool on = of.on && ::syscall(SYS_access, of.on, F_OK) == 0;
    errno = before;
    if (!on) return 0;
    const auto call = of.calls.fetch_add(1) + 1;
    if (call == of.kill_at) kill_one(of);
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

// Which files have bytes that were not synced, in a process that is asked for them (CINNABAR_UNSYNCED).
class Unsynced {
  public:
    void written(int fd) { note(fd, true); }
    void synced(int fd) { note(fd, false); }
    // Reports a file that is about to get a name.
    void named(int folder, const char* from, const char* name) {
        if (!report_) return;
        const int before = errno;
        struct stat status {};
        if (::fstatat(folder, from, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode)) {
            const std::lock_guard lock(mutex_);
            if (files_.contains({status.st_dev, status.st_ino})) report(name);
        }
        errno = before;
    }

  private:
    void note(int fd, bool written) {
        if (!report_) return;
        const int before = errno;
        struct stat status {};
        if (::fstat(fd, &status) == 0) {
            const std::lock_guard lock(mutex_);
            if (written) files_.insert({status.st_dev, status.st_ino});
            if (!written) files_.erase({status.st_dev, status.st_ino});
        }
        errno = before;
    }
    void report(const char* name) const {
        const int fd = ::open(report_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0) return;
        (void)!::write(fd, name, std::strlen(name));
        (void)!::write(fd, "\n", 1);
        (void)::close(fd);
    }

    const char* const report_ = std::getenv("CINNABAR_UNSYNCED");
    std::mutex mutex_;
    std::set<std::pair<dev_t, ino_t>> files_;
};

// Never destroyed: threads may still write when the process ends.
Unsynced& unsynced() {
    static auto& made = *new Unsynced;
    return made;
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
WRAP(linkat, int, (int from, const char* old, int to, const char* name, int flags), (from, old, to, name, flags))
WRAP(fallocate, int, (int fd, int mode, off_t offset, off_t bytes), (fd, mode, offset, bytes))
WRAP(fchmod, int, (int fd, mode_t mode), (fd, mode))
WRAP(futimens, int, (int fd, const struct timespec times[2]), (fd, times))
WRAP(mkdirat, int, (int folder, const char* name, mode_t mode), (folder, name, mode))
WRAP(symlinkat, int, (const char* target, int folder, const char* name), (target, folder, name))

// Only to make a file fails.
extern "C" __attribute__((visibility("default"))) int openat(int folder, const char* name, int flags, ...) {
    static auto* const next = real<int(int, const char*, int, ...)>("openat");
    if ((flags & O_CREAT) == 0) return next(folder, name, flags);
    std::va_list more;
    va_start(more, flags);
    const mode_t mode = va_arg(more, mode_t);
    va_end(more);
    return fails() ? -1 : next(folder, name, flags, mode);
}

// Bytes that are written during the sync are not synced.
#define WRAP_SYNC(name)                                                  \
    extern "C" __attribute__((visibility("default"))) int name(int fd) { \
        static auto* const next = real<int(int)>(#name);                 \
        if (fails()) return -1;                                          \
        unsynced().synced(fd);                                           \
        const int done = next(fd);                                       \
        if (done != 0) unsynced().written(fd);                           \
        return done;                                                     \
    }
WRAP_SYNC(fsync)
WRAP_SYNC(fdatasync)

#define WRAP_RENAME(name, parameters, arguments)                            \
    extern "C" __attribute__((visibility("default"))) int name parameters { \
        static auto* const next = real<int parameters>(#name);              \
        if (fails()) return -1;                                             \
        unsynced().named(from, old, as);                                    \
        return next arguments;                                              \
    }
WRAP_RENAME(renameat, (int from, const char* old, int to, const char* as), (from, old, to, as))
WRAP_RENAME(renameat2, (int from, const char* old, int to, const char* as, unsigned flags), (from, old, to, as, flags))

#define WRAP_WRITE(name)                                                                                   \
    extern "C" __attribute__((visibility("default"))) ssize_t name(int fd, const void* from, size_t bytes, \
                                                                   off64_t offset) {                       \
        static auto* const next = real<ssize_t(int, const void*, size_t, off64_t)>(#name);                 \
        const auto fault = next_fault();                                                                   \
        if (fault % 3 != 0) {                                                                              \
            errno = errno_of(fault);                                                                       \
            return -1;                                                                                     \
        }                                                                                                  \
        unsynced().written(fd);                                                                            \
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
