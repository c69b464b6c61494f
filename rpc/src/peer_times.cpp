// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/rpc/peer_times.hpp>

#include <algorithm>
#include <cstddef>

namespace cinnabar::rpc {

void PeerTimes::count(const CallParts& parts, TimeUs all) noexcept {
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
