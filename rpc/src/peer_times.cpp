// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/eight_buckets.hpp>
#include <cinnabar/rpc/peer_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

static_assert(PeerTimes::whole == call_parts && usual_parts_begin == 2);
static_assert(eight_buckets_end == std::uint64_t{1} << usual_time_bits);

void PeerTimes::count(const CallParts& parts, TimeUs all) noexcept {
    ++calls;
    for (std::size_t index = 0; index < counts.size(); ++index) {
        const TimeUs us = index == whole ? all : parts[index];
        ++counts[index][log_linear_bucket(std::min(us, longest_us), bits)];
        sums_us[index] += us;
    }
}

void PeerTimes::count_usual(const UsualParts& parts) noexcept {
    constexpr std::size_t many = call_parts - usual_parts_begin;
    // The answer has just come, so nothing has waited for the caller.
    constexpr auto place_of = [](std::size_t index) { return index + 1 == many ? whole : usual_parts_begin + index; };
    ++calls;
    ++counts[static_cast<std::size_t>(CallPart::connecting)][0];
    ++counts[static_cast<std::size_t>(CallPart::for_credit)][0];
    ++counts[static_cast<std::size_t>(CallPart::for_caller)][0];
    see_eight_buckets<bits, many>(
        parts, [&](auto index, std::size_t bucket) __attribute__((always_inline)) {
            ++counts[place_of(index)][bucket];
            const TimeUs two = parts[index / 2];
            sums_us[place_of(index)] += index % 2 == 0 ? detail::lower_time(two) : detail::upper_time(two);
        });
}

void PeerTimes::add(const PeerTimes& other) noexcept {
    calls += other.calls;
    for (std::size_t index = 0; index < counts.size(); ++index) {
        for (std::size_t i = 0; i < buckets; ++i) counts[index][i] += other.counts[index][i];
        sums_us[index] += other.sums_us[index];
    }
}

TimeUs PeerTimes::quantile_us(std::size_t index, double fraction) const noexcept {
    const std::size_t bucket = log_linear_quantile(counts[index], fraction);
    return bucket == buckets ? 0 : log_linear_from(bucket + 1, bits);
}

}  // namespace cinnabar::rpc
