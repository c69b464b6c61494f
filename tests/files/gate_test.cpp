// SPDX-License-Identifier: BSD-3-Clause
// Logins: challenges for which the server keeps no state, proofs, and sessions that are bound to their connection.
#include "session/gate.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace cinnabar::files {
namespace {

struct HandClock : TimeSource {
    TimeUs now = 1'000'000;
    TimeUs now_us() noexcept override { return now; }
};

struct GateTest : testing::Test {
    HandClock clock;
    na::Addr ann = na::Addr::of_connection("tcp", 0, 0, 111, false);
    na::Addr bob = na::Addr::of_connection("tcp", 0, 0, 222, false);
    Nonce nonce = make_nonce();
    static constexpr Gate::Limits limits{1 << 20, 8};

    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    HelloOut hello(Gate& gate, const na::Addr& client) const {
        return gate.hello({protocol_version, nonce}, client).value();
    }
    LoginIn login(const HelloOut& greeted) const {
        return {nonce, greeted.challenge, key().prove_client(nonce, greeted.challenge.nonce)};
    }
    Token token_of(Gate& gate, const na::Addr& client) const {
        return gate.login(login(hello(gate, client)), client)->token;
    }
};

TEST_F(GateTest, TheRightKeyGetsAProofAndAToken) {
    Gate gate(key(), limits, clock);
    const auto greeted = hello(gate, ann);
    EXPECT_TRUE(greeted.wants_key);
    const auto out = gate.login(login(greeted), ann).value();
    EXPECT_EQ(out.window_bytes, limits.window_bytes);
    EXPECT_EQ(out.windows_max, limits.windows_max);
    EXPECT_TRUE(key().accepts_server(out.proof,
                                     {nonce, greeted.challenge.nonce, out.token, out.window_bytes, out.windows_max}));
    EXPECT_TRUE(gate.find(out.token, ann).ok());
    EXPECT_TRUE(gate.hold(out.token, ann).ok());
}

// Over tcps, where the transport has verified the identity.
TEST_F(GateTest, AProvenConnectionNeedsNoKey) {
    Gate gate(key(), limits, clock);
    const na::Addr proven = na::Addr::of_connection("tcps", 0, 0, 333, false, {}, {},
                                                    na::ProvenIdentity{na::ProvenIdentity::By::key, "ann"});
    const auto greeted = hello(gate, proven);
    EXPECT_FALSE(greeted.wants_key);
    LoginIn in = login(greeted);
    in.proof = {};
    const auto out = gate.login(in, proven);
    ASSERT_TRUE(out.ok());
    EXPECT_TRUE(gate.find(out->token, proven).value()->proven);
    in.challenge = hello(gate, ann).challenge;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::permission) << "others do";
}

TEST_F(GateTest, AWrongProofIsRefused) {
    Gate gate(key(), limits, clock);
    auto wrong = login(hello(gate, ann));
    wrong.proof[0] ^= 1;
    EXPECT_EQ(gate.login(wrong, ann).code(), Errc::permission);
    EXPECT_EQ(gate.sessions(), 0u);
}

TEST_F(GateTest, AChallengeCannotBeMadeUp) {
    Gate gate(key(), limits, clock);
    const auto good = login(hello(gate, ann));
    auto in = good;
    in.challenge.tag[0] ^= 1;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.challenge.issued_us += 1;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.challenge.nonce[0] ^= 1;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.nonce[0] ^= 1;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::timed_out);
    Gate other(key(), limits, clock);
    EXPECT_EQ(other.login(good, ann).code(), Errc::timed_out) << "another server's, or of one that was started again";
    EXPECT_TRUE(gate.login(good, ann).ok());
}

TEST_F(GateTest, AChallengeIsForItsConnectionAndForAWhile) {
    Gate gate(key(), limits, clock);
    const auto first = login(hello(gate, ann));
    EXPECT_EQ(gate.login(first, bob).code(), Errc::timed_out) << "whoever saw it on the wire";
    EXPECT_TRUE(gate.login(first, ann).ok());
    const auto second = login(hello(gate, bob));
    clock.now += Gate::challenge_us;
    EXPECT_EQ(gate.login(second, bob).code(), Errc::timed_out);
}

