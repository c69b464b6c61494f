// SPDX-License-Identifier: BSD-3-Clause
// The levels of modules that have a level of their own, and the level of all other modules. Thread-safe; readers take
// no lock. Once a module has an entry, the module keeps that entry.
#pragma once

#include <cinnabar/base/log.hpp>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

namespace cinnabar::detail {

class LogLevels {
  public:
    constexpr LogLevels() noexcept = default;

    struct Own {
        std::string_view module;
        LogLevel level;
    };
    // Sets `all`, if given, for all modules, then the levels of the given modules. False: too few entries are free;
    // nothing has changed.
    [[nodiscard]] bool set(std::optional<LogLevel> all, std::span<const Own> modules) noexcept;
    [[nodiscard]] LogLevel of(std::string_view module) const noexcept;

  private:
    static constexpr std::size_t modules_max = 32;
    static constexpr std::uint8_t as_all = 0xff;

    struct Entry {
        std::array<char, LogModule::bytes_max + 1> name{};
        std::atomic<std::uint8_t> level{as_all};
    };
    [[nodiscard]] const Entry* find(std::string_view module) const noexcept;
    void set_one(const Own& own) noexcept;

    std::atomic<LogLevel> all_{LogLevel::warning};
    std::atomic<std::size_t> count_{0};
    std::array<Entry, modules_max> entries_{};
    std::mutex mutex_;  // for writers
};

}  // namespace cinnabar::detail
