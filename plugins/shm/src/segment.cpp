// SPDX-License-Identifier: BSD-3-Clause
#include "segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace cinnabar::shm {
namespace {

// Kernels from 6.3 on warn if this flag is missing; earlier ones do not know it.
constexpr unsigned no_exec_seal = 0x0008U;

UniqueFd make_file(const char* name) noexcept {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    UniqueFd fd(::memfd_create(name, flags | no_exec_seal));
    if (!fd && errno == EINVAL) fd.reset(::memfd_create(name, flags));
    return fd;
}

// Exceeding the limit in ftruncate would raise SIGXFSZ, which ends the process.
bool within_size_limit(std::size_t bytes) noexcept {
    rlimit limit{};
    return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

}  // namespace

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
    if (this != &other) {
        reset();
        base_ = std::exchange(other.base_, nullptr);
        bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
}

void Segment::reset() noexcept {
    if (base_) (void)::munmap(base_, bytes_);
    base_ = nullptr;
    bytes_ = 0;
}

bool Segment::map(int fd, std::size_t bytes) noexcept {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return false;
    base_ = static_cast<std::byte*>(at);
    bytes_ = bytes;
    // Forked children do not inherit the mapping.
    (void)::madvise(base_, bytes_, MADV_DONTFORK);
    return true;
}

Errc Segment::make(const char* name, std::size_t bytes, Segment& out, UniqueFd& fd) noexcept {
    out.reset();
    if (!within_size_limit(bytes)) return Errc::out_of_memory;
    fd = make_file(name);
    if (!fd) return errno == EMFILE || errno == ENFILE ? Errc::overloaded : Errc::unsupported;
    const bool sized = ::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0 &&
                       ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0;
    return sized && out.map(fd.get(), bytes) ? Errc::ok : Errc::out_of_memory;
}

Errc Segment::attach(int fd, std::size_t bytes, Segment& out) noexcept {
    out.reset();
    // If the file could shrink, accessing the removed part would kill this process.
    struct stat status {};
    const int seals = ::fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return Errc::protocol;
    if (::fstat(fd, &status) != 0 || status.st_size < 0 || static_cast<std::size_t>(status.st_size) != bytes) {
        return Errc::protocol;
    }
    return out.map(fd, bytes) ? Errc::ok : Errc::out_of_memory;
}

}  // namespace cinnabar::shm
