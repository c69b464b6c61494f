// SPDX-License-Identifier: BSD-3-Clause
// What connected and idle peers cost a server.
#include "../harness/process_status.hpp"
#include "../ours/rpc_endpoint.hpp"
#include "figures.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};
constexpr Microseconds one_second{1'000'000};
constexpr Microseconds long_wait{5'000'000};

// A server that sleeps when there is nothing to do; it stays in one slice for the whole figure.
void serve(PartnerSide& side) {
    RpcEndpoint endpoint{true, rpc::Options{}};
    endpoint.serve_echo();
    side.announce(endpoint.address());
    endpoint.serve_slices(side, long_wait);
}

// Peers of that server in this process, each with a transport and a context of its own, so that each is a connection.
class Peers {
  public:
    explicit Peers(const std::string& address) : server_(na::Addr::parse(address).value()) {}

    // Connects `count` more, each with one call.
    void add(std::size_t count) {
        rpc::Options small;
        small.calls_max = 16;
        small.requests_held_max = 16;
        for (std::size_t i = 0; i < count; ++i) {
            peers_.push_back(std::make_unique<RpcEndpoint>(false, small));
            peers_.back()->call_once(server_, 64);
        }
    }
    // Idle clients: one waits in the kernel, and all look now and then.
    void idle_for(double seconds) {
        const auto end = seconds_now() + seconds;
        while (seconds_now() < end) {
            peers_.front()->context().progress(one_second);
            for (const auto& peer : peers_) {
                peer->context().progress(no_wait);
                peer->context().trigger(64);
            }
        }
    }

  private:
    na::Addr server_;
    std::vector<std::unique_ptr<RpcEndpoint>> peers_;
};

std::vector<Row> run_idle(const Settings& settings) {
    const double seconds = settings.quick ? 5 : 30;
    Partner partner{settings.cores.server, serve};
    partner.begin_slice();
    Peers peers{partner.announced()};
    peers.add(100);
    peers.idle_for(2);  // whatever comes after the calls

    const auto before = status_of(partner.pid());
    const auto begin = seconds_now();
    peers.idle_for(seconds);
    const auto after = status_of(partner.pid());
    const auto elapsed = seconds_now() - begin;
    const auto wake_ups = static_cast<double>(after.wake_ups - before.wake_ups);
    return {count_row("idle.cpu", (after.cpu_seconds - before.cpu_seconds) / elapsed * 100, "% of a core", 0.1),
            count_row("idle.wakeups", wake_ups / elapsed, "per second", 1)};
}

void allow_open_files(std::size_t count) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= count) return;
    limit.rlim_cur = count;
    limit.rlim_max = std::max<rlim_t>(limit.rlim_max, count);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        throw std::runtime_error{"needs " + std::to_string(count) + " open files (ulimit -n)"};
    }
}

std::vector<Row> run_memory(const Settings& settings) {
    const std::size_t count = settings.quick ? 500 : 5000;
    allow_open_files(3 * count + 1000);  // a client has three: its socket, and what its context sleeps on
    Partner partner{settings.cores.server, serve};
    partner.begin_slice();
    Peers peers{partner.announced()};
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
