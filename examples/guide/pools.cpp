// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Pools".
#include <cinnabar/cinnabar.hpp>

#include <algorithm>
#include <future>
#include <iostream>
#include <string>
#include <thread>

using namespace cinnabar;
using namespace std::chrono_literals;

inline constexpr Rpc<std::uint64_t(std::uint64_t)> collatz{"collatz"};
inline constexpr Rpc<std::string()> status{"status"};
inline constexpr OneWay<std::string> note{"note"};

// Blocks a thread for as long as it computes.
std::uint64_t steps_to_one(std::uint64_t value) {
    std::uint64_t steps = 0;
    for (; value != 1; ++steps) value = value % 2 == 0 ? value / 2 : 3 * value + 1;
    return steps;
}

Task<Result<std::uint64_t>> longest(NodeRef node, Addr peer, std::uint64_t below) {
    std::vector<Pending<std::uint64_t>> calls;
    for (std::uint64_t value = 1; value < below; ++value) calls.push_back(node.call(collatz, peer, value));
    std::uint64_t most = 0;
    for (auto& steps : co_await when_all(std::move(calls))) {
        if (!steps) co_return std::move(steps).error();
        most = std::max(most, *steps);
    }
    co_return most;
}

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    auto workers = server.make_pool({.threads = 2, .queue_max = 1000}).value();
    server.serve(collatz, steps_to_one, on(workers)).value();
    server.serve(status, [workers] { return workers.queued() < 500 ? "fine" : "busy"; }).value();

    std::promise<std::string> noted;
    const auto keep = [&noted](const std::string& text) { noted.set_value(text); };
    server.serve(note, keep, on(workers, Priority::high)).value();

    auto [client, peer] = Node::connect(server.address()).value();
    std::cout << "longest below 500: " << sync_wait(longest(client, peer, 500)).value() << '\n';
    std::cout << "status: " << client.call(status, peer).wait().value() << '\n';
    client.call(note, peer, "done").wait().value();
    std::cout << "note: " << noted.get_future().get() << '\n';
}
