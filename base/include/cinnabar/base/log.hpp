// SPDX-License-Identifier: BSD-3-Clause
// The log of the libraries: one function that an application may replace; by default warnings and errors go to stderr.
// An error is logged once, where its code is decided. Nothing on the hot path logs. Any thread may log, and no thread
// waits for whoever reads the log. What a peer can cause goes through a LogLimit, so that no stranger fills a log.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace cinnabar {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Called with a finished line without a newline, by the thread that logs; by several at once. That thread may be one
// that drives a context, and all calls of the context stand while it is here: a sink must not block. It does not write
// to a pipe, a terminal or a file, but puts a copy of the line where another thread writes it.
using LogSink = void (*)(LogLevel level, std::string_view line, void* user);

// Replaces the sink; null restores stderr. The old sink may still be running in another thread when this returns.
CINNABAR_API void set_log_sink(LogSink sink, void* user) noexcept;

// Lines below `level` are dropped before they are formatted. Default: warning, or
// CINNABAR_LOG=debug|info|warning|error.
CINNABAR_API void set_log_level(LogLevel level) noexcept;
[[nodiscard]] CINNABAR_API bool log_enabled(LogLevel level) noexcept;

// printf formatting; cut at 1023 bytes.
CINNABAR_API void log(LogLevel level, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// How many lines one place in the code may log: a burst, then one each period. Static, one for each place, so that its
// memory does not grow with peers. Any thread.
class CINNABAR_API LogLimit {
  public:
    static constexpr std::uint32_t burst_default = 10;
    static constexpr Microseconds period_default{10'000'000};

    constexpr explicit LogLimit(std::uint32_t burst = burst_default, Microseconds period = period_default) noexcept
        : burst_us_(static_cast<TimeUs>(period.count()) * (burst - 1)),
          period_us_(static_cast<TimeUs>(period.count())) {}
    LogLimit(const LogLimit&) = delete;
    LogLimit& operator=(const LogLimit&) = delete;

    // Whether a line may be logged at `now`. If so, `left_out` is how many were refused since the last one.
    [[nodiscard]] bool admits(TimeUs now, std::uint64_t& left_out) noexcept;

  private:
    const TimeUs burst_us_;
    const TimeUs period_us_;
    std::atomic<TimeUs> paid_until_{0};
    std::atomic<std::uint64_t> refused_{0};
};

// The same as log(), for lines that peers can cause: those beyond the limit are counted, and the next line that is
// logged ends with how many they were.
CINNABAR_API void log_limited(LogLimit& limit, LogLevel level, const char* format, ...) noexcept
    __attribute__((format(printf, 3, 4)));

// Queues a finished line, with its newline, for stderr, as the default sink does: never blocks. A thread that the first
// line starts writes it. At most 256 lines wait; what is beyond is dropped, and their number is written as soon as
// stderr takes lines again. Cut at 1099 bytes.
CINNABAR_API void write_stderr_later(std::string_view line) noexcept;

// Waits until what was queued for stderr is written, at most for `limit`; true when it is. exit() and a failed
// assertion wait so for 200 ms; _exit() and signals lose what is queued.
CINNABAR_API bool flush_log(Microseconds limit) noexcept;

}  // namespace cinnabar
