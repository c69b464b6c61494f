// SPDX-License-Identifier: BSD-3-Clause
// Formats sizes, rates and durations for people: decimal units, three digits. Pure functions.
#pragma once

#include <cinnabar/base/result.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::tools {

[[nodiscard]] std::string human_bytes(std::uint64_t bytes);                    // "0 B", "999 B", "1.00 kB", "3.22 GB"
[[nodiscard]] std::string human_rate(double bytes_per_second);                 // "812 MB/s"; "-" when it is not known
[[nodiscard]] std::string human_duration(std::chrono::duration<double> span);  // "0.42 s", "12.3 s", "1:05", "2:03:04"
[[nodiscard]] std::string human_latency(std::chrono::duration<double> span);   // "830 ns", "12.3 us", "1.20 ms"

// Parses "4096", "64k", "1M", "2G" (powers of 1024). invalid_argument: not of this form, or over 64 bits.
[[nodiscard]] Result<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace cinnabar::tools
