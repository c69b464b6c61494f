// SPDX-License-Identifier: BSD-3-Clause
// Numbers in text.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>

namespace cinnabar {

// Parses all of `text` as a decimal number. Nothing: `text` is not a number, or the number does not fit.
template <std::integral Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) noexcept {
    Number number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, failed] = std::from_chars(text.data(), last, number);
    return failed == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

}  // namespace cinnabar
