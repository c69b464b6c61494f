// SPDX-License-Identifier: BSD-3-Clause
// Keeps the last warnings and errors that were logged, and returns copies of them (recent_log()).
#include "log_history.hpp"

#include <algorithm>
#include <array>
#include <mutex>

namespace cinnabar {
namespace {

constexpr std::size_t lines_kept = 32;

struct Kept {
    TimeUs at = 0;
    LogLevel level = LogLevel::warning;
    std::array<char, LogModule::bytes_max + 1> module{};
    std::array<char, 256> text{};

    template <std::size_t N>
    static void copy(std::array<char, N>& to, std::string_view from) noexcept {
        const std::size_t bytes = std::min(from.size(), N - 1);
        std::copy_n(from.data(), bytes, to.data());
        to[bytes] = '\0';
    }
};

struct Recent {
    std::mutex mutex;
    std::uint64_t count = 0;  // lines kept so far, including overwritten ones
    std::array<Kept, lines_kept> lines{};
};
constinit Recent recent;

}  // namespace

// A thread that logs must not wait, so the line is not kept if another thread holds the mutex.
void detail::remember_line(const LogLine& line) noexcept {
    if (line.level < LogLevel::warning) return;
    const std::unique_lock lock(recent.mutex, std::try_to_lock);
    if (!lock.owns_lock()) return;
    Kept& kept = recent.lines[recent.count++ % lines_kept];
    kept.at = steady_clock().now_us();
    kept.level = line.level;
    Kept::copy(kept.module, line.module);
    Kept::copy(kept.text, line.text);
}

std::vector<RecentLine> recent_log() {
    std::vector<RecentLine> lines;
    lines.reserve(lines_kept);
    const std::lock_guard lock(recent.mutex);
    const std::uint64_t first = recent.count - std::min<std::uint64_t>(recent.count, lines_kept);
    for (std::uint64_t i = first; i < recent.count; ++i) {
        const Kept& kept = recent.lines[i % lines_kept];
        lines.push_back({kept.at, kept.level, kept.module.data(), kept.text.data()});
    }
    return lines;
}

}  // namespace cinnabar
