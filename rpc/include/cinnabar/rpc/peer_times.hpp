// SPDX-License-Identifier: BSD-3-Clause
// Histograms for the calls to one peer that were timed (CallArgs::timed) and answered: one for each part of the time
// until the answer came, and one for the whole. The width of a bucket is at most half of the values in it.
#pragma once

#include <cinnabar/base/log_linear.hpp>
#include <cinnabar/rpc/times.hpp>

namespace cinnabar::rpc {

struct PeerTimes {
    static constexpr unsigned bits = 2;
    static constexpr std::uint64_t longest_us = ~std::uint32_t{0};  // longer times count as this
    static constexpr std::size_t buckets = log_linear_bucket(longest_us, bits) + 1;
    static constexpr std::size_t whole = call_parts;  // the index after those of CallPart: the whole time

    std::uint32_t calls = 0;
    std::array<std::array<std::uint32_t, buckets>, call_parts + 1> counts{};
    std::array<TimeUs, call_parts + 1> sums_us{};

    // `all`: the sum of the parts.
    void count(const CallParts& parts, TimeUs all) noexcept;
    CINNABAR_API void add(const PeerTimes& other) noexcept;
    // Returns the upper edge, in microseconds, of the bucket that holds the quantile `fraction` (0 to 1) of a CallPart,
    // or of the whole; 0 if nothing was counted.
    [[nodiscard]] CINNABAR_API TimeUs quantile_us(std::size_t index, double fraction) const noexcept;
};

}  // namespace cinnabar::rpc
