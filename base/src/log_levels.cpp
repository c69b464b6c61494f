// SPDX-License-Identifier: BSD-3-Clause
#include "log_levels.hpp"

#include <algorithm>

namespace cinnabar::detail {

const LogLevels::Entry* LogLevels::find(std::string_view module) const noexcept {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        if (module == entries_[i].name.data()) return &entries_[i];
    }
    return nullptr;
}

LogLevel LogLevels::of(std::string_view module) const noexcept {
    if (const Entry* entry = find(module)) {
        const std::uint8_t level = entry->level.load(std::memory_order_relaxed);
        if (level != as_all) return static_cast<LogLevel>(level);
    }
    return all_.load(std::memory_order_relaxed);
}

bool LogLevels::set(std::optional<LogLevel> all, std::span<const Own> modules) noexcept {
    const std::lock_guard lock(mutex_);
    std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto same = [&](const Own& earlier) { return earlier.module == modules[i].module; };
        if (!find(modules[i].module) && std::ranges::none_of(modules.first(i), same)) ++count;
    }
    if (count > modules_max) return false;
    if (all) {
        all_.store(*all, std::memory_order_relaxed);
        for (Entry& entry : entries_) entry.level.store(as_all, std::memory_order_relaxed);
    }
    for (const Own& own : modules) set_one(own);
    return true;
}

// Requires: the mutex is locked, and an entry is free unless the module has one.
void LogLevels::set_one(const Own& own) noexcept {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    const Entry* const found = find(own.module);
    Entry& entry = entries_[found ? static_cast<std::size_t>(found - entries_.data()) : count];
    entry.level.store(static_cast<std::uint8_t>(own.level), std::memory_order_relaxed);
    if (found) return;
    std::ranges::copy(own.module, entry.name.begin());
    count_.store(count + 1, std::memory_order_release);
}

}  // namespace cinnabar::detail
