// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

#include <algorithm>
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

std::string_view to_string(CallPart part) noexcept {
    constexpr std::array<std::string_view, call_parts> words{"leaving", "on the wire", "waiting for the handler",
                                                             "in the handler", "waiting for the caller"};
    return words[static_cast<std::size_t>(part)];
}

void RpcStats::read(RpcCounts& out) const noexcept {
    for (std::size_t part = 0; part < call_parts; ++part) {
        for (std::size_t i = 0; i < Histogram::buckets; ++i)
            out.parts[part].counts[i] = parts_[part].times[i].load(std::memory_order_relaxed);
        out.parts_us[part] = parts_[part].sum_us.load(std::memory_order_relaxed);
    }
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
