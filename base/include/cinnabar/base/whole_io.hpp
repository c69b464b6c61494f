// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes that continue after a partial or interrupted system call. On an error the functions return, and
// errno is set. Any thread; the functions block for as long as the disk does.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>

#include <sys/types.h>

#include <cstdint>

namespace cinnabar {

// Returns the number of bytes read, which is less than `to` only at the end of the file. -1: an error.
[[nodiscard]] CINNABAR_API ssize_t read_at_most(int fd, Bytes to, std::uint64_t offset) noexcept;
[[nodiscard]] CINNABAR_API bool write_whole(int fd, ConstBytes from, std::uint64_t offset) noexcept;

}  // namespace cinnabar
