// SPDX-License-Identifier: BSD-3-Clause
// A gateway passes the caller's memory on: the store pulls 8 MiB straight from the client; none of it goes through the
// gateway.
#include <cinnabar/cinnabar.hpp>

#include <iostream>
#include <string>
#include <vector>

using namespace cinnabar;

struct Column {
    std::string name;
    Bulk values;
};
inline constexpr Rpc<std::uint64_t(Column)> put{"put"};      // what clients call
inline constexpr Rpc<std::uint64_t(Column)> store{"store"};  // what the gateway calls

int main() {
    auto storage = Node::listen("tcp://127.0.0.1:0").value();
    const auto keep = [](Request<Column> request) -> Task<Result<std::uint64_t>> {
        // Set this only where strangers cannot call: the owner's address came with the call.
        CINNABAR_CO_TRY(const auto values, co_await request->values.fetch<std::uint64_t>({.follow_owner = true}));
        co_return values.size();
    };
    storage.serve(store, keep).value();

    auto gateway = Node::listen("tcp://127.0.0.1:0").value();
    const Addr to = gateway.lookup(storage.address()).value();
    const auto hand_on = [to](Request<Column> request) -> Task<Result<std::uint64_t>> {
        co_return co_await request.node().call(store, to, *request);
    };
    gateway.serve(put, hand_on).value();

    // The client listens, so that the store can reach it, and allows the gateway to pass its memory on.
    auto client = Node::listen("tcp://127.0.0.1:0").value();
    std::vector<std::uint64_t> values(1 << 20, 7);
    auto region = client.expose(std::span<const std::uint64_t>(values)).value();
    const Addr peer = client.lookup(gateway.address()).value();
    std::cout << "stored " << client.call(put, peer, {"sevens", Bulk(region).forwardable()}).wait().value()
              << " values\n";
}
