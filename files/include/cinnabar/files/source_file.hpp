// SPDX-License-Identifier: BSD-3-Clause
// A regular file that is read while others may be changing it: what was read is a whole only if settled() says so. It
// is read into buffers, not mapped: a mapped page that is cut away would be a signal, here it is an error.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/verified.hpp>

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::files {

class CINNABAR_API SourceFile {
  public:
    // Opens any path. Errors of file_error; invalid_argument: not a regular file. Never blocks on a pipe.
    [[nodiscard]] static Result<SourceFile> open(const std::string& path);
    // Takes a descriptor that was opened for reading and with O_NONBLOCK; `name` is for messages.
    [[nodiscard]] static Result<SourceFile> from(UniqueFd file, std::string_view name);

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }  // when it was opened

    // Whether it has holes, as far as its size on disk tells.
    [[nodiscard]] bool sparse() const noexcept { return sparse_; }
    // Whether all of it lies in a hole, and so is zero. False where the file system does not say. Threads: as read().
    [[nodiscard]] bool is_hole(std::uint64_t offset, std::uint64_t bytes) const noexcept;
    // As they were when it was opened; the extended ones as they are now. Errors of read_extended.
    [[nodiscard]] Result<Attributes> attributes(const ExtendedKinds& kinds) const;

    // What it was saved with, if it was saved here.
    [[nodiscard]] StoredChecksum stored_checksum() const noexcept;

    // Fills all of `to` from `offset`. bad_checksum: the file ends before. io and others: file_error.
    // Threads: any, also at once.
    [[nodiscard]] Result<void> read(std::uint64_t offset, Bytes to) const;
    // Like read(), but stops at the end of the file. Returns how much was read; 0 after an error. Threads: as read().
    [[nodiscard]] std::size_t read_some(std::uint64_t offset, Bytes to) const noexcept;
    // bad_checksum: size, time of modification or of change (which no program can set back) are not those of the
    // opening; or the file has more bytes than its size says, as those of /proc do.
    [[nodiscard]] Result<void> settled() const;

  private:
    SourceFile() = default;
    UniqueFd file_;
    std::string name_;
    std::uint64_t bytes_ = 0;
    Attributes attributes_;  // without the extended ones
    bool sparse_ = false;
    timespec changed_{};
};

}  // namespace cinnabar::files
