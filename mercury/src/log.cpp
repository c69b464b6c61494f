// SPDX-License-Identifier: BSD-3-Clause
#include "log.hpp"

#include "mercury.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace cinnabar::mercury {
namespace {

using LogFunction = int (*)(FILE*, const char*, ...);

constexpr int level_none = static_cast<int>(LogLevel::off);

struct Settings {
    std::atomic<int> level{static_cast<int>(LogLevel::warning)};
    std::atomic<bool> silenced{false};  // by HG_LOG_SUBSYS
    std::atomic<LogFunction> function{nullptr};
    std::atomic<FILE*> streams[4] = {};  // by LogLevel; null: stderr
};
Settings& settings() noexcept {
    static Settings all;
    return all;
}

void put(LogLevel level, std::string_view line) noexcept {
    FILE* const set = settings().streams[static_cast<int>(level)].load();
    FILE* const stream = set ? set : stderr;
    const LogFunction function = settings().function.load();
    const int size = static_cast<int>(line.size());
    if (!function && !set) {
        // This thread may drive a context, and stderr may be a pipe that no process reads.
        std::array<char, 1100> text{};
        const int bytes =
            std::snprintf(text.data(), text.size(), "# HG %s: %.*s\n", to_string(level).data(), size, line.data());
        if (bytes > 0) write_stderr_later({text.data(), std::min<std::size_t>(static_cast<unsigned>(bytes), 1099)});
    } else if (function) {
        (void)function(stream, "# HG %s: %.*s\n", to_string(level).data(), size, line.data());
    } else {
        (void)std::fprintf(stream, "# HG %s: %.*s\n", to_string(level).data(), size, line.data());
    }
}

void sink(const LogLine& line, void*) {
    if (static_cast<int>(line.level) < settings().level.load() || settings().silenced.load()) return;
    put(line.level, line.text);
}

// Installs this log as the sink of the core.
void take_over() noexcept {
    static std::once_flag once;
    std::call_once(once, [] { set_log_sink(sink, nullptr); });
}

int level_of(std::string_view name) noexcept {
    if (name == "none") return level_none;
    if (name == "error") return static_cast<int>(LogLevel::error);
    if (name == "warning" || name == "min_warning") return static_cast<int>(LogLevel::warning);
    if (name == "info") return static_cast<int>(LogLevel::info);
    if (name == "debug" || name == "min_debug") return static_cast<int>(LogLevel::debug);
    return -1;
}

// HG and NA share one log, which is on unless all of their subsystems are turned off.
bool all_off(std::string_view list) noexcept {
    bool any = false;
    while (!list.empty()) {
        const auto comma = list.find(',');
        const std::string_view name = list.substr(0, comma);
        if (!name.starts_with('~') && !name.empty()) return false;
        any = any || name == "~hg" || name == "~all";
        list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
    }
    return any;
}

void write(LogLevel level, const char* format, std::va_list arguments) noexcept {
    char line[1024];
    const int size = std::vsnprintf(line, sizeof line, format, arguments);
    // A peer can cause most failures of HG functions, so their number is limited.
    static constinit LogLimit lines(100, Microseconds{1'000'000});
    if (size > 0) log_limited(lines, level, "mercury", "%s", line);
}

}  // namespace

void log_error(const char* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    write(LogLevel::error, format, arguments);
    va_end(arguments);
}

void log_warning(const char* format, ...) noexcept {
    std::va_list arguments;
    va_start(arguments, format);
    write(LogLevel::warning, format, arguments);
    va_end(arguments);
}

void read_log_environment() noexcept {
    static std::once_flag once;
    std::call_once(once, [] {
        if (const char* level = std::getenv("HG_LOG_LEVEL")) set_level(level);
        if (const char* subsys = std::getenv("HG_LOG_SUBSYS")) HG_Set_log_subsys(subsys);
    });
}

void set_level(const char* name) noexcept {
    const int level = name ? level_of(name) : -1;
    if (level < 0)
        return log_warning("\"%s\" is no log level: use none, error, warning, info or debug", name ? name : "");
    settings().level.store(level);
    take_over();
    set_log_level(static_cast<LogLevel>(level));
}

void write_always(std::string_view line) noexcept { put(LogLevel::info, line); }

}  // namespace cinnabar::mercury

using cinnabar::mercury::settings;

void HG_Set_log_level(const char* level) { cinnabar::mercury::set_level(level); }
void NA_Set_log_level(const char* level) { cinnabar::mercury::set_level(level); }

void HG_Set_log_subsys(const char* subsys) {
    if (!subsys) return;
    settings().silenced.store(cinnabar::mercury::all_off(subsys));
    cinnabar::mercury::take_over();
}

void HG_Set_log_func(int (*log_func)(FILE* stream, const char* format, ...)) {
    settings().function.store(log_func);
    cinnabar::mercury::take_over();
}

void HG_Set_log_stream(const char* level, FILE* stream) {
    const int index = level ? cinnabar::mercury::level_of(level) : -1;
    if (index < 0 || index > static_cast<int>(cinnabar::LogLevel::error)) return;
    settings().streams[index].store(stream);
    cinnabar::mercury::take_over();
}
