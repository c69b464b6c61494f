// SPDX-License-Identifier: BSD-3-Clause
// Where HG and NA write what went wrong: Mercury's switches over the core's sink. Any thread.
#pragma once

#include <cinnabar/base/log.hpp>

#include <string_view>

namespace cinnabar::mercury {

// printf formatting.
void log_error(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
void log_warning(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Reads HG_LOG_LEVEL and HG_LOG_SUBSYS, once, and takes the core's log over when they or the user say so.
void read_log_environment() noexcept;
void set_level(const char* level) noexcept;
// A line whatever the level.
void write_always(std::string_view line) noexcept;

}  // namespace cinnabar::mercury
