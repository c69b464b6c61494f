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

TEST_P(PeerShare, of_the_queue_of_a_pool_is_what_a_peer_leaves_free) {
    static constexpr Rpc<int()> work{"work"};
    static constexpr Rpc<int()> ping{"ping"};
    test::Gate busy;
    test::Gate let_go;
    const Pool pool = server_.make_pool({.threads = 1, .queue_max = 64}).value();
    const auto block = [&] {
        busy.open();
        return let_go.wait() ? 1 : 0;
    };
    ASSERT_TRUE(server_.serve(work, block, on(pool)).ok());
    ASSERT_TRUE(server_.serve(ping, [] { return 1; }).ok());
    std::vector<Future<int>> asked;
    asked.push_back(greedy_.call(work, to_).future());
    ASSERT_TRUE(busy.wait());
    for (int i = 0; i < 100; ++i) asked.push_back(greedy_.call(work, to_).future());
    EXPECT_EQ(greedy_.call(ping, to_).wait().value(), 1) << "behind all of them";
    EXPECT_EQ(pool.queued(), 32u);
    Future<int> honest = modest_.call(work, to_).future();
    EXPECT_EQ(modest_.call(ping, to_).wait().value(), 1);
    EXPECT_EQ(pool.queued(), 33u);
    let_go.open();
    EXPECT_TRUE(honest.get().ok());
    const auto count = [&](auto& ended) {
        const Result<int> result = ended.get();
        EXPECT_TRUE(result.ok() || result.code() == Errc::overloaded) << result.error().message();
        return result.ok() ? 1 : 0;
    };
    int served = 0;
    for (Future<int>& each : asked) served += count(each);
    EXPECT_EQ(served, 33);
    EXPECT_EQ(greedy_.call(work, to_).wait().value(), 1) << "it may ask again";
}

INSTANTIATE_TEST_SUITE_P(Transports, PeerShare, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