TEST_F(GateTest, AConnectionHasOneSession) {
    Gate gate(key(), limits, clock);
    const auto in = login(hello(gate, ann));
    const auto token = gate.login(in, ann)->token;
    EXPECT_EQ(gate.login(in, ann).code(), Errc::overloaded) << "a login that is sent again";
    EXPECT_EQ(gate.login(login(hello(gate, ann)), ann).code(), Errc::overloaded);
    gate.end(*gate.find(token, ann).value());
    EXPECT_NE(token_of(gate, ann), token);
}

// Repeating a login after its session has ended opens another session, in which old signatures are invalid.
TEST_F(GateTest, ASecondLoginWithAChallengeHasAnotherSecret) {
    Gate gate(key(), limits, clock);
    const auto greeted = hello(gate, ann);
    const auto token = gate.login(login(greeted), ann)->token;
    Seals client(token, key().session_secret(nonce, greeted.challenge.nonce, token));
    HoldIn hold;
    client.stamp(hold);
    gate.end(*gate.find(token, ann).value());
    const auto next = gate.login(login(greeted), ann)->token;
    EXPECT_EQ(gate.find(token, ann).code(), Errc::peer_lost);
    const auto session = gate.find(next, ann).value();
    EXPECT_EQ(session->seals.check(hold).code(), Errc::permission);
    hold.seal.token = next;
    EXPECT_EQ(session->seals.check(hold).code(), Errc::permission);
}

TEST_F(GateTest, ATokenIsForItsConnection) {
    Gate gate(std::nullopt, limits, clock);
    const auto token = token_of(gate, ann);
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
    Gate gate(std::nullopt, limits, clock);
    for (const std::uint32_t version : {protocol_version - 1, protocol_version + 1}) {
        const auto greeted = gate.hello({version, nonce}, ann);
        ASSERT_EQ(greeted.code(), Errc::unsupported) << version;
        EXPECT_NE(greeted.error().message().find("use the same release"), std::string::npos) << "what to do";
    }
}

// A stranger makes up any number of identities, and none of them logs in.
TEST_F(GateTest, HellosOfOthersShutNobodyOut) {
    Gate gate(key(), limits, clock);
    const auto early = hello(gate, bob);
    for (std::size_t i = 0; i < 20'000; ++i)
        ASSERT_TRUE(gate.hello({protocol_version, nonce}, na::Addr::of_connection("tcp", 0, 0, 1000 + i, false)).ok())
            << i;
    for (std::size_t i = 0; i < 20'000; ++i) ASSERT_TRUE(gate.hello({protocol_version, nonce}, ann).ok()) << i;
    EXPECT_TRUE(gate.login(login(early), bob).ok());
    EXPECT_TRUE(gate.login(login(hello(gate, ann)), ann).ok());
}

TEST_F(GateTest, SessionsAreBounded) {
    Gate gate(std::nullopt, limits, clock);
    std::vector<na::Addr> clients;
    for (std::size_t i = 0; i < Gate::sessions_max; ++i) {
        clients.push_back(na::Addr::of_connection("tcp", 0, 0, 1000 + i, false));
        ASSERT_TRUE(gate.login(login(hello(gate, clients.back())), clients.back()).ok());
    }
    EXPECT_EQ(gate.login(login(hello(gate, bob)), bob).code(), Errc::overloaded);
    clock.now += Gate::challenge_us;
    EXPECT_EQ(gate.expire().size(), Gate::sessions_max) << "nobody holds them";
    EXPECT_TRUE(gate.login(login(hello(gate, bob)), bob).ok());
}

TEST_F(GateTest, SessionsThatNobodyHoldsAreForgotten) {
    Gate gate(std::nullopt, limits, clock);
    const auto kept = token_of(gate, ann);
    ASSERT_TRUE(gate.hold(kept, ann).ok());
    const auto lost = token_of(gate, bob);
    EXPECT_EQ(gate.sessions(), 2u);
    clock.now += Gate::challenge_us;
    const auto late = gate.expire();
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late.front()->seals.token(), lost);
    EXPECT_EQ(gate.sessions(), 1u);
    EXPECT_EQ(gate.hold(lost, bob).code(), Errc::peer_lost);
    EXPECT_TRUE(gate.find(kept, ann).ok());
}

}  // namespace
}  // namespace cinnabar::files
