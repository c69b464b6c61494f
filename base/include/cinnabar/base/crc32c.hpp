// SPDX-License-Identifier: BSD-3-Clause
// CRC-32C (Castagnoli), with the processor's instruction if it has one. Thread-safe.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>

#include <cstdint>

namespace cinnabar {

// `before` is the checksum of the preceding bytes: crc32c(b, crc32c(a)) is the checksum of a followed by b.
[[nodiscard]] CINNABAR_API std::uint32_t crc32c(ConstBytes bytes, std::uint32_t before = 0) noexcept;

}  // namespace cinnabar
