// SPDX-License-Identifier: BSD-3-Clause
// Tests a service on a simulated network, with lost connections and a restart. All faults come from one seed,
// everything runs in one thread, and simulated hours take no time.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/plugins/sim.hpp>

#include <iostream>
#include <map>
#include <string>

using namespace std::chrono_literals;
using cinnabar::Errc;
using cinnabar::Node;
using cinnabar::sim::World;

struct Entry {
    std::string key;
    int value = 0;
};
inline constexpr cinnabar::Rpc<void(Entry)> put{"put"};

// The service under test: an entry that it has acknowledged is kept.
Node start(std::map<std::string, int>& disk) {
    Node node = Node::listen("sim://server?world=1").value();
    const auto keep = [&disk](cinnabar::Request<Entry> request) -> cinnabar::Task<void> {
        (void)co_await request.node().sleep_for(1min);  // a slow disk
        disk[request->key] = request->value;
    };
    node.serve(put, keep).value();
    return node;
}

int main() {
    auto world = World::numbered(1, {.seed = 7, .reset_one_in = 30});
    std::map<std::string, int> disk;
    auto server = std::make_unique<Node>(start(disk));
    Node client = Node::open("sim://client?world=1").value();
    const auto peer = client.lookup("sim://server").value();

    int again = 0;
    for (int i = 0; i < 100; ++i) {
        const Entry entry{"key" + std::to_string(i), i};
        if (i == 50) {
            world->kill("server");  // its process dies ...
            server.reset();
            server = std::make_unique<Node>(start(disk));  // ... and is restarted
        }
        while (!client.call(put, peer, entry, 10min).wait().ok()) ++again;  // put may be done twice
    }
    std::cout << disk.size() << " of 100 entries are kept\n";
    std::cout << (again > 0 ? "some had to be sent again" : "nothing was lost") << '\n';
    std::cout << (world->now_us() > 100 * 60'000'000ull ? "over 100 minutes went by" : "too fast") << '\n';
}
