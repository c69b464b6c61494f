// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

#include <algorithm>

namespace cinnabar::hl {

// Such a time is a mistake, for example in Call::began_us. It is counted all the same.
void RpcStats::count_long_parts(const CallParts& parts) noexcept {
    timed_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t part = 0; part < call_parts; ++part) {
        if (parts[part] == 0) continue;
        parts_[part].times[Histogram::bucket_of(parts[part])].fetch_add(1, std::memory_order_relaxed);
        parts_[part].sum_us.fetch_add(parts[part], std::memory_order_relaxed);
    }
}

void RpcStats::read(RpcCounts& out) const {
    const auto copy = [](const Times& times, Histogram& histogram) {
        for (std::size_t i = 0; i < times.size(); ++i) histogram.counts[i] = times[i].load(std::memory_order_relaxed);
    };
    const std::uint64_t timed = timed_.load(std::memory_order_relaxed);
    for (std::size_t part = 0; part < call_parts; ++part) {
        copy(parts_[part].times, out.parts[part]);
        // Others may be counting: there may be more by now than timed_ was.
        const std::uint64_t counted = out.parts[part].total();
        out.parts[part].counts.front() = timed - std::min(counted, timed);
        out.parts_us[part] = parts_[part].sum_us.load(std::memory_order_relaxed);
    }
    for (std::size_t phase = 0; phase < failures_.size(); ++phase) {
        for (std::size_t code = 0; code < failures_[phase].size(); ++code) {
            const std::uint64_t calls = failures_[phase][code].load(std::memory_order_relaxed);
            if (calls == 0) continue;
            out.failures.push_back({static_cast<rpc::CallPhase>(phase), static_cast<Errc>(code), calls});
        }
    }
    copy(calls_.times, out.call_time);
    copy(requests_.times, out.serve_time);
    out.calls = out.call_time.total();
    out.requests = out.serve_time.total();
    out.calls_failed = calls_.failed.load(std::memory_order_relaxed);
    out.requests_failed = requests_.failed.load(std::memory_order_relaxed);
}

}  // namespace cinnabar::hl
