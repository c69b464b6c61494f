// SPDX-License-Identifier: BSD-3-Clause
#include "file/dated.hpp"
#include "file/read_entries.hpp"
#include "file/stored_checksum.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/whole_io.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/source_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace cinnabar::files {
namespace {

// How long a file must have been unchanged for its stamp to tell later changes: hundreds of times the resolution of the
// clock that dates changes, so that it does no harm if this clock goes back a little.
constexpr std::int64_t rest_seconds = 2;

}  // namespace

Result<SourceFile> SourceFile::open(const std::string& path) {
    UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return file_error(errno, "cannot open the file", path);
    return from(std::move(file), path);
}

Result<SourceFile> SourceFile::from(UniqueFd file, std::string_view name) {
    const ChangeTime now = change_clock();
    struct stat status {};
    if (::fstat(file.get(), &status) != 0) return file_error(errno, "cannot look at the file", name);
    if (S_ISDIR(status.st_mode)) return file_error(EISDIR, {}, name);
    if (!S_ISREG(status.st_mode)) return Error{Errc::invalid_argument, "it is not a regular file", printable(name)};
    (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
    SourceFile source;
    source.file_ = std::move(file);
    source.name_ = name;
    source.bytes_ = static_cast<std::uint64_t>(status.st_size);
    source.attributes_ = attributes_of(status);
    constexpr std::uint64_t disk_block_bytes = 512;
    source.sparse_ = static_cast<std::uint64_t>(status.st_blocks) * disk_block_bytes < source.bytes_;
    source.stamp_ = stamp_of(status);
    source.rested_ = changed_at(source.stamp_) < ChangeTime{now.seconds - rest_seconds, now.nanoseconds};
    return source;
}

bool SourceFile::is_hole(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    // lseek moves the file position, which no other function uses.
    const off_t content = ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_DATA);
    if (content < 0) return errno == ENXIO;  // the file has no data after offset
    return static_cast<std::uint64_t>(content) >= offset + bytes;
}

// lseek reports the end of the file as a hole if there is no other one.
bool SourceFile::has_hole(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    const off_t hole = ::lseek(file_.get(), static_cast<off_t>(offset), SEEK_HOLE);
    return hole >= 0 && static_cast<std::uint64_t>(hole) < offset + bytes;
}

Result<Attributes> SourceFile::attributes(const ExtendedKinds& kinds) const {
    Attributes result = attributes_;
    CINNABAR_TRY(result.extended, read_extended(file_.get(), kinds, name_));
    return result;
}

StoredChecksum SourceFile::stored_checksum() const noexcept { return read_stored_checksum(file_.get()); }

Result<void> SourceFile::read(std::uint64_t offset, Bytes to) const {
    while (!to.empty()) {
        const ssize_t count = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
        if (count < 0) {
            if (errno == EINTR) continue;
            return file_error(errno, "cannot read the file", name_);
        }
        if (count == 0) return Error{Errc::bad_checksum, "the file became shorter while it was read", printable(name_)};
        offset += static_cast<std::uint64_t>(count);
        to = to.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

std::size_t SourceFile::read_some(std::uint64_t offset, Bytes to) const noexcept {
    const ssize_t count = read_at_most(file_.get(), to, offset);
    return count < 0 ? 0 : static_cast<std::size_t>(count);
}

Result<void> SourceFile::settled() const {
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) return file_error(errno, "cannot look at the file", name_);
    FileStamp now = stamp_of(status);
    now.inode = stamp_.inode;  // some file systems in user space number their files anew
    if (now != stamp_) return Error{Errc::bad_checksum, "the file was changed while it was read", printable(name_)};
    std::byte beyond{};
    ssize_t count = 0;
    do {
        count = ::pread(file_.get(), &beyond, 1, static_cast<off_t>(bytes_));
    } while (count < 0 && errno == EINTR);
    if (count < 0) return file_error(errno, "cannot read the file", name_);
    if (count > 0) return Error{Errc::bad_checksum, "the file is longer than its size says", printable(name_)};
    return {};
}

bool SourceFile::tells_changes() const noexcept { return rested_ && dates_changes(file_.get(), stamp_); }

}  // namespace cinnabar::files
