// SPDX-License-Identifier: BSD-3-Clause
// The log sink of the libraries: one function that an application may replace; by default warnings and errors go to
// stderr. An error is logged once, where its code is decided. Nothing on the hot path logs. Any thread may log.
#pragma once

#include <cinnabar/base/export.hpp>

#include <cstdint>
#include <string_view>

namespace cinnabar {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Called with a finished line without a newline; may be called from several threads at once.
using LogSink = void (*)(LogLevel level, std::string_view line, void* user);

// Replaces the sink; null restores stderr. The old sink may still be running in another thread when this returns.
CINNABAR_API void set_log_sink(LogSink sink, void* user) noexcept;

// Lines below `level` are dropped before they are formatted. Default: warning, or
// CINNABAR_LOG=debug|info|warning|error.
CINNABAR_API void set_log_level(LogLevel level) noexcept;
[[nodiscard]] CINNABAR_API bool log_enabled(LogLevel level) noexcept;

// printf formatting; cut at 1023 bytes.
CINNABAR_API void log(LogLevel level, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

}  // namespace cinnabar
