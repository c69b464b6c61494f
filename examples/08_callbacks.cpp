// SPDX-License-Identifier: BSD-3-Clause
// Without coroutines: callbacks, futures, and a call that is canceled.
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace std::chrono_literals;

inline constexpr cinnabar::Rpc<int(int)> twice{"twice"};
inline constexpr cinnabar::Rpc<void()> wait_long{"wait"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(twice, [](int value) { return 2 * value; }).value();
    server
        .serve(wait_long,
               [](cinnabar::Request<cinnabar::rpc::Empty> request) -> cinnabar::Task<cinnabar::Result<void>> {
                   co_return co_await request.node().sleep_for(1h);
               })
        .value();

    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();

    // Callbacks run in run(), here, since this node has no thread of its own.
    client.call(twice, peer, 4).then([&client](cinnabar::Result<int> result) {
        std::cout << "callback: " << result.value() << '\n';
        client.stop_running();
    });
    (void)client.run();

    auto future = client.call(twice, peer, 5).future();
    std::cout << "future: " << future.get().value() << '\n';

    auto slow = client.call(wait_long, peer).future();
    if (!slow.wait_for(10ms)) slow.cancel();
    std::cout << "slow call: " << cinnabar::to_string(slow.get().code()) << '\n';
}
