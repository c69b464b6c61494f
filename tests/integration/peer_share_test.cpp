// SPDX-License-Identifier: BSD-3-Clause
// Resources that all peers of a node share: a peer that takes as much as it can leaves some for the others.
#include "patience.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class PeerShare : public testing::TestWithParam<std::string> {
  protected:
    [[nodiscard]] static std::string dialling() { return GetParam().substr(0, GetParam().find(':')) + "://"; }
    [[nodiscard]] static NodeOptions small() {
        NodeOptions options{.buffer_bytes_max = 16 * mib};
        options.rpc.decoded_bytes_max = 32 * mib;
        return options;
    }
    Node server_ = Node::listen(GetParam(), small()).value();
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

// Bytes of the heap in use. Not meaningful under a sanitizer, which has a heap of its own.
std::size_t heap_bytes() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST_P(PeerShare, of_the_memory_of_decoded_arguments_is_what_a_peer_leaves_free) {
    using Maybes = std::vector<std::optional<std::string>>;  // one byte each on the wire, 40 in memory
    static constexpr Rpc<std::uint64_t(Maybes)> keep{"keep"};
    static constexpr Rpc<int()> ping{"ping"};
    constexpr std::size_t asked_for = 12;
    test::Gate let_go;
    std::atomic<std::size_t> kept = 0;
    const Pool pool = server_.make_pool({.threads = asked_for, .queue_max = 1'000}).value();
    const auto block = [&](const Maybes& maybes) -> std::uint64_t {
        ++kept;
        return let_go.wait() ? maybes.size() : 0;
    };
    ASSERT_TRUE(server_.serve(keep, block, on(pool)).ok());
    ASSERT_TRUE(server_.serve(ping, [] { return 1; }).ok());
    const Maybes maybes(4 * mib / sizeof(Maybes::value_type) - 1);
    // Waits until the call is refused, or a handler has its argument.
    const auto send = [&](Node& peer) {
        const std::size_t before = kept;
        Future<std::uint64_t> sent = peer.call(keep, to_, maybes, 60s).future();
        while (kept == before && !sent.wait_for(1ms)) continue;
        return sent;
    };
    const std::size_t heap_before = heap_bytes();
    std::vector<Future<std::uint64_t>> sent;
    for (std::size_t i = 0; i < asked_for; ++i) sent.push_back(send(greedy_));
    EXPECT_EQ(kept, 4u) << "16 of 32 MiB";
    EXPECT_LE(heap_bytes(), heap_before + 18 * mib);
    sent.push_back(send(modest_));
    EXPECT_EQ(kept, 5u) << "another peer has a share of its own";
    let_go.open();
    for (std::size_t i = 0; i < sent.size(); ++i) {
        const bool has_room = i < 4 || i == asked_for;
        EXPECT_EQ(sent[i].get().code(), has_room ? Errc::ok : Errc::overloaded) << i;
    }

    const Result<std::uint64_t> alone = greedy_.call(keep, to_, Maybes(500'000), 60s).wait();
    ASSERT_EQ(alone.code(), Errc::too_large) << "19 MiB";
    EXPECT_NE(alone.error().message().find("decoded_bytes_max"), std::string::npos) << alone.error().message();
    EXPECT_EQ(greedy_.call(keep, to_, maybes, 60s).wait().value(), maybes.size()) << "it may ask again";
    const auto charged = [&] { return server_.rpc_context().counts().decoded_bytes; };
    for (int i = 0; i < 10'000 && charged() != 0; ++i) ASSERT_TRUE(greedy_.call(ping, to_).wait().ok());
    EXPECT_EQ(charged(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Transports, PeerShare, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
