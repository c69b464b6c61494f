// SPDX-License-Identifier: BSD-3-Clause
#include "many_peers.hpp"

#include "../harness/usage.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <stdexcept>

namespace cinnabar::bench {

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

void ManyPeers::add(std::size_t count) {
    rpc::Options small;
    small.calls_max = 16;
    small.requests_held_max = 16;
    for (std::size_t i = 0; i < count; ++i) {
        peers_.push_back(std::make_unique<RpcEndpoint>(false, small, wire_));
        peers_.back()->call_once(server_, 64);
    }
}

void ManyPeers::look() {
    for (const auto& peer : peers_) {
        peer->context().progress(Microseconds{0});
        peer->context().trigger(64);
    }
}

void ManyPeers::idle_for(double seconds) {
    const auto end = seconds_now() + seconds;
    while (seconds_now() < end) {
        peers_.front()->context().progress(Microseconds{1'000'000});
        look();
    }
}

}  // namespace cinnabar::bench
