// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Deadlines and cancel".
#include <cinnabar/cinnabar.hpp>

#include <iostream>

using namespace cinnabar;
using namespace std::chrono_literals;

inline constexpr Rpc<int(int)> slow_square{"slow_square"};
inline constexpr Rpc<int()> given_up{"given_up"};

// A handler that works in steps, and stops when nobody waits any more.
struct SlowSquare {
    std::atomic<int>* given_up;

    Task<Result<int>> operator()(Request<int> request) const {
        const int square = *request * *request;
        for (int step = 0; step < 100; ++step) {
            const Errc paused = co_await request.node().sleep_for(50ms);
            if (paused == Errc::ok) continue;
            given_up->fetch_add(1);
            co_return paused;
        }
        co_return square;
    }
};

Task<Result<int>> sum_of_squares(NodeRef node, Addr peer) {
    CINNABAR_CO_TRY(const int a, co_await node.call(slow_square, peer, 3));
    CINNABAR_CO_TRY(const int b, co_await node.call(slow_square, peer, 4));
    co_return a + b;
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    std::atomic<int> ended_early{0};
    server.serve(slow_square, SlowSquare{&ended_early}).value();
    server.serve(given_up, [&ended_early] { return ended_early.load(); }).value();
    auto [client, peer] = Node::connect(server.address()).value();

    auto late = client.call(slow_square, peer, 7, 20ms).wait();
    std::cout << "with 20 ms: " << to_string(late.code()) << '\n';

    auto future = client.call(slow_square, peer, 7).future();
    future.cancel();
    std::cout << "canceled: " << to_string(future.get().code()) << '\n';

    std::stop_source user_has_left;
    const std::stop_token stop = user_has_left.get_token();
    auto watched = client.call(slow_square, peer, 7, {.deadline = 10s, .stop = &stop}).future();
    user_has_left.request_stop();
    std::cout << "stopped: " << to_string(watched.get().code()) << '\n';

    auto bounded = with_deadline(sum_of_squares(client, peer), 20ms);
    std::cout << "a task with 20 ms: " << to_string(sync_wait(std::move(bounded)).code()) << '\n';

    // If a call ends before the server has received it, no handler gives up: repeat until one has.
    while (client.call(given_up, peer).wait().value() == 0) (void)client.call(slow_square, peer, 7, 20ms).wait();
    std::cout << "handlers gave up\n";
}
