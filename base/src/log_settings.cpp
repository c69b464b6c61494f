// SPDX-License-Identifier: BSD-3-Clause
// Levels and format of the log, set by functions or by CINNABAR_LOG.
#include "log_settings.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

namespace cinnabar {
namespace {

struct Settings {
    detail::LogLevels levels;
    std::atomic<LogFormat> format{LogFormat::text};
};
constinit Settings settings;

constexpr std::array<std::string_view, 5> level_names{"debug", "info", "warning", "error", "off"};

std::optional<LogLevel> level_of(std::string_view name) noexcept {
    for (std::size_t i = 0; i < level_names.size(); ++i) {
        if (name == level_names[i]) return static_cast<LogLevel>(i);
    }
    return {};
}

// The settings in a text.
struct Wanted {
    std::optional<LogLevel> all;
    std::optional<LogFormat> format;
    std::vector<detail::LogLevels::Own> modules;

    [[nodiscard]] bool add(std::string_view word) {
        if (word == "json" || word == "text") {
            format = word == "json" ? LogFormat::json : LogFormat::text;
            return true;
        }
        const std::size_t equals = word.find('=');
        const auto level = level_of(equals == word.npos ? word : word.substr(equals + 1));
        if (!level) return false;
        if (equals == word.npos) {
            all = level;
            return true;
        }
        if (!LogModule::is_name(word.substr(0, equals))) return false;
        modules.push_back({word.substr(0, equals), *level});
        return true;
    }
    [[nodiscard]] Errc apply() const noexcept {
        if (!settings.levels.set(all, modules)) return Errc::overloaded;
        if (format) set_log_format(*format);
        return Errc::ok;
    }
};

// Runs before main(), or when the library is loaded.
const bool environment_read = [] {
    const char* const text = std::getenv("CINNABAR_LOG");
    if (!text) return false;
    if (const auto done = configure_log(text); !done) {
        log(LogLevel::warning, "base", "CINNABAR_LOG is ignored: %s", done.error().message().c_str());
    }
    return true;
}();

}  // namespace

namespace detail {
LogFormat log_format() noexcept { return settings.format.load(std::memory_order_relaxed); }
}  // namespace detail

std::string_view to_string(LogLevel level) noexcept { return level_names[static_cast<std::size_t>(level)]; }

void set_log_level(LogLevel level) noexcept { (void)settings.levels.set(level, {}); }

Errc set_log_level(std::string_view module, LogLevel level) noexcept {
    if (!LogModule::is_name(module)) return Errc::invalid_argument;
    const detail::LogLevels::Own own{module, level};
    return settings.levels.set({}, {&own, 1}) ? Errc::ok : Errc::overloaded;
}

bool log_enabled(LogLevel level, LogModule module) noexcept {
    return level >= settings.levels.of(module.name()) && level < LogLevel::off;
}

void set_log_format(LogFormat format) noexcept { settings.format.store(format, std::memory_order_relaxed); }

Result<void> configure_log(std::string_view text) {
    Wanted wanted;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view word = text.substr(0, comma);
        if (!word.empty() && !wanted.add(word)) {
            return Error(Errc::invalid_argument,
                         "a log level is debug, info, warning, error or off; MODULE=LEVEL is that of one module, and "
                         "json or text the format",
                         std::string(word));
        }
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
    if (const Errc refused = wanted.apply(); refused != Errc::ok) {
        return Error(refused, "at most 32 modules may have a log level of their own");
    }
    return {};
}

}  // namespace cinnabar
