// SPDX-License-Identifier: BSD-3-Clause
// What log() and log_limited() do with a line whose level is enabled. Any thread.
#pragma once

#include <cinnabar/base/log.hpp>

#include <cstdarg>

namespace cinnabar::detail {

// Formats the line, keeps it for recent_log(), and passes it to the sink. `left_out`: how many lines the LogLimit has
// dropped since it last admitted a line; 0 for log().
void tell_log_sink(LogLevel level, LogModule module, std::initializer_list<LogField> fields, std::uint64_t left_out,
                   const char* format, std::va_list arguments) noexcept;

// The number of set_log_sink() calls so far.
[[nodiscard]] std::uint32_t log_sink_version() noexcept;

}  // namespace cinnabar::detail
