// SPDX-License-Identifier: BSD-3-Clause
// A regular file that others may change while it is read. The data is consistent only if settled() succeeds afterwards.
// The file is read into buffers rather than mapped, because truncating a mapped file raises SIGBUS, whereas a read
// returns an error.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/file_stamp.hpp>
#include <cinnabar/files/verified.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::files {

class CINNABAR_API SourceFile {
  public:
    // Opens a file by any path. Does not block on a pipe. invalid_argument: not a regular file. Also the errors of
    // file_error().
    [[nodiscard]] static Result<SourceFile> open(const std::string& path);
    // Takes a descriptor that was opened for reading with O_NONBLOCK; `name` is used in error messages.
    [[nodiscard]] static Result<SourceFile> from(UniqueFd file, std::string_view name);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }  // size when the file was opened

    // Whether the file has holes, judged by its size on disk.
    [[nodiscard]] bool sparse() const noexcept { return sparse_; }
    // Whether the range lies in a hole, and so is all zeros. False if the file system cannot tell. Threads: as read().
    [[nodiscard]] bool is_hole(std::uint64_t offset, std::uint64_t bytes) const noexcept;
    // Whether a hole begins in the range. False if the file system cannot tell. Threads: as read().
    [[nodiscard]] bool has_hole(std::uint64_t offset, std::uint64_t bytes) const noexcept;
    // The attributes when the file was opened, except that the extended attributes are read now. Errors: those of
    // read_extended().
    [[nodiscard]] Result<Attributes> attributes(const ExtendedKinds& kinds) const;

    // The checksum stored with the file, if this service saved it.
    [[nodiscard]] StoredChecksum stored_checksum() const noexcept;

    // Reads `to.size()` bytes at `offset`. bad_checksum: the file ends earlier. Also the errors of file_error(),
    // such as io. Threads: any, several at once.
    [[nodiscard]] Result<void> read(std::uint64_t offset, Bytes to) const;
    // Like read(), but stops at the end of the file. Returns how much was read; 0 after an error. Threads: as read().
    [[nodiscard]] std::size_t read_some(std::uint64_t offset, Bytes to) const noexcept;
    // Checks that the file was not changed since it was opened. bad_checksum: its size, its modification time or its
    // change time (ctime, which programs cannot set) differs; or the file has more data than its size says, like files
    // in /proc.
    [[nodiscard]] Result<void> settled() const;

    // The state of the file when it was opened.
    [[nodiscard]] const FileStamp& stamp() const noexcept { return stamp_; }
    // Whether every write(2) since the file was opened gives the file another stamp. False also if the file was changed
    // in the last two seconds before it was opened.
    [[nodiscard]] bool tells_changes() const noexcept;

  private:
    SourceFile() = default;
    UniqueFd file_;
    std::string name_;
    std::uint64_t bytes_ = 0;
    Attributes attributes_;  // without the extended ones
    bool sparse_ = false;
    FileStamp stamp_;
    bool rested_ = false;  // it was not changed in the last two seconds before it was opened
};

}  // namespace cinnabar::files
