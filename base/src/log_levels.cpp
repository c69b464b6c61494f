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

void LogLevels::set_all(LogLevel level) noexcept {
    const std::lock_guard lock(mutex_);
    all_.store(level, std::memory_order_relaxed);
    for (Entry& entry : entries_) entry.level.store(as_all, std::memory_order_relaxed);
}

bool LogLevels::set(std::string_view module, LogLevel level) noexcept {
    const std::lock_guard lock(mutex_);
    const std::size_t count = count_.load(std::memory_order_relaxed);
    const Entry* const found = find(module);
    const std::size_t place = found ? static_cast<std::size_t>(found - entries_.data()) : count;
    if (place == modules_max) return false;
    entries_[place].level.store(static_cast<std::uint8_t>(level), std::memory_order_relaxed);
    if (found) return true;
    std::copy(module.begin(), module.end(), entries_[place].name.begin());
    count_.store(count + 1, std::memory_order_release);
    return true;
}

}  // namespace cinnabar::detail
