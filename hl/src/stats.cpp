// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

namespace cinnabar::hl {

void RpcStats::read(RpcCounts& out) const {
    const auto copy = [](const Times& times, Histogram& histogram) {
        for (std::size_t i = 0; i < times.size(); ++i) histogram.counts[i] = times[i].load(std::memory_order_relaxed);
    };
    for (std::size_t part = 0; part < call_parts; ++part) {
        copy(parts_[part].times, out.parts[part]);
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
