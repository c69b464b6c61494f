// SPDX-License-Identifier: BSD-3-Clause
// Logging. By default warnings and errors go to stderr; an application may install its own sink. An error is logged
// once, where its code is decided. The hot path does not log. Thread-safe, and logging never blocks. Lines that a peer
// can cause go through a LogLimit, so that no peer can fill the log.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace cinnabar {

enum class LogLevel : std::uint8_t { debug, info, warning, error };

// Called with one line, without a newline, on the thread that logs; may be called by several threads at once. A sink
// must not block, since that thread may drive a context, whose calls would stop: do not write to a pipe, a terminal or
// a file here, but copy the line to another thread that does.
using LogSink = void (*)(LogLevel level, std::string_view line, void* user);

// Replaces the sink; null restores stderr. Another thread may still be inside the old sink when this returns.
CINNABAR_API void set_log_sink(LogSink sink, void* user) noexcept;

// Lines below `level` are dropped before they are formatted. Default: warning, or
// CINNABAR_LOG=debug|info|warning|error.
CINNABAR_API void set_log_level(LogLevel level) noexcept;
[[nodiscard]] CINNABAR_API bool log_enabled(LogLevel level) noexcept;

// Logs a line with printf formatting, truncated to 1023 bytes.
CINNABAR_API void log(LogLevel level, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

// Rate limit for one place in the code that logs: a burst of lines, then one per period. Make it static, one for each
// place, so that memory does not grow with the number of peers. Thread-safe.
class CINNABAR_API LogLimit {
  public:
    static constexpr std::uint32_t burst_default = 10;
    static constexpr Microseconds period_default{10'000'000};

    constexpr explicit LogLimit(std::uint32_t burst = burst_default, Microseconds period = period_default) noexcept
        : burst_us_(static_cast<TimeUs>(period.count()) * (burst - 1)),
          period_us_(static_cast<TimeUs>(period.count())) {}
    LogLimit(const LogLimit&) = delete;
    LogLimit& operator=(const LogLimit&) = delete;

    // Whether a line may be logged at `now`. If so, `left_out` is set to the number of lines refused since the last
    // one.
    [[nodiscard]] bool admits(TimeUs now, std::uint64_t& left_out) noexcept;

  private:
    const TimeUs burst_us_;
    const TimeUs period_us_;
    std::atomic<TimeUs> paid_until_{0};
    std::atomic<std::uint64_t> refused_{0};
};

// Like log(), for lines that peers can cause. Lines over the limit are dropped and counted; the next line that is
// logged ends with their number.
CINNABAR_API void log_limited(LogLimit& limit, LogLevel level, const char* format, ...) noexcept
    __attribute__((format(printf, 3, 4)));

// Queues a line, including its newline, for stderr, as the default sink does. Never blocks: a background thread,
// started by the first line, writes it. At most 256 lines are queued. Further lines are dropped, and their number is
// written once stderr accepts output again. Truncated to 1099 bytes.
CINNABAR_API void write_stderr_later(std::string_view line) noexcept;

// Waits until all queued lines have been written to stderr, for at most `limit`; true if they were. exit() and a failed
// assertion do this for up to 200 ms; _exit() and fatal signals lose the queued lines.
CINNABAR_API bool flush_log(Microseconds limit) noexcept;

}  // namespace cinnabar
