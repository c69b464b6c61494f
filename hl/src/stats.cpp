// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

#include <cmath>

namespace cinnabar::hl {

std::uint64_t Histogram::total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : counts) sum += count;
    return sum;
}

std::uint64_t Histogram::quantile_us(double fraction) const noexcept {
    const std::uint64_t all = total();
    if (all == 0) return 0;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(all)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += counts[i];
        if (seen >= wanted) return std::uint64_t{1} << i;
    }
    return std::uint64_t{1} << (buckets - 1);
}

void RpcStats::read(RpcCounts& out) const noexcept {
    for (std::size_t i = 0; i < Histogram::buckets; ++i) {
        out.call_time.counts[i] = calls_.times[i].load(std::memory_order_relaxed);
        out.serve_time.counts[i] = requests_.times[i].load(std::memory_order_relaxed);
    }
    out.calls = out.call_time.total();
    out.requests = out.serve_time.total();
    out.calls_failed = calls_.failed.load(std::memory_order_relaxed);
    out.requests_failed = requests_.failed.load(std::memory_order_relaxed);
}

}  // namespace cinnabar::hl
