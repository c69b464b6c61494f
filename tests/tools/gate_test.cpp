// SPDX-License-Identifier: BSD-3-Clause
// Who gets in: challenges good once and for a while, proofs, tokens bound to their connection, and bounded numbers.
#include "session/gate.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools {
namespace {

struct HandClock : Clock {
    TimeUs now = 1'000'000;
    TimeUs now_us() noexcept override { return now; }
};

struct GateTest : testing::Test {
    HandClock clock;
    na::Addr ann = na::Addr::make_session("tcp", 0, 111);
    na::Addr bob = na::Addr::make_session("tcp", 0, 222);
    Nonce nonce = make_nonce();

    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    HelloOut hello(Gate& gate, const na::Addr& who) { return gate.hello({protocol_version, nonce}, who).value(); }
    LoginIn login(const HelloOut& greeted) const {
        return {greeted.challenge, key().prove(Prover::client, nonce, greeted.nonce)};
    }
};

TEST_F(GateTest, TheRightKeyGetsAProofAndAToken) {
    Gate gate(key(), clock);
    const auto greeted = hello(gate, ann);
    EXPECT_TRUE(greeted.wants_key);
    const auto admitted = gate.login(login(greeted), ann).value();
    EXPECT_TRUE(key().accepts(admitted.proof, Prover::server, nonce, greeted.nonce));
    EXPECT_TRUE(gate.hold(admitted.token, ann).ok());
    EXPECT_TRUE(gate.find(admitted.token, ann).ok());
}

TEST_F(GateTest, AWrongProofIsRefusedAndUsesTheChallengeUp) {
    Gate gate(key(), clock);
    const auto greeted = hello(gate, ann);
    auto wrong = login(greeted);
    wrong.proof[0] ^= 1;
    EXPECT_EQ(gate.login(wrong, ann).code(), Errc::permission);
    EXPECT_EQ(gate.login(login(greeted), ann).code(), Errc::timed_out) << "no second try";
}

TEST_F(GateTest, AProofIsGoodOnce) {
    Gate gate(key(), clock);
    const auto in = login(hello(gate, ann));
    EXPECT_TRUE(gate.login(in, ann).ok());
    EXPECT_EQ(gate.login(in, ann).code(), Errc::timed_out);
}

TEST_F(GateTest, AChallengeIsForWhoAskedAndForAWhile) {
    Gate gate(key(), clock);
    const auto first = hello(gate, ann);
    EXPECT_EQ(gate.login(login(first), bob).code(), Errc::timed_out);
    EXPECT_TRUE(gate.login(login(first), ann).ok()) << "a stranger's try does not use it up";
    const auto second = hello(gate, ann);
    clock.now += Gate::challenge_us;
    EXPECT_EQ(gate.login(login(second), ann).code(), Errc::timed_out);
}

TEST_F(GateTest, ATokenIsForItsConnection) {
    Gate gate(std::nullopt, clock);
    const auto token = gate.login({hello(gate, ann).challenge, {}}, ann).value().token;
    EXPECT_EQ(gate.hold(token, bob).code(), Errc::peer_lost);
    EXPECT_TRUE(gate.find(token, ann).ok()) << "the hold call may come later than others";
    ASSERT_TRUE(gate.hold(token, ann).ok());
    EXPECT_EQ(gate.hold(token, ann).code(), Errc::busy);
    EXPECT_EQ(gate.find(token, bob).code(), Errc::peer_lost);
    EXPECT_EQ(gate.find({token.high, token.low + 1}, ann).code(), Errc::peer_lost);
    gate.end(*gate.find(token, ann).value());
    EXPECT_EQ(gate.find(token, ann).code(), Errc::peer_lost);
}

TEST_F(GateTest, AnotherVersionIsTold) {
    Gate gate(std::nullopt, clock);
    EXPECT_EQ(gate.hello({protocol_version + 1, nonce}, ann).code(), Errc::unsupported);
}

TEST_F(GateTest, StrangersAreBoundedInNumberAndTime) {
    Gate gate(std::nullopt, clock);
    for (std::size_t i = 0; i < Gate::challenges_max; ++i)
        ASSERT_TRUE(gate.hello({protocol_version, nonce}, na::Addr::make_session("tcp", 0, 1000 + i)).ok());
    EXPECT_EQ(gate.hello({protocol_version, nonce}, bob).code(), Errc::overloaded);
    clock.now += Gate::challenge_us;
    EXPECT_TRUE(gate.expire().empty());
    EXPECT_TRUE(gate.hello({protocol_version, nonce}, bob).ok());
}

TEST_F(GateTest, OneThatNeverLogsInShutsNobodyOut) {
    Gate gate(std::nullopt, clock);
    const auto early = hello(gate, bob);
    std::vector<HelloOut> of_ann;
    for (std::size_t i = 0; i <= Gate::challenges_max; ++i) of_ann.push_back(hello(gate, ann));
    EXPECT_TRUE(gate.login({early.challenge, {}}, bob).ok());
    EXPECT_TRUE(gate.hello({protocol_version, nonce}, bob).ok());
    const auto first_kept = of_ann.size() - Gate::source_challenges_max;
    EXPECT_EQ(gate.login({of_ann[first_kept - 1].challenge, {}}, ann).code(), Errc::timed_out) << "its own goes";
    for (std::size_t i = first_kept; i < of_ann.size(); ++i)
        EXPECT_TRUE(gate.login({of_ann[i].challenge, {}}, ann).ok()) << i;
}

TEST_F(GateTest, SessionsThatNobodyHoldsAreForgotten) {
    Gate gate(std::nullopt, clock);
    const auto kept = gate.login({hello(gate, ann).challenge, {}}, ann).value().token;
    ASSERT_TRUE(gate.hold(kept, ann).ok());
    const auto lost = gate.login({hello(gate, ann).challenge, {}}, ann).value().token;
    EXPECT_EQ(gate.sessions(), 2u);
    clock.now += Gate::challenge_us;
    const auto late = gate.expire();
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late.front()->token, lost);
    EXPECT_EQ(gate.sessions(), 1u);
    EXPECT_EQ(gate.hold(lost, ann).code(), Errc::peer_lost);
    EXPECT_TRUE(gate.find(kept, ann).ok());
}

}  // namespace
}  // namespace cinnabar::tools
