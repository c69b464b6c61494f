// SPDX-License-Identifier: BSD-3-Clause
#include "watch/resources.hpp"

#include "watch/calls_text.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace cinnabar::tools::watch {
namespace {

template <typename T, typename Field>
std::uint64_t sum_over(const std::vector<T>& reports, Field field) {
    return std::transform_reduce(reports.begin(), reports.end(), std::uint64_t{0}, std::plus<>(),
                                 [field](const T& report) { return std::uint64_t{report.*field}; });
}

std::optional<std::uint64_t> unless_zero(std::uint64_t value) {
    return value == 0 ? std::nullopt : std::optional(value);
}

}  // namespace

std::vector<PoolRow> pool_rows(const State& state) {
    std::vector<PoolRow> rows;
    const auto& loads = state.node.pool_loads;
    for (std::size_t i = 0; i < state.node.pools.size(); ++i) {
        const look::PoolReport& pool = state.node.pools[i];
        PoolRow& row = rows.emplace_back();
        row.name = pool.name;
        row.threads = pool.threads;
        row.queued = pool.queued;
        row.queue_max = pool.queue_max;
        if (i < loads.size()) row.load = loads[i];
    }
    return rows;
}

std::vector<MemoryRow> memory_rows(const State& state) {
    const look::NodeReport& node = state.node;
    const auto& memory = node.context_memory;
    return {{"the process, at its peak", "process_bytes_max", node.memory_bytes_max, std::nullopt},
            {"buffers", "buffer_bytes", node.buffer_bytes, unless_zero(node.buffer_bytes_max)},
            {"large arguments and results", "large_bytes", sum_over(node.contexts, &look::ContextReport::large_bytes),
             unless_zero(sum_over(memory, &look::ContextMemory::large_bytes_max))},
            {"freed by these, kept for reuse", "large_bytes_kept",
             sum_over(memory, &look::ContextMemory::large_bytes_kept), std::nullopt},
            {"decoded arguments", "decoded_bytes", sum_over(node.contexts, &look::ContextReport::decoded_bytes),
             unless_zero(sum_over(memory, &look::ContextMemory::decoded_bytes_max))}};
}

double TimeRow::sum_us() const noexcept { return std::accumulate(parts_us.begin(), parts_us.end(), 0.0); }

std::array<double, 5> TimeRow::coarse_us() const noexcept {
    const auto of = [this](hl::CallPart part) { return parts_us[static_cast<std::size_t>(part)]; };
    using hl::CallPart;
    return {of(CallPart::connecting) + of(CallPart::for_credit) + of(CallPart::queued),
            of(CallPart::wire_there) + of(CallPart::wire_back), of(CallPart::for_handler),
            of(CallPart::in_handler) + of(CallPart::in_transfers), of(CallPart::for_caller)};
}

hl::CallPart TimeRow::longest() const noexcept {
    const auto most = std::ranges::max_element(parts_us);
    return static_cast<hl::CallPart>(most - parts_us.begin());
}

std::vector<TimeRow> time_rows(const std::vector<RpcRow>& rpcs) {
    std::vector<TimeRow> rows;
    for (const RpcRow& rpc : rpcs) {
        if (rpc.timed != 0) rows.push_back({rpc.name, false, rpc.timed, rpc.parts_us});
        if (rpc.handled == 0) continue;
        TimeRow& served = rows.emplace_back(TimeRow{rpc.name, true, rpc.handled});
        served.parts_us[static_cast<std::size_t>(hl::CallPart::in_handler)] = rpc.handler_us;
    }
    std::ranges::stable_sort(rows, [](const TimeRow& a, const TimeRow& b) { return a.sum_us() > b.sum_us(); });
    return rows;
}

// The node's report is untrusted: unknown numbers share a row.
std::vector<FailureRow> failure_rows(const State& state) {
    std::map<std::tuple<std::string, std::string_view, std::string_view>, std::uint64_t> found;
    for (const look::FailureReport& failed : state.node.failures) {
        const auto phase = static_cast<rpc::CallPhase>(failed.phase);
        const bool is_phase = failed.phase < rpc::call_phases && phase != rpc::CallPhase::unknown;
        const auto error = static_cast<Errc>(failed.error);
        found[{failed.rpc, is_phase ? to_string(phase) : "before it was sent",
               is_known(error) ? to_string(error) : "unknown error"}] += failed.calls;
    }
    std::vector<FailureRow> rows;
    for (const auto& [key, calls] : found)
        rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), calls});
    std::ranges::stable_sort(rows, [](const FailureRow& a, const FailureRow& b) { return a.calls > b.calls; });
    return rows;
}

std::vector<UnderWay> under_way(const State& state) {
    std::map<std::tuple<std::string, bool, rpc::CallPhase>, UnderWay> found;
    for (const look::CallReport& call : state.calls) {
        const rpc::CallPhase phase = phase_of(call);
        UnderWay& row = found[{call.rpc, call.as_target, phase}];
        row.name = call.rpc;
        row.as_target = call.as_target;
        row.phase = phase;
        ++row.calls;
        row.oldest_us = std::max(row.oldest_us, call.age_us);
    }
    std::vector<UnderWay> rows;
    for (auto& [key, row] : found) rows.push_back(std::move(row));
    std::ranges::stable_sort(rows, [](const UnderWay& a, const UnderWay& b) { return a.oldest_us > b.oldest_us; });
    return rows;
}

}  // namespace cinnabar::tools::watch
