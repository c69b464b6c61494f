// SPDX-License-Identifier: BSD-3-Clause
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace cinnabar::tools {
namespace {

// Formats three digits: 1.23, 12.3, 123. The bounds are where rounding would produce a fourth digit.
std::string three_digits(double value) {
    if (value < 9.995) return fmt::format("{:.2f}", value);
    if (value < 99.95) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

}  // namespace

std::string human_bytes(std::uint64_t bytes) {
    if (bytes < 1000) return fmt::format("{} B", bytes);
    constexpr std::array<const char*, 6> units{"kB", "MB", "GB", "TB", "PB", "EB"};
    auto value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    return fmt::format("{} {}", three_digits(value), units.at(unit));
}

std::string human_rate(double bytes_per_second) {
    if (!std::isfinite(bytes_per_second) || bytes_per_second < 0 || bytes_per_second > 1e18) return "-";
    return human_bytes(static_cast<std::uint64_t>(bytes_per_second)) + "/s";
}

std::string human_duration(std::chrono::duration<double> span) {
    const double seconds = span.count();
    if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "-";
    if (seconds < 59.5) return three_digits(seconds) + " s";
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string human_latency(std::chrono::duration<double> span) {
    const double nanoseconds = span.count() * 1e9;
    if (nanoseconds < 999.5) return fmt::format("{:.0f} ns", nanoseconds);
    if (nanoseconds < 999.5e3) return three_digits(nanoseconds / 1e3) + " us";
    if (nanoseconds < 999.5e6) return three_digits(nanoseconds / 1e6) + " ms";
    return three_digits(nanoseconds / 1e9) + " s";
}

Result<std::uint64_t> parse_bytes(std::string_view text) {
    const Error bad{Errc::invalid_argument, "a size is a number with k, M, G or nothing behind it", std::string(text)};
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    if (failure != std::errc{} || suffix.size() > 1) return bad;
    unsigned shift = 0;
    if (suffix == "k" || suffix == "K")
        shift = 10;
    else if (suffix == "M" || suffix == "m")
        shift = 20;
    else if (suffix == "G" || suffix == "g")
        shift = 30;
    else if (!suffix.empty())
        return bad;
    if (shift != 0 && value >> (64 - shift) != 0) return bad;
    return value << shift;
}

}  // namespace cinnabar::tools
