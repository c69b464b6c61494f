// SPDX-License-Identifier: BSD-3-Clause
// From an address to its transport and its peer, and what a context remembers of that.
#include "context_fixture.hpp"

#include <cinnabar/na/session/peer.hpp>

#include <string>
#include <vector>

namespace cinnabar::na {
namespace {

TEST_F(ContextTest, RoutesByEndpoint) {
    open(ThreadUse::one);
    EXPECT_EQ(context_->route(peer_->addr()), context_->ports().front().get());
    EXPECT_EQ(context_->route(Addr::parse("tcp://host:1").value()), nullptr);
    EXPECT_EQ(context_->route(Addr()), nullptr);
    EXPECT_EQ(&context_->transport_of(*context_->ports().front()), &faulty_);
    // The shortcut and the port find the same peer.
    EXPECT_EQ(context_->peer(peer_->addr()).value(), peer_);
    EXPECT_EQ(context_->peer(peer_->addr()).value(), peer_);
}

// Only the first contexts of a process keep their peers in the addresses; the others have a cache.
TEST_F(ContextTest, ContextsBeyondTheFirstFindTheirPeersAgain) {
    std::vector<std::unique_ptr<Context>> first;
    for (std::size_t i = 0; i < AddrBody::shortcuts; ++i) first.push_back(open_another(1 + i, 0));
    open(ThreadUse::one);
    ASSERT_GE(context_->ordinal(), AddrBody::shortcuts);
    const Addr other = Addr::make({inner_->endpoints().front(), "tcp://host:1"}, 0, 0);
    for (const Addr& name : {peer_->addr(), other}) {
        EXPECT_EQ(context_->peer(name).value(), peer_);
        const std::uint64_t asked = faulty_.faults().asked;
        EXPECT_EQ(context_->peer(name).value(), peer_);
        EXPECT_EQ(faulty_.faults().asked, asked);
        EXPECT_EQ(context_->known_peer(name), nullptr);
    }
}

TEST_F(ContextTest, ContextsWithTheSameTransportsShareRoutes) {
    open(ThreadUse::one);
    const std::uint64_t routes = new_routes();
    EXPECT_NE(routes, new_routes());
    const auto one = open_another(1, routes);
    const auto two = open_another(2, routes);
    const Addr addr = Addr::make({inner_->endpoints().front(), "tcp://host:1"}, 0, 0);
    EXPECT_EQ(one->route(addr), one->ports().front().get());
    const std::uint64_t asked = faulty_.faults().asked;
    EXPECT_EQ(two->route(addr), two->ports().front().get());
    EXPECT_EQ(faulty_.faults().asked, asked) << "the first has found it";
    EXPECT_EQ(context_->route(addr), context_->ports().front().get());
    EXPECT_GT(faulty_.faults().asked, asked) << "shares with none";
}

// The address of a `self` peer contains its incarnation, which a dialler does not know.
TEST_F(ContextTest, OtherNamesOfAPeerAreKnownForAsLongAsTheContext) {
    open(ThreadUse::one);
    const Addr first = Addr::make(inner_->endpoints(), 0, 0);
    ASSERT_NE(first, peer_->addr());
    EXPECT_EQ(context_->known_peer(first), peer_);
    std::vector<Addr> names;
    for (int i = 0; i < 100; ++i) {
        names.push_back(Addr::make({inner_->endpoints().front(), "tcp://host:" + std::to_string(i + 1)}, 0, 0));
        EXPECT_EQ(context_->known_peer(names.back()), nullptr);
        EXPECT_EQ(context_->peer(names.back()).value(), peer_);
        EXPECT_EQ(context_->known_peer(names.back()), peer_);
    }
    EXPECT_EQ(context_->known_peer(first), nullptr) << "so many are not kept";
    EXPECT_EQ(context_->peer(first).value(), peer_);
    EXPECT_EQ(context_->peer(peer_->addr()).value(), peer_);
    EXPECT_EQ(context_->known_peer(peer_->addr()), peer_);
    peer_->release();
    context_.reset();
    open(ThreadUse::one);  // replaces the previous one
    for (const Addr& name : names) EXPECT_EQ(context_->known_peer(name), nullptr);
}

// Descriptors that a peer sends name their owner by an address of the peer's making.
TEST_F(ContextTest, OtherNamesOfAPeerThatIsDialledAreBounded) {
    support::Network network(support::NetworkKind::tcp);
    if (const std::string missing = network.missing(); !missing.empty()) GTEST_SKIP() << missing;
    TransportOptions options;
    options.listen = true;
    const auto transport = network.open("a", options).value();
    Transport* const only = transport.get();
    ContextOptions one;
    one.threads = ThreadUse::one;
    const auto context = Context::open({&only, 1}, one, receiver_).value();
    const std::string first = transport->endpoints().front();
    auto* const peer = static_cast<SessionPeer*>(context->peer(Addr::parse(first).value()).value());
    const auto other = [&](int i) { return Addr::parse(first + ",tcp://127.0.0.1:" + std::to_string(i)).value(); };
    for (int i = 1; i <= 1000; ++i) ASSERT_EQ(context->peer(other(i)).value(), peer) << i;
    EXPECT_LE(peer->names.size(), 64u);
    EXPECT_EQ(context->peer(other(1)).value(), peer) << "a forgotten name";
    EXPECT_EQ(peer->names.back(), other(1));
    EXPECT_EQ(context->peer(Addr::parse(first).value()).value(), peer);
}

}  // namespace
}  // namespace cinnabar::na
