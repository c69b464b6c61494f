// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Testing a service".
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <iostream>
#include <map>
#include <string>

using namespace cinnabar;
using namespace std::chrono_literals;

inline constexpr Rpc<int(std::string)> count_up{"count_up"};

// The service under test: the same code on any transport.
struct Counters {
    std::map<std::string, int> counts;
    void serve_on(const Node& node) {
        node.serve(count_up, [this](const std::string& name) { return ++counts[name]; }).value();
    }
};

bool counts_on_self() {
    Counters counters;
    auto node = Node::listen("self://").value();
    counters.serve_on(node);
    const Addr self = node.lookup(node.address()).value();
    (void)node.call(count_up, self, "a").wait();
    return node.call(count_up, self, "a").wait().value() == 2;
}

bool a_cut_line_ends_calls_in_time() {
    auto world = sim::World::numbered(2, {.seed = 1});
    Counters counters;
    auto server = Node::listen("sim://server?world=2").value();
    counters.serve_on(server);
    auto client = Node::open("sim://client?world=2").value();
    const Addr peer = client.lookup("sim://server").value();

    (void)client.call(count_up, peer, "a").wait().value();  // they are connected
    world->partition("server", "client");
    const auto cut = client.call(count_up, peer, "a", 2s).wait();
    world->heal("server", "client");
    const auto healed = client.call(count_up, peer, "a", 2s).wait();
    return cut.code() == Errc::timed_out && healed.ok();
}

std::uint64_t trace_of(std::uint64_t seed) {
    auto world = sim::World::numbered(100 + seed, {.seed = seed, .reset_one_in = 5});
    const std::string suffix = "?world=" + std::to_string(100 + seed);
    Counters counters;
    auto server = Node::listen("sim://server" + suffix).value();
    counters.serve_on(server);
    auto client = Node::open("sim://client" + suffix).value();
    const Addr peer = client.lookup("sim://server").value();
    for (int i = 0; i < 20; ++i) (void)client.call(count_up, peer, "a").wait();
    return world->trace_hash();
}

int main() {
    std::cout << "counts on self: " << (counts_on_self() ? "yes" : "no") << '\n';
    std::cout << "a cut line ends calls in time: " << (a_cut_line_ends_calls_in_time() ? "yes" : "no") << '\n';
    std::cout << "the same seed, the same run: " << (trace_of(5) == trace_of(5) ? "yes" : "no") << '\n';
    std::cout << "another seed, another run: " << (trace_of(5) != trace_of(6) ? "yes" : "no") << '\n';
}
