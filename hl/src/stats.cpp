// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/eight_buckets.hpp>
#include <cinnabar/hl/stats.hpp>

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::hl {
namespace {

TimeUs number_of(const rpc::UsualParts& parts, std::size_t index) noexcept {
    return static_cast<std::uint32_t>(parts[index / 2] >> (index % 2 * 32));
}

CallParts all_of(const rpc::UsualParts& usual) noexcept {
    CallParts parts{};
    for (std::size_t part = rpc::usual_parts_begin; part < call_parts; ++part)
        parts[part] = number_of(usual, part - rpc::usual_parts_begin);
    return parts;
}

}  // namespace

void RpcStats::count_parts(const CallParts& parts) noexcept {
    timed_.fetch_add(1, std::memory_order_relaxed);
    for (std::size_t part = 0; part < call_parts; ++part) {
        if (parts[part] == 0) continue;  // as many are: read() counts those that are missing from timed_
        parts_[part].times[Histogram::bucket_of(parts[part])].fetch_add(1, std::memory_order_relaxed);
        parts_[part].sum_us.fetch_add(parts[part], std::memory_order_relaxed);
    }
}

void RpcStats::count_usual(const rpc::UsualParts& parts) noexcept {
    static_assert(eight_buckets_end == TimeUs{1} << rpc::usual_time_bits);
    if (usual_.taken.exchange(true, std::memory_order_acquire)) [[unlikely]]
        return count_elsewhere(rpc::UsualParts(parts));  // a copy, so that `parts` need not be in memory
    see_eight_buckets<Histogram::bits, Usual::parts>(
        parts, [&](auto index, std::size_t bucket) __attribute__((always_inline)) { ++usual_.times[index][bucket]; });
    usual_.sums_us.add(parts);
    usual_.taken.store(false, std::memory_order_release);
}

void RpcStats::count_elsewhere(const rpc::UsualParts& parts) noexcept { count_parts(all_of(parts)); }

// Returns how many calls that were.
std::uint64_t RpcStats::add_usual(RpcCounts& out) const noexcept {
    // Whoever has it counts one call, or copies it as this function does.
    while (usual_.taken.exchange(true, std::memory_order_acquire)) ::sched_yield();
    for (std::size_t i = 0; i < Usual::parts; ++i) {
        const std::size_t part = rpc::usual_parts_begin + i;
        for (std::size_t bucket = 0; bucket < Usual::buckets; ++bucket)
            out.parts[part].counts[bucket] += usual_.times[i][bucket];
        out.parts_us[part] += usual_.sums_us.sum(i);
    }
    const std::uint64_t calls = usual_.sums_us.times();
    usual_.taken.store(false, std::memory_order_release);
    return calls;
}

void RpcStats::Side::read(Histogram& histogram) const noexcept {
    for (std::size_t i = 0; i < times.size(); ++i)
        histogram.counts[i] = times[i].load(std::memory_order_relaxed) + times_alone[i].load(std::memory_order_relaxed);
}

void RpcStats::read(RpcCounts& out) const {
    const auto copy = [](const Times& times, Histogram& histogram) {
        for (std::size_t i = 0; i < times.size(); ++i) histogram.counts[i] = times[i].load(std::memory_order_relaxed);
    };
    std::uint64_t timed = timed_.load(std::memory_order_relaxed);
    for (std::size_t part = 0; part < call_parts; ++part) {
        copy(parts_[part].times, out.parts[part]);
        out.parts_us[part] = parts_[part].sum_us.load(std::memory_order_relaxed);
    }
    timed += add_usual(out);
    for (Histogram& part : out.parts) {
        // Others may be counting: there may be more by now than timed_ was.
        const std::uint64_t counted = part.total();
        part.counts.front() += timed - std::min(counted, timed);
    }
    for (std::size_t phase = 0; phase < failures_.size(); ++phase) {
        for (std::size_t code = 0; code < failures_[phase].size(); ++code) {
            const std::uint64_t calls = failures_[phase][code].load(std::memory_order_relaxed);
            if (calls == 0) continue;
            out.failures.push_back({static_cast<rpc::CallPhase>(phase), static_cast<Errc>(code), calls});
        }
    }
    calls_.read(out.call_time);
    requests_.read(out.serve_time);
    out.calls = out.call_time.total();
    out.requests = out.serve_time.total();
    out.calls_failed = calls_.failed.load(std::memory_order_relaxed);
    out.requests_failed = requests_.failed.load(std::memory_order_relaxed);
}

}  // namespace cinnabar::hl
