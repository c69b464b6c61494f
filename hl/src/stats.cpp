// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/stats.hpp>

namespace cinnabar::hl {

void RpcStats::read(RpcCounts& out) const noexcept {
    const auto copy = [](const Times& times, Histogram& histogram) {
        for (std::size_t i = 0; i < times.size(); ++i) histogram.counts[i] = times[i].load(std::memory_order_relaxed);
    };
    for (std::size_t part = 0; part < call_parts; ++part) {
        copy(parts_[part].times, out.parts[part]);
        out.parts_us[part] = parts_[part].sum_us.load(std::memory_order_relaxed);
    }
    copy(calls_.times, out.call_time);
    copy(requests_.times, out.serve_time);
    out.calls = out.call_time.total();
    out.requests = out.serve_time.total();
    out.calls_failed = calls_.failed.load(std::memory_order_relaxed);
    out.requests_failed = requests_.failed.load(std::memory_order_relaxed);
}

}  // namespace cinnabar::hl
