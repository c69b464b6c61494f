// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/base/export.hpp>

#include <cstddef>
#include <string_view>

namespace cinnabar {

// Returns the length of the UTF-8 sequence at the start of `text`; 0 if `text` starts with no valid sequence. Overlong
// forms, surrogates and values over U+10FFFF are invalid. Thread-safe.
[[nodiscard]] CINNABAR_API std::size_t utf8_sequence_bytes(std::string_view text) noexcept;

}  // namespace cinnabar
