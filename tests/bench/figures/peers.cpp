// SPDX-License-Identifier: BSD-3-Clause
// The cost of connected but idle peers for a server.
#include "../harness/process_status.hpp"
#include "../ours/many_peers.hpp"
#include "figures.hpp"

#include <algorithm>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds long_wait{5'000'000};

// A server that sleeps when it has nothing to do. It stays in one slice for the whole figure.
void serve(PartnerSide& side) {
    RpcEndpoint endpoint{true, rpc::Options{}};
    endpoint.serve_echo();
    side.announce(endpoint.address());
    endpoint.serve_slices(side, long_wait);
}

std::vector<Row> run_idle(const Settings& settings) {
    const double seconds = settings.quick ? 5 : 30;
    Partner partner{settings.cores.server, serve};
    partner.begin_slice();
    ManyPeers peers{partner.announced()};
    peers.add(100);
    peers.idle_for(2);  // lets the effects of the calls pass

    const auto before = status_of(partner.pid());
    const auto begin = seconds_now();
    peers.idle_for(seconds);
    const auto after = status_of(partner.pid());
    const auto elapsed = seconds_now() - begin;
    const auto wake_ups = static_cast<double>(after.wake_ups - before.wake_ups);
    return {count_row("idle.cpu", (after.cpu_seconds - before.cpu_seconds) / elapsed * 100, "% of a core", 0.1),
            count_row("idle.wakeups", wake_ups / elapsed, "per second", 1)};
}

std::vector<Row> run_memory(const Settings& settings) {
    const std::size_t count = settings.quick ? 500 : 5000;
    allow_open_files(files_of_a_peer * count + 1000);
    Partner partner{settings.cores.server, serve};
    partner.begin_slice();
    ManyPeers peers{partner.announced()};
    peers.add(1);
    const auto before = status_of(partner.pid());
    const auto kernel_before = kernel_socket_bytes();
    peers.add(count);
    const auto after = status_of(partner.pid());
    const auto kernel_after = kernel_socket_bytes();
    const auto each = [&](std::uint64_t grown) {
        return static_cast<double>(grown) / 1024 / static_cast<double>(count);
    };
    Row kernel;
    kernel.name = "peer.memory.kernel";
    kernel.value = each(kernel_after - std::min(kernel_before, kernel_after));
    kernel.unit = "KiB per peer";
    kernel.remark = "both ends, and the clients' own descriptors";
    return {count_row("peer.memory", each(after.resident_bytes - before.resident_bytes), "KiB per peer", 4), kernel};
}

}  // namespace

std::vector<Figure> peer_figures() { return {{"idle.cpu", run_idle}, {"peer.memory", run_memory}}; }

}  // namespace cinnabar::bench
