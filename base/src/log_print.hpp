// SPDX-License-Identifier: BSD-3-Clause
// A line of the log as bytes for stderr, in a buffer of the caller. Both always end with a newline, and cut the text
// where room ends, between two characters. What a peer sent cannot forge another line, nor command a terminal.
#pragma once

#include <cinnabar/base/log.hpp>

#include <span>

namespace cinnabar::detail {

// Requires: room for 256 bytes at least.
[[nodiscard]] std::string_view print_text(const LogLine& line, std::span<char> room) noexcept;
// `unix_us`: the time of day, in microseconds since 1970.
[[nodiscard]] std::string_view print_json(const LogLine& line, std::uint64_t unix_us, int process, int thread,
                                          std::span<char> room) noexcept;
// In the format that is set, of this moment, thread and process.
[[nodiscard]] std::string_view print_line(const LogLine& line, std::span<char> room) noexcept;

}  // namespace cinnabar::detail
