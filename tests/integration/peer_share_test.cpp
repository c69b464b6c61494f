// SPDX-License-Identifier: BSD-3-Clause
// What a node has for all peers together: one that takes all that it can get leaves some to the others.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class PeerShare : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] static std::string dialling() { return GetParam().substr(0, GetParam().find(':')) + "://"; }
    Node server_ = Node::listen(GetParam(), {.buffer_bytes_max = 16 * mib}).value();
    Node greedy_ = Node::open(dialling()).value();
    Node modest_ = Node::open(dialling()).value();
    Addr to_ = server_.self_addr();
};

TEST_P(PeerShare, of_the_buffers_is_what_a_peer_leaves_free) {
    static constexpr Rpc<std::uint64_t(Bulk)> keep{"keep"};
    std::vector<Fetched<std::byte>> kept;
    ASSERT_TRUE(server_
                    .serve(keep,
                           [&](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
                               CINNABAR_CO_TRY(auto fetched, co_await request->fetch<std::byte>());
                               kept.push_back(std::move(fetched));
                               co_return kept.size();
                           })
                    .ok());
    std::vector<std::byte> memory(2 * mib);
    const auto send = [&](Node& peer) {
        const Region region = peer.expose(std::span<const std::byte>(memory)).value();
        return peer.call(keep, to_, Bulk(region), 60s).wait().code();
    };
    int taken = 0;
    while (taken < 100 && send(greedy_) == Errc::ok) ++taken;
    EXPECT_EQ(taken, 4) << "8 of 16 MiB";
    EXPECT_EQ(send(greedy_), Errc::overloaded);
    EXPECT_EQ(send(modest_), Errc::ok);
    kept.clear();
    EXPECT_EQ(send(greedy_), Errc::ok);
}

INSTANTIATE_TEST_SUITE_P(Transports, PeerShare, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
