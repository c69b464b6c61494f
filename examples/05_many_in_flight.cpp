// SPDX-License-Identifier: BSD-3-Clause
// A thousand calls at once from one task, with the results in the order of the calls.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <vector>

using namespace std::chrono_literals;

inline constexpr cinnabar::Rpc<long(long)> square{"square"};

cinnabar::Task<long> sum_of_squares(cinnabar::NodeRef node, cinnabar::Addr peer, long count) {
    std::vector<cinnabar::Pending<long>> calls;
    for (long i = 1; i <= count; ++i) calls.push_back(node.call(square, peer, i, 20s));
    long sum = 0;
    for (auto& result : co_await cinnabar::when_all(std::move(calls))) sum += result.value();
    co_return sum;
}

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(square, [](long value) { return value * value; }).value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    std::cout << "1 + 4 + 9 + ... + 1000000 = " << cinnabar::sync_wait(sum_of_squares(client, peer, 1000)).value()
              << '\n';
}
