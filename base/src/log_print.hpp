// SPDX-License-Identifier: BSD-3-Clause
// Formats a log line for stderr into a buffer of the caller. The functions always end the line with a newline. Text
// that does not fit is truncated between two characters. Text from a peer cannot forge another line or contain terminal
// control codes.
#pragma once

#include <cinnabar/base/log.hpp>

#include <span>

namespace cinnabar::detail {

// Requires: room for at least 256 bytes.
[[nodiscard]] std::string_view print_text(const LogLine& line, std::span<char> room) noexcept;
// `unix_us`: the time of day, in microseconds since 1970.
[[nodiscard]] std::string_view print_json(const LogLine& line, std::uint64_t unix_us, int process, int thread,
                                          std::span<char> room) noexcept;
// In the configured format, with the present time, thread and process.
[[nodiscard]] std::string_view print_line(const LogLine& line, std::span<char> room) noexcept;

}  // namespace cinnabar::detail
