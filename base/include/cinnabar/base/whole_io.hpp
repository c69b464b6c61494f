// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes that go on where a system call did a part, or was interrupted. They leave errno. Any thread; they
// block as long as the disk does.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>

#include <sys/types.h>

#include <cstdint>

namespace cinnabar {

// How much was read; less than `to` where the file ends. -1: an error.
[[nodiscard]] CINNABAR_API ssize_t read_at_most(int fd, Bytes to, std::uint64_t offset) noexcept;
[[nodiscard]] CINNABAR_API bool write_whole(int fd, ConstBytes from, std::uint64_t offset) noexcept;

}  // namespace cinnabar
