// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace cinnabar {
namespace {

struct Sink {
    LogSink write;
    void* user;
};

void write_stderr(LogLevel level, std::string_view line, void*) {
    constexpr std::array<const char*, 4> names{"debug", "info", "warning", "error"};
    std::array<char, 1100> buffer{};
    const int count = std::snprintf(buffer.data(), buffer.size(), "cinnabar: %s: %.*s\n",
                                    names[static_cast<std::size_t>(level)], static_cast<int>(line.size()), line.data());
    if (count > 0) write_stderr_later({buffer.data(), std::min(static_cast<std::size_t>(count), buffer.size() - 1)});
}

LogLevel level_from_environment() noexcept {
    const char* name = std::getenv("CINNABAR_LOG");
    if (!name) return LogLevel::warning;
    if (!std::strcmp(name, "debug")) return LogLevel::debug;
    if (!std::strcmp(name, "info")) return LogLevel::info;
    if (!std::strcmp(name, "error")) return LogLevel::error;
    return LogLevel::warning;
}

std::atomic<LogSink> sink_function{write_stderr};
std::atomic<void*> sink_user{nullptr};
std::atomic<LogLevel> level_min{level_from_environment()};

}  // namespace

void set_log_sink(LogSink sink, void* user) noexcept {
    sink_user.store(user);
    sink_function.store(sink ? sink : write_stderr);
}

void set_log_level(LogLevel level) noexcept { level_min.store(level); }

bool log_enabled(LogLevel level) noexcept { return level >= level_min.load(std::memory_order_relaxed); }

bool LogLimit::admits(TimeUs now, std::uint64_t& left_out) noexcept {
    TimeUs paid = paid_until_.load(std::memory_order_relaxed);
    do {
        if (paid > now + burst_us_) {
            refused_.fetch_add(1, std::memory_order_relaxed);
            return false;
        }
    } while (!paid_until_.compare_exchange_weak(paid, std::max(paid, now) + period_us_, std::memory_order_relaxed));
    left_out = refused_.exchange(0, std::memory_order_relaxed);
    return true;
}

namespace {

using Line = std::array<char, 1024>;

std::size_t print(Line& line, std::size_t from, const char* format, std::va_list arguments) noexcept {
    const int count = std::vsnprintf(line.data() + from, line.size() - from, format, arguments);
    return count < 0 ? from : std::min(from + static_cast<std::size_t>(count), line.size() - 1);
}

void tell(LogLevel level, const Line& line, std::size_t bytes) noexcept {
    sink_function.load()(level, std::string_view(line.data(), bytes), sink_user.load());
}

}  // namespace

void log(LogLevel level, const char* format, ...) noexcept {
    if (!log_enabled(level)) return;
    Line line{};
    std::va_list arguments;
    va_start(arguments, format);
    const std::size_t bytes = print(line, 0, format, arguments);
    va_end(arguments);
    tell(level, line, bytes);
}

void log_limited(LogLimit& limit, LogLevel level, const char* format, ...) noexcept {
    if (!log_enabled(level)) return;
    std::uint64_t left_out = 0;
    if (!limit.admits(steady_clock().now_us(), left_out)) return;
    Line line{};
    std::va_list arguments;
    va_start(arguments, format);
    std::size_t bytes = print(line, 0, format, arguments);
    va_end(arguments);
    if (left_out > 0) {
        const int count = std::snprintf(line.data() + bytes, line.size() - bytes, " (%llu more of these left out)",
                                        static_cast<unsigned long long>(left_out));
        if (count > 0) bytes = std::min(bytes + static_cast<std::size_t>(count), line.size() - 1);
    }
    tell(level, line, bytes);
}

}  // namespace cinnabar
