// SPDX-License-Identifier: BSD-3-Clause
// Without coroutines: callbacks, futures, and a call that is canceled.
#include <cinnabar/cinnabar.hpp>

#include <future>
#include <iostream>

using namespace std::chrono_literals;

inline constexpr cinnabar::Rpc<int(int)> twice{"twice"};
inline constexpr cinnabar::Rpc<void()> wait_long{"wait"};

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(twice, [](int value) { return 2 * value; }).value();
    server
        .serve(wait_long,
               [](cinnabar::Request<> request) -> cinnabar::Task<cinnabar::Result<void>> {
                   co_return co_await request.node().sleep_for(1h);
               })
        .value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();

    // Callbacks run on the node's thread.
    std::promise<int> told;
    client.call(twice, peer, 4).then([&told](cinnabar::Result<int> result) { told.set_value(result.value()); });
    std::cout << "callback: " << told.get_future().get() << '\n';

    auto future = client.call(twice, peer, 5).future();
    std::cout << "future: " << future.get().value() << '\n';

    auto slow = client.call(wait_long, peer).future();
    if (!slow.wait_for(10ms)) slow.cancel();
    std::cout << "slow call: " << cinnabar::to_string(slow.get().code()) << '\n';
}
