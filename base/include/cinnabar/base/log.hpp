// SPDX-License-Identifier: BSD-3-Clause
// Logging. By default warnings and errors go to stderr; an application may install its own sink, and each module may
// have a level of its own. An error is logged once, where its code is decided. The hot path does not log. Thread-safe,
// and logging never blocks. Lines that a peer can cause go through a LogLimit, so that no peer can fill the log.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/log_field.hpp>
#include <cinnabar/base/log_limit.hpp>
#include <cinnabar/base/result.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar {

// `off` is only a setting, for modules that log nothing; no line has it.
enum class LogLevel : std::uint8_t { debug, info, warning, error, off };

// The name of the part of a program that logs: a module of the library (base, na, bulk, rpc, hl, files, mercury), the
// scheme of a transport (tcp, shm, ofi, verbs), or a name chosen by the program. The name is a literal of at most 15
// lower-case letters, digits, `_` and `-`, which the compiler checks.
class LogModule {
  public:
    static constexpr std::size_t bytes_max = 15;

    // NOLINTNEXTLINE(google-explicit-constructor): implicit, so that a literal can be passed
    consteval LogModule(const char* name) : name_(name) {
        if (!is_name(name)) throw "the name of a module: at most 15 of a to z, 0 to 9, _ and -";
    }
    // Makes a LogModule of a name that is not known at compile time, such as a scheme. `name` must have static storage
    // duration. No level can be set for a malformed name.
    [[nodiscard]] static constexpr LogModule named(std::string_view name) noexcept { return LogModule(name, 0); }
    [[nodiscard]] constexpr std::string_view name() const noexcept { return name_; }

    [[nodiscard]] static constexpr bool is_name(std::string_view text) noexcept {
        for (const char c : text) {
            if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-') return false;
        }
        return !text.empty() && text.size() <= bytes_max;
    }

  private:
    constexpr LogModule(std::string_view name, int) noexcept : name_(name) {}
    std::string_view name_;
};

// A line as passed to sinks; its text and fields are valid only during the call.
struct LogLine {
    LogLevel level = LogLevel::info;
    std::string_view module;
    std::string_view text;       // without a newline, at most 1023 bytes; parts of it may come from a peer
    std::uint64_t left_out = 0;  // lines that its LogLimit dropped since the last one; also in the text
    // At most 8, in the order in which they were given.
    std::span<const LogField> fields = {};
};

// Writes the fields of a line into `room` as text, for example ` peer=tcp://10.0.0.5:41234 error=protocol`, for sinks
// that write text. Leaves out each field that does not fit as a whole. A value with blanks, quotes, `=` or control
// characters is quoted and escaped as in JSON, so text from a peer cannot forge a field or a line. Returns the text,
// which is empty if the line has no fields.
[[nodiscard]] CINNABAR_API std::string_view print_fields(const LogLine& line, std::span<char> room) noexcept;

[[nodiscard]] CINNABAR_API std::string_view to_string(LogLevel level) noexcept;

// Receives log lines. Called on the thread that logs, and by several threads at once. A sink must not block, because
// the thread that logs may drive a context: a sink must not write to a pipe, a terminal or a file, but can pass a copy
// of the line to a thread that does (cinnabar/hl/spdlog.hpp is an example).
using LogSink = void (*)(const LogLine& line, void* user);

// Replaces the sink; null restores stderr. When set_log_sink() returns, another thread may still be inside the old
// sink. Resets every LogLimit, because the new sink has received nothing yet.
CINNABAR_API void set_log_sink(LogSink sink, void* user) noexcept;

// Sets the level of all modules, and removes the levels of individual modules. Lines below the level are dropped before
// they are formatted. Default: warning, or what the environment variable CINNABAR_LOG sets, in the format of
// configure_log().
CINNABAR_API void set_log_level(LogLevel level) noexcept;
// invalid_argument: not a module name. overloaded: 32 modules have a level already.
[[nodiscard]] CINNABAR_API Errc set_log_level(std::string_view module, LogLevel level) noexcept;
[[nodiscard]] CINNABAR_API bool log_enabled(LogLevel level, LogModule module) noexcept;

// The output format of the stderr sink. text: for people, without the fields. json: an object per line, with "time"
// (UTC), "level", "module", "text", "process", "thread", the fields (log_field.hpp) and, if lines were dropped,
// "left_out".
enum class LogFormat : std::uint8_t { text, json };
CINNABAR_API void set_log_format(LogFormat format) noexcept;

// Sets levels and format from text, in any order: "warning,rpc=debug,tcp=off,json". A level without a module is for all
// modules that have no level of their own. invalid_argument: a word is unknown; the error's subject is that word.
// overloaded: more than 32 modules would have a level. On an error nothing is changed.
[[nodiscard]] CINNABAR_API Result<void> configure_log(std::string_view text);

// Logs a line with printf formatting, truncated to 1023 bytes.
CINNABAR_API void log(LogLevel level, LogModule module, const char* format, ...) noexcept
    __attribute__((format(printf, 3, 4)));
// The same with fields, of which only the first 8 are kept.
CINNABAR_API void log(LogLevel level, LogModule module, std::initializer_list<LogField> fields, const char* format,
                      ...) noexcept __attribute__((format(printf, 4, 5)));

// Like log(), for lines that peers can cause. Lines over the limit are dropped and counted; the next line that is
// logged ends with the number of dropped lines.
CINNABAR_API void log_limited(LogLimit& limit, LogLevel level, LogModule module, const char* format, ...) noexcept
    __attribute__((format(printf, 4, 5)));
CINNABAR_API void log_limited(LogLimit& limit, LogLevel level, LogModule module, std::initializer_list<LogField> fields,
                              const char* format, ...) noexcept __attribute__((format(printf, 5, 6)));

// A warning or an error that was logged, whichever sink it went to.
struct RecentLine {
    TimeUs at = 0;  // on steady_clock()
    LogLevel level = LogLevel::warning;
    std::string module;
    std::string text;  // its first 255 bytes; without the fields
};
// Returns the last 32 such lines, oldest first. A line that is logged while another thread uses the list is not kept.
[[nodiscard]] CINNABAR_API std::vector<RecentLine> recent_log();

// Queues a line, including its newline, for stderr, as the default sink does. Never blocks: a background thread, which
// the first line starts, writes the lines. At most 256 lines are queued. Further lines are dropped, and the number of
// dropped lines is written once stderr accepts output again. A line is truncated to 1099 bytes.
CINNABAR_API void write_stderr_later(std::string_view line) noexcept;

// Waits until all queued lines have been written to stderr, for at most `limit`. True: all lines were written. exit()
// and a failed assertion wait in this way for up to 200 ms; _exit() and fatal signals lose the queued lines.
CINNABAR_API bool flush_log(Microseconds limit) noexcept;

}  // namespace cinnabar
