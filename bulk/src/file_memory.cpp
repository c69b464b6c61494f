// SPDX-License-Identifier: BSD-3-Clause
#include "file_memory.hpp"

#include "lasting_threads.hpp"

#include <cinnabar/base/whole_io.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <limits>
#include <new>
#include <utility>

namespace cinnabar::bulk {
namespace {

constinit LastingThreads file_threads(4);

// Converts an errno, never to a code that would blame a peer.
FarEnd failed(int os_errno) noexcept {
    switch (const Errc code = errc_from_errno(os_errno)) {
        case Errc::no_space:
        case Errc::permission:
        case Errc::too_large:
        case Errc::invalid_argument:
            return {code, os_errno};
        default:
            return {Errc::io, os_errno};
    }
}

// Returns ok if `all` bytes were read, otherwise `stale`: the file was truncated, or was shorter than the region from
// the beginning and has not been filled.
FarEnd all_or_stale(bool all) noexcept { return {all ? Errc::ok : Errc::stale, 0}; }

Result<void> check_mode(int fd, na::Access access) {
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0) return Error(Errc::invalid_argument, "no open file descriptor", {}, errno);
    if ((flags & (O_APPEND | O_DIRECT)) != 0)
        return Error(Errc::invalid_argument, "the file is open with O_APPEND or O_DIRECT: open it without");
    const int mode = flags & O_ACCMODE;
    if (na::allows(access, na::Access::read) && mode == O_WRONLY)
        return Error(Errc::permission, "the file is open for writing only: open it for reading too");
    if (na::allows(access, na::Access::write) && mode == O_RDONLY)
        return Error(Errc::permission, "the file is open for reading only: open it for writing too");
    return {};
}

Result<void> check_file(int fd, std::uint64_t end, na::Access access) {
    struct stat found {};
    if (::fstat(fd, &found) != 0) return Error(errc_from_errno(errno), "looking at the file", {}, errno);
    if (!S_ISREG(found.st_mode) && !S_ISBLK(found.st_mode))
        return Error(Errc::invalid_argument, "neither a regular file nor a block device");
    // A write may extend the file; a read beyond its end cannot succeed.
    const bool too_short = S_ISREG(found.st_mode) && static_cast<std::uint64_t>(found.st_size) < end;
    if (too_short && access == na::Access::read)
        return Error(Errc::invalid_argument, "the file has fewer bytes than the region");
    return {};
}

}  // namespace

Result<std::shared_ptr<FarMemory>> FileMemory::open(int fd, std::uint64_t offset, std::uint64_t bytes,
                                                    na::Access access) {
    constexpr std::uint64_t most = std::numeric_limits<off_t>::max();
    if (bytes == 0 || offset > most || bytes > most - offset)
        return Error(Errc::invalid_argument, "a region of a file needs at least one byte, and ends before 2^63");
    CINNABAR_TRY_VOID(check_mode(fd, access));
    CINNABAR_TRY_VOID(check_file(fd, offset + bytes, access));
    WorkThreads* const threads = file_threads.get();
    if (!threads) return Error(Errc::overloaded, "the system can start no threads to read files");
    UniqueFd own(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (!own) return Error(errc_from_errno(errno), "a descriptor of its own for a region", {}, errno);
    return std::shared_ptr<FarMemory>(std::make_shared<FileMemory>(std::move(own), offset, bytes, *threads));
}

FileMemory::~FileMemory() {
    struct Closing : WorkItem {
        explicit Closing(UniqueFd of) noexcept : fd(std::move(of)) {}
        UniqueFd fd;
    };
    auto* const closing = new (std::nothrow) Closing(std::move(fd_));
    if (!closing) return;
    closing->run = [](WorkItem& work) noexcept { delete static_cast<Closing*>(&work); };
    threads_.queue(*closing);
}

FarEnd FileMemory::load(std::uint64_t offset, Bytes to) noexcept {
    const ssize_t count = read_at_most(fd_.get(), to, offset_ + offset);
    if (count < 0) return failed(errno);
    return all_or_stale(static_cast<std::size_t>(count) == to.size());
}

FarEnd FileMemory::load_into(na::PipeMemory& pipe, std::uint64_t offset, std::size_t bytes) const noexcept {
    const ssize_t count = pipe.fill(fd_.get(), offset_ + offset, bytes);
    if (count < 0 && errno == EINVAL && pipe.left() == 0) return {Errc::unsupported, EINVAL};
    if (count < 0) return failed(errno);
    return all_or_stale(static_cast<std::size_t>(count) == bytes);
}

FarEnd FileMemory::store(std::uint64_t offset, ConstBytes from) noexcept {
    return write_whole(fd_.get(), from, offset_ + offset) ? FarEnd() : failed(errno);
}

}  // namespace cinnabar::bulk
