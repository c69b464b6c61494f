// SPDX-License-Identifier: BSD-3-Clause
// Forwarded memory: A lends memory to B, B passes the Bulk on in a call to C, and C transfers the bytes directly from
// or to A.
#include "forward_parties.hpp"
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

class Forward : public testing::TestWithParam<test::Way> {};

TEST_P(Forward, the_third_party_pulls_straight_from_the_owner) {
    Store c({GetParam().listen});
    Gateway b({GetParam().listen}, c.node.address());
    Node a = Node::listen(GetParam().listen).value();
    const auto bytes = pattern(8 * mib + 5);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const Addr to = a.lookup(b.node.address()).value();
    const auto stored = a.call(put, to, {"x", Bulk(region).forwardable()}, 60s).wait();
    ASSERT_TRUE(stored.ok()) << stored.error().message();
    EXPECT_EQ(*stored, bytes.size());
    EXPECT_EQ(c.kept, bytes);
}

TEST_P(Forward, the_third_party_pushes_within_the_given_range) {
    Store c({GetParam().listen});
    Gateway b({GetParam().listen}, c.node.address());
    Node a = Node::listen(GetParam().listen).value();
    const auto bytes = pattern(3 * mib);
    std::vector<std::byte> back(4 * mib);
    const auto from = a.expose(std::span<const std::byte>(bytes)).value().slice(mib / 2, 2 * mib);
    const auto into = a.expose(std::span<std::byte>(back)).value().slice(mib, 2 * mib);
    const Addr to = a.lookup(b.node.address()).value();
    const auto copied =
        a.call(copy, to, {{"x", Bulk(from).forwardable()}, Bulk(into, Access::write).forwardable()}, 60s).wait();
    ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(*copied, 4 * mib);
    EXPECT_TRUE(std::equal(back.begin() + mib, back.begin() + 3 * mib, bytes.begin() + mib / 2));
    EXPECT_EQ(std::count(back.begin(), back.begin() + mib, std::byte{0}), static_cast<std::ptrdiff_t>(mib));
    EXPECT_EQ(std::count(back.begin() + 3 * mib, back.end(), std::byte{0}), static_cast<std::ptrdiff_t>(mib));
}

CINNABAR_ON_EACH_WAY(Forward);

class ForwardTcp : public testing::Test {
  protected:
    static constexpr const char* uri = "tcp://127.0.0.1:0";
    Result<std::uint64_t> send(Node& a, const Gateway& b, std::span<const std::byte> bytes) {
        const auto region = a.expose(bytes).value();
        return a.call(put, a.lookup(b.node.address()).value(), {"x", Bulk(region).forwardable()}, 60s).wait();
    }
};

TEST_F(ForwardTcp, over_two_gateways) {
    Store d({uri});
    Gateway c({uri}, d.node.address());
    Gateway b({uri}, c.node.address());
    Node a = Node::listen(uri).value();
    const auto bytes = pattern(2 * mib);
    EXPECT_EQ(send(a, b, bytes).value(), bytes.size());
    EXPECT_EQ(d.kept, bytes);
}

TEST_F(ForwardTcp, eager_bytes_need_no_listening_owner) {
    Store c({uri}, false);
    Gateway b({uri}, c.node.address());
    Node a = Node::open("tcp://").value();
    const auto bytes = pattern(500);
    EXPECT_EQ(send(a, b, bytes).value(), bytes.size());
    EXPECT_EQ(c.kept, bytes);
}

TEST_F(ForwardTcp, memory_of_a_node_that_does_not_listen_is_unreachable) {
    Store c({uri});
    Gateway b({uri}, c.node.address());
    Node a = Node::open("tcp://").value();
    const auto bytes = pattern(mib);
    EXPECT_EQ(send(a, b, bytes).code(), Errc::unreachable);
    EXPECT_TRUE(c.kept.empty());  // C was never called
}

TEST_F(ForwardTcp, without_follow_owner_the_transfer_is_refused) {
    Store c({uri}, false);
    Gateway b({uri}, c.node.address());
    Node a = Node::listen(uri).value();
    const auto bytes = pattern(mib);
    EXPECT_EQ(send(a, b, bytes).code(), Errc::permission);
}

TEST_F(ForwardTcp, an_owner_that_cannot_be_reached_is_unreachable) {
    Store c({uri});
    Gateway b({uri, "shm://"}, c.node.address());
    Node a = Node::listen("shm://").value();  // C has no shm
    const auto bytes = pattern(mib);
    EXPECT_EQ(send(a, b, bytes).code(), Errc::unreachable);
}

