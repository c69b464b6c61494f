// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/progress.hpp"

#include "terminal/units.hpp"
#include "terminal/write_all.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/utf8.hpp>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace cinnabar::tools {
namespace {

constexpr double rate_window_seconds = 2;
constexpr std::size_t bar_columns = 20;

std::size_t columns_of(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// The first `columns` characters of UTF-8 text.
std::string cut(std::string_view text, std::size_t columns) {
    std::size_t end = 0;
    for (; columns > 0 && end < text.size(); --columns)
        end += std::max<std::size_t>(utf8_sequence_bytes(text.substr(end)), 1);
    return std::string(text.substr(0, std::min(end, text.size())));
}

// Lists as many names as fit, cutting the last one if necessary, and the number of further ones.
std::string names_within(const std::vector<std::string>& names, std::size_t room) {
    const auto more_than = [&](std::size_t shown) {
        return shown == names.size() ? std::string() : fmt::format(" +{}", names.size() - shown);
    };
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto longer = text + (i == 0 ? "" : ", ") + printable(names[i]);
        if (columns_of(longer + more_than(i + 1)) > room) {
            if (i > 0) return text + more_than(i);
            const auto more = more_than(1);
            return room < more.size() + 2 ? std::string() : cut(longer, room - more.size() - 1) + "~" + more;
        }
        text = longer;
    }
    return text;
}

std::size_t terminal_columns(int fd) {
    winsize size{};
    return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_line(const ProgressFacts& facts, std::size_t columns) {
    const auto done = std::min(facts.bytes_done, facts.bytes_total);
    const double part = facts.bytes_total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(facts.bytes_total);
    const auto filled = static_cast<std::size_t>(part * bar_columns);
    std::string line =
        fmt::format("[{}{}] {:3.0f} %  {} of {}", std::string(filled, '#'), std::string(bar_columns - filled, '.'),
                    std::floor(part * 100), human_bytes(done), human_bytes(facts.bytes_total));
    if (facts.bytes_per_second > 0) {
        const auto left = static_cast<double>(facts.bytes_total - done) / facts.bytes_per_second;
        line += fmt::format("  {}  {} left", human_rate(facts.bytes_per_second),
                            human_duration(std::chrono::duration<double>(left)));
    }
    if (facts.files_total > 1) line += fmt::format("  {}/{}", facts.files_done, facts.files_total);
    if (!facts.names.empty() && columns_of(line) + 4 < columns)
        line += "  " + names_within(facts.names, columns - columns_of(line) - 2);
    return cut(line, columns);
}

void RateMeter::sample(std::chrono::duration<double> at, std::uint64_t bytes_done) noexcept {
    const double span = at.count() - last_at_;
    if (span <= 0) return;
    const double now = static_cast<double>(bytes_done - last_bytes_) / span;
    const double weight = 1 - std::exp(-span / rate_window_seconds);
    rate_ = rate_ ? *rate_ + weight * (now - *rate_) : now;
    last_at_ = at.count();
    last_bytes_ = bytes_done;
}

ProgressBar::ProgressBar(ProgressShown shown) : shown_(std::move(shown)) {
    if (shown_.tell || ::isatty(shown_.fd)) thread_ = std::thread([this] { run(); });
}

void ProgressBar::begin_file(const std::string& name) {
    if (!thread_.joinable()) return;
    const std::lock_guard lock(mutex_);
    names_.push_back(name);
}

void ProgressBar::leave_file(const std::string& name) {
    if (!thread_.joinable()) return;
    const std::lock_guard lock(mutex_);
    if (const auto found = std::ranges::find(names_, name); found != names_.end()) names_.erase(found);
}

void ProgressBar::stop() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
    thread_ = {};
    if (!shown_.tell) wipe();
}

void ProgressBar::wipe() const { write_all(shown_.fd, "\r\x1b[K"); }

void ProgressBar::run() {
    const auto begin = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, shown_.every, [&] { return stopping_; }))
        show(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

ProgressFacts ProgressBar::facts() const noexcept {
    ProgressFacts facts;
    facts.files_done = files_done_.load(std::memory_order_relaxed);
    facts.files_total = files_total_.load(std::memory_order_relaxed);
    facts.bytes_done = bytes_done_.load(std::memory_order_relaxed);
    facts.bytes_total = bytes_total_.load(std::memory_order_relaxed);
    return facts;
}

void ProgressBar::show(double elapsed) {
    ProgressFacts facts = this->facts();
    facts.names = names_;
    meter_.sample(std::chrono::duration<double>(elapsed), facts.bytes_done);
    facts.bytes_per_second = meter_.bytes_per_second();
    if (shown_.tell) return shown_.tell(facts);
    // Leaves one column free, because a terminal may wrap after the last one.
    std::string line = "\r";
    line += progress_line(facts, terminal_columns(shown_.fd) - 1);
    line += "\x1b[K";
    write_all(shown_.fd, line);
}

}  // namespace cinnabar::tools
