// SPDX-License-Identifier: BSD-3-Clause
// group.start: processes that `cinnabar launch` starts on the two cores of the comparison, from the launch until all of
// them have seen all, met at a barrier and ended; and the most TCP connections that a member has meanwhile.
#include "../harness/child.hpp"
#include "../harness/connections.hpp"
#include "../harness/room.hpp"
#include "figures.hpp"

#include <poll.h>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr double most_seconds = 20;
constexpr double most_connections = 64;
constexpr std::uint64_t bytes_of_a_member = std::uint64_t{8} << 20;  // resident, with what the kernel keeps for it

// Watches the launch to its end; returns the most connections of one of its processes, as far as looks tell that take a
// tenth of the time.
std::size_t watch(StartedCommand& launch, double end) {
    std::size_t most = 0;
    while (launch.runs()) {
        if (seconds_now() > end) throw std::runtime_error{"the members of the group do not come together"};
        const auto begin = seconds_now();
        const auto connected = connected_sockets();
        for (const auto member : children_of(launch.pid())) most = std::max(most, connections_of(member, connected));
        const auto took_ms = static_cast<int>((seconds_now() - begin) * 1000);
        (void)poll(nullptr, 0, std::max(50, 9 * took_ms));
    }
    launch.wait();
    return most;
}

std::vector<Row> run_group_start(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const std::uint64_t wanted = settings.quick ? 40 : 1000;
    const auto members = std::min(wanted, memory_to_use() / bytes_of_a_member);
    if (members < 2) return {skipped_row("group.start", "too little memory is free")};
    const auto count = std::to_string(members);
    const auto begin = seconds_now();
    StartedCommand launch{{"taskset", "-c",
                           std::to_string(settings.cores.client) + ',' + std::to_string(settings.cores.server),
                           settings.tool, "launch", "-n", count, "--", settings.tool, "member", "--listen",
                           "tcp://127.0.0.1:0", "--until", count}};
    const auto most = watch(launch, begin + 300);
    auto time = count_row("group.start", seconds_now() - begin, "s", most_seconds);
    time.remark = count + " processes";
    if (members < wanted) time.remark += " for lack of memory";
    if (most == 0) return {time, skipped_row("group.start.connections", "no look has found a connection")};
    auto connections = count_row("group.start.connections", static_cast<double>(most), "of a member", most_connections);
    connections.remark = time.remark;
    return {time, connections};
}

}  // namespace

std::vector<Figure> group_start_figures() { return {{"group.start", run_group_start}}; }

}  // namespace cinnabar::bench