TEST_F(ForwardTcp, the_first_call_may_come_by_one_transport_and_the_second_by_another) {
    Store c({uri, "shm://"});
    Node a = Node::listen(uri).value();
    Gateway b({uri, "shm://"}, c.node.endpoints().at(1));  // B calls C over shm, A calls B over tcp
    ASSERT_EQ(b.node.transport_to(b.next), "shm");
    const auto bytes = pattern(2 * mib);
    EXPECT_EQ(send(a, b, bytes).value(), bytes.size());
    EXPECT_EQ(c.kept, bytes);
}

TEST_F(ForwardTcp, memory_that_is_not_forwardable_is_unreachable) {
    Store c({uri});
    Gateway b({uri}, c.node.address());
    Node a = Node::listen(uri).value();
    const auto bytes = pattern(mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const auto stored = a.call(put, a.lookup(b.node.address()).value(), {"x", region}, 60s).wait();
    EXPECT_EQ(stored.code(), Errc::unreachable);
    EXPECT_NE(b.said.find("forwardable"), std::string::npos) << b.said;
    EXPECT_TRUE(c.kept.empty());  // C was never called
}

// B gives the key away, and C takes it to its owner while B may still use it.
TEST_F(ForwardTcp, a_leaked_descriptor_is_of_no_use_unless_the_memory_is_forwardable) {
    for (const bool forwardable : {false, true}) {
        Node a = Node::listen(uri).value();
        Node c = Node::open("tcp://").value();
        const Addr owner = c.lookup(a.address()).value();
        Errc stolen = Errc::closed;
        Node b = Node::listen(uri).value();
        const auto leak = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
            std::vector<std::byte> loot(mib);
            const auto into = c.expose(std::span<std::byte>(loot)).value();
            stolen = (co_await c.pull(request->data.remote(), owner, into)).code();
            std::vector<std::byte> kept(request->data.size());
            co_return co_await request->data.pull(Bytes(kept));
        };
        ASSERT_TRUE(b.serve(put, leak).ok());
        const auto bytes = pattern(mib);
        const auto region = a.expose(std::span<const std::byte>(bytes)).value();
        const Bulk data = forwardable ? Bulk(region).forwardable() : Bulk(region);
        EXPECT_EQ(a.call(put, a.lookup(b.address()).value(), {"x", data}, 60s).wait().value_or(0), mib);
        EXPECT_EQ(stolen, forwardable ? Errc::ok : Errc::permission);
    }
}

// A cancels while C handles the call: the cancel reaches C through B, and once A's call has ended its memory is not
// accessed.
TEST_F(ForwardTcp, a_cancel_reaches_the_third_party) {
    std::promise<void> running;
    std::promise<Errc> ended;
    Node c = Node::listen(uri).value();
    const auto hang = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
        std::vector<std::byte> kept(request->data.size());
        const auto pulled = co_await request->data.pull(Bytes(kept), {.follow_owner = true});
        if (!pulled) co_return pulled;
        running.set_value();
        const auto slept = co_await request.node().sleep_for(1h);  // ends when the request is canceled
        ended.set_value(slept);
        co_return *pulled;
    };
    ASSERT_TRUE(c.serve(store, hang).ok());
    Gateway b({uri}, c.address());
    Node a = Node::listen(uri).value();
    const auto bytes = pattern(mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    auto call = a.call(put, a.lookup(b.node.address()).value(), {"x", Bulk(region).forwardable()}, 60s).future();
    running.get_future().wait();
    call.cancel();
    EXPECT_EQ(call.get().code(), Errc::canceled);
    EXPECT_EQ(ended.get_future().get(), Errc::canceled);
}

// The second call inherits the deadline of the first.
TEST_F(ForwardTcp, a_deadline_reaches_the_third_party) {
    std::promise<TimeUs> left;
    Node c = Node::listen(uri).value();
    const auto tell = [&](Request<Piece> request) -> Task<Result<std::uint64_t>> {
        left.set_value(request.deadline() - steady_clock().now_us());
        co_return request->data.size();
    };
    ASSERT_TRUE(c.serve(store, tell).ok());
    Gateway b({uri}, c.address());
    Node a = Node::listen(uri).value();
    const auto bytes = pattern(mib);
    const auto region = a.expose(std::span<const std::byte>(bytes)).value();
    const Addr to = a.lookup(b.node.address()).value();
    EXPECT_EQ(a.call(put, to, {"x", Bulk(region).forwardable()}, 5s).wait().value(), mib);
    EXPECT_LE(left.get_future().get(), 5'000'000u);
}

}  // namespace
}  // namespace cinnabar
