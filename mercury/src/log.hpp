// SPDX-License-Identifier: BSD-3-Clause
// The log of HG and NA: Mercury's settings on top of the core's sink. Thread-safe.
#pragma once

#include <cinnabar/base/log.hpp>

#include <string_view>

namespace cinnabar::mercury {

// printf formatting.
void log_error(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));
void log_warning(const char* format, ...) noexcept __attribute__((format(printf, 1, 2)));

// Reads HG_LOG_LEVEL and HG_LOG_SUBSYS, once, and redirects the core's log here if they or the user ask for it.
void read_log_environment() noexcept;
void set_level(const char* level) noexcept;
// Logs a line at any level.
void write_always(std::string_view line) noexcept;

}  // namespace cinnabar::mercury
