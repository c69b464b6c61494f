// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/peer_times.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::rpc {

static_assert(PeerTimes::longest_us < log_linear_short_end);

void PeerTimes::count(const CallParts& parts, TimeUs all) noexcept {
    if (all > longest_us) [[unlikely]]  // no part is longer
        return count_long(parts, all);
    const auto add = [this](std::size_t index, TimeUs us) __attribute__((always_inline)) {
        ++counts[index][log_linear_bucket_of_short(us, bits)];
        sums_us[index] += us;
    };
    ++calls;
    // Not a loop: constant indices make it half as long.
    [&]<std::size_t... part>(std::index_sequence<part...>) { (add(part, parts[part]), ...); }
    (std::make_index_sequence<call_parts>());
    add(whole, all);
}

void PeerTimes::count_long(const CallParts& parts, TimeUs all) noexcept {
    ++calls;
    for (std::size_t index = 0; index < counts.size(); ++index) {
        const TimeUs us = index == whole ? all : parts[index];
        ++counts[index][log_linear_bucket(std::min(us, longest_us), bits)];
        sums_us[index] += us;
    }
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
