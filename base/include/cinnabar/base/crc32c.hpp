// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli) of some bytes, by the processor's own instruction where it has one. Any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>

#include <cstdint>

namespace cinnabar {

// `before` is the sum of what precedes the bytes: crc32c(b, crc32c(a)) is the sum of a and b in a row.
[[nodiscard]] CINNABAR_API std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before = 0) noexcept;

}  // namespace cinnabar
