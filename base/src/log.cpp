// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>

#include <unistd.h>

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
    if (count > 0) (void)!::write(STDERR_FILENO, buffer.data(), static_cast<std::size_t>(count));
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

void log(LogLevel level, const char* format, ...) noexcept {
    if (!log_enabled(level)) return;
    std::array<char, 1024> line{};
    va_list arguments;
    va_start(arguments, format);
    const int count = std::vsnprintf(line.data(), line.size(), format, arguments);
    va_end(arguments);
    if (count < 0) return;
    const auto length = std::min(static_cast<std::size_t>(count), line.size() - 1);
    sink_function.load()(level, std::string_view(line.data(), length), sink_user.load());
}

}  // namespace cinnabar
