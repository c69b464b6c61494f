// SPDX-License-Identifier: BSD-3-Clause
// A call lends memory to the server, which pulls it: 32 MiB without a copy through messages.
#include <cinnabar/cinnabar.hpp>

#include <cstdint>
#include <iostream>
#include <numeric>
#include <vector>

struct Column {
    std::string name;
    cinnabar::Bulk values;
};
inline constexpr cinnabar::Rpc<std::uint64_t(Column)> total{"total"};

// A coroutine: the transfer runs in the background, and its deadline is that of the call.
cinnabar::Task<cinnabar::Result<std::uint64_t>> add_up(cinnabar::Request<Column> request) {
    CINNABAR_CO_TRY(const auto values, co_await request->values.fetch<std::uint64_t>());
    co_return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

int main() {
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server.serve(total, add_up).value();

    auto [client, peer] = cinnabar::Node::connect(server.address()).value();
    std::vector<std::uint64_t> values(4 << 20);
    std::iota(values.begin(), values.end(), 1);
    auto region = client.expose(std::span<const std::uint64_t>(values)).value();
    std::cout << "sum of " << values.size() << " values: " << client.call(total, peer, {"x", region}).wait().value()
              << '\n';
}
