// SPDX-License-Identifier: BSD-3-Clause
// Calls over tcp, compared with bare sockets that move the same bytes; system calls and allocations of a call.
#include "../ours/ours.hpp"
#include "figures.hpp"

#include <cmath>

namespace cinnabar::bench {
namespace {

constexpr std::size_t payload_bytes = 64;

// The bytes that one of our calls puts on the wire in each direction, including headers; control messages are spread
// over the calls.
FrameBytes frame_of(Subject& ours, const Effort& effort) {
    ours.run_slice(effort.slice);  // connects and gets its credits
    const auto slice = ours.run_slice(effort.slice);
    const auto each = [&](std::uint64_t bytes) {
        return static_cast<std::size_t>(std::lround(static_cast<double>(bytes) / slice.work));
    };
    return {each(slice.client.bytes_sent), each(slice.client.bytes_received)};
}

using MakeLimit = std::unique_ptr<Subject> (*)(Cores, FrameBytes);

Comparison compare_rpc(const RpcShape& shape, MakeLimit make_limit, Metric metric, const Settings& settings,
                       std::string& remark) {
    const auto ours = make_our_rpc(settings.cores, shape);
    const auto frame = frame_of(*ours, settings.effort);
    const auto limit = make_limit(settings.cores, frame);
    const auto again = make_limit(settings.cores, frame);
    remark = std::to_string(frame.request) + " and " + std::to_string(frame.reply) + " bytes";
    return compare(*ours, *limit, *again, metric, settings.effort);
}

Row row_with(const Contest& contest, const Comparison& result, const std::string& remark) {
    auto row = row_of(contest, result);
    row.remark = remark + ", " + row.remark;
    return row;
}

double per_work(std::uint64_t count, const Slice& slice) { return static_cast<double>(count) / slice.work; }

// Rounds, because costs that arise once per slice or per second must not count as part of a call.
double rounded(double count) { return std::round(count * 100) / 100; }

std::vector<Row> run_spin(const Settings& settings) {
    const Contest contest{"tcp.rpc.rtt.spin",      "us", 1e6, Metric::seconds_per_work, Bar{Sense::at_most, 1.08},
                          "raw spinning ping-pong"};
    std::string remark;
    const auto result =
        compare_rpc({payload_bytes, 1, false}, &make_spinning_ping_pong, contest.metric, settings, remark);
    return {row_with(contest, result, remark)};
}

std::vector<Row> run_sleep(const Settings& settings) {
    const Contest contest{"tcp.rpc.block.cpu",  "us", 1e6, Metric::cpu_per_work, Bar{Sense::at_most, 1.5},
                          "raw epoll ping-pong"};
    std::string remark;
    const auto result =
        compare_rpc({payload_bytes, 1, true}, &make_sleeping_ping_pong, contest.metric, settings, remark);
    const auto& total = result.ours_total;
    return {
        row_with(contest, result, remark),
        count_row("tcp.rpc.block.syscalls.client", rounded(per_work(total.client.system_calls, total)), "per call", 3),
        count_row("tcp.rpc.block.syscalls.server",
                  rounded(static_cast<double>(total.server.system_calls) / total.work_of_server), "per call", 3)};
}

std::vector<Row> run_rate(const Settings& settings) {
    const Contest contest{"tcp.rpc.rate.64",      "kcalls/s", 1e-3, Metric::work_per_second, Bar{Sense::at_least, 0.8},
                          "raw batched ping-pong"};
    const MakeLimit limit = [](Cores cores, FrameBytes frame) { return make_batched_ping_pong(cores, frame, 64); };
    std::string remark;
    const auto result = compare_rpc({payload_bytes, 64, false}, limit, contest.metric, settings, remark);
    const auto& total = result.ours_total;
    const auto calls = rounded(per_work(total.client.system_calls + total.server.system_calls, total));
    remark += ", " + std::to_string(calls).substr(0, 4) + " system calls a call";
    return {row_with(contest, result, remark)};
}

std::vector<Row> run_allocations(const Settings& settings) {
    const auto ours = make_our_rpc(settings.cores, {payload_bytes, 8, false});
    for (int i = 0; i < 3; ++i) ours->run_slice(settings.effort.slice);
    Slice total;
    for (int i = 0; i < 10; ++i) total += ours->run_slice(settings.effort.slice);
    return {count_row("rpc.allocations", per_work(total.client.allocations + total.server.allocations, total),
                      "per call", 0)};
}

}  // namespace

std::vector<Figure> rpc_figures() {
    return {{"tcp.rpc.rtt.spin", run_spin},
            {"tcp.rpc.block.cpu", run_sleep},
            {"tcp.rpc.rate.64", run_rate},
            {"rpc.allocations", run_allocations}};
}

}  // namespace cinnabar::bench
