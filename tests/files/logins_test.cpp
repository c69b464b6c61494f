// SPDX-License-Identifier: BSD-3-Clause
// Logins: challenges for which the server keeps no state, proofs, and sessions that are bound to their connection.
#include "session/logins.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace cinnabar::files {
namespace {

struct HandClock : TimeSource {
    TimeUs now = 1'000'000;
    TimeUs now_us() noexcept override { return now; }
};

struct LoginsTest : testing::Test {
    HandClock clock;
    na::Addr ann = na::Addr::of_connection("tcp", 0, 0, 111, false);
    na::Addr bob = na::Addr::of_connection("tcp", 0, 0, 222, false);
    Nonce nonce = make_nonce();
    static constexpr Logins::Limits limits{1 << 20, 8, {2'000'000'000, 0, 0200}};

    static Key key() { return Key::from("a key of at least 16 bytes").value(); }
    HelloOut hello(Logins& logins, const na::Addr& client) const {
        return logins.hello({protocol_version, nonce}, client).value();
    }
    LoginIn login(const HelloOut& greeted) const {
        return {nonce, greeted.challenge, key().prove_client(nonce, greeted.challenge.nonce)};
    }
    Token token_of(Logins& logins, const na::Addr& client) const {
        return logins.login(login(hello(logins, client)), client)->token;
    }
};

TEST_F(LoginsTest, TheRightKeyGetsAProofAndAToken) {
    Logins logins(key(), limits, clock);
    const auto greeted = hello(logins, ann);
    EXPECT_TRUE(greeted.wants_key);
    const auto out = logins.login(login(greeted), ann).value();
    EXPECT_EQ(out.window_bytes, limits.window_bytes);
    EXPECT_EQ(out.windows_max, limits.windows_max);
    EXPECT_EQ(out.precision, limits.precision);
    EXPECT_TRUE(key().accepts_server(
        out.proof, {nonce, greeted.challenge.nonce, out.token, out.window_bytes, out.windows_max, out.precision}));
    EXPECT_TRUE(logins.find(out.token, ann).ok());
    EXPECT_TRUE(logins.hold(out.token, ann).ok());
}

// Over tcps, where the transport has verified the identity.
TEST_F(LoginsTest, AProvenConnectionNeedsNoKey) {
    Logins logins(key(), limits, clock);
    const na::Addr proven = na::Addr::of_connection("tcps", 0, 0, 333, false, {}, {},
                                                    na::ProvenIdentity{na::ProvenIdentity::By::key, "ann"});
    const auto greeted = hello(logins, proven);
    EXPECT_FALSE(greeted.wants_key);
    LoginIn in = login(greeted);
    in.proof = {};
    const auto out = logins.login(in, proven);
    ASSERT_TRUE(out.ok());
    EXPECT_TRUE(logins.find(out->token, proven).value()->proven);
    in.challenge = hello(logins, ann).challenge;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::permission) << "others do";
}

TEST_F(LoginsTest, AWrongProofIsRefused) {
    Logins logins(key(), limits, clock);
    auto wrong = login(hello(logins, ann));
    wrong.proof[0] ^= 1;
    EXPECT_EQ(logins.login(wrong, ann).code(), Errc::permission);
    EXPECT_EQ(logins.connections(), 0u);
}

TEST_F(LoginsTest, AChallengeCannotBeMadeUp) {
    Logins logins(key(), limits, clock);
    const auto good = login(hello(logins, ann));
    auto in = good;
    in.challenge.tag[0] ^= 1;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.challenge.issued_us += 1;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.challenge.nonce[0] ^= 1;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::timed_out);
    in = good;
    in.nonce[0] ^= 1;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::timed_out);
    Logins other(key(), limits, clock);
    EXPECT_EQ(other.login(good, ann).code(), Errc::timed_out) << "another server's, or of one that was started again";
    EXPECT_TRUE(logins.login(good, ann).ok());
}

TEST_F(LoginsTest, AChallengeIsForItsConnectionAndForAWhile) {
    Logins logins(key(), limits, clock);
    const auto first = login(hello(logins, ann));
    EXPECT_EQ(logins.login(first, bob).code(), Errc::timed_out) << "whoever saw it on the wire";
    EXPECT_TRUE(logins.login(first, ann).ok());
    const auto second = login(hello(logins, bob));
    clock.now += Logins::challenge_us;
    EXPECT_EQ(logins.login(second, bob).code(), Errc::timed_out);
}

TEST_F(LoginsTest, AConnectionHasOneSession) {
    Logins logins(key(), limits, clock);
    const auto in = login(hello(logins, ann));
    const auto token = logins.login(in, ann)->token;
    EXPECT_EQ(logins.login(in, ann).code(), Errc::overloaded) << "a login that is sent again";
    EXPECT_EQ(logins.login(login(hello(logins, ann)), ann).code(), Errc::overloaded);
    logins.end(*logins.find(token, ann).value());
    EXPECT_NE(token_of(logins, ann), token);
}

// Repeating a login after its session has ended opens another session, in which old signatures are invalid.
TEST_F(LoginsTest, ASecondLoginWithAChallengeHasAnotherSecret) {
    Logins logins(key(), limits, clock);
    const auto greeted = hello(logins, ann);
    const auto token = logins.login(login(greeted), ann)->token;
    Seals client(token, key().session_secret(nonce, greeted.challenge.nonce, token));
    HoldIn hold;
    client.stamp(hold);
    logins.end(*logins.find(token, ann).value());
    const auto next = logins.login(login(greeted), ann)->token;
    EXPECT_EQ(logins.find(token, ann).code(), Errc::peer_lost);
    const auto session = logins.find(next, ann).value();
    EXPECT_EQ(session->seals.check(hold).code(), Errc::permission);
    hold.seal.token = next;
    EXPECT_EQ(session->seals.check(hold).code(), Errc::permission);
}

TEST_F(LoginsTest, ATokenIsForItsConnection) {
    Logins logins(std::nullopt, limits, clock);
    const auto token = token_of(logins, ann);
    EXPECT_EQ(logins.hold(token, bob).code(), Errc::peer_lost);
    EXPECT_TRUE(logins.find(token, ann).ok()) << "the hold call may come later than others";
    ASSERT_TRUE(logins.hold(token, ann).ok());
    EXPECT_EQ(logins.hold(token, ann).code(), Errc::busy);
    EXPECT_EQ(logins.find(token, bob).code(), Errc::peer_lost);
    EXPECT_EQ(logins.find({token.high, token.low + 1}, ann).code(), Errc::peer_lost);
    logins.end(*logins.find(token, ann).value());
    EXPECT_EQ(logins.find(token, ann).code(), Errc::peer_lost);
}

TEST_F(LoginsTest, AnotherVersionIsTold) {
    Logins logins(std::nullopt, limits, clock);
    for (const std::uint32_t version : {protocol_version - 1, protocol_version + 1}) {
        const auto greeted = logins.hello({version, nonce}, ann);
        ASSERT_EQ(greeted.code(), Errc::unsupported) << version;
        EXPECT_NE(greeted.error().message().find("use the same release"), std::string::npos) << "what to do";
    }
}

// A stranger makes up any number of identities, and none of them logs in.
TEST_F(LoginsTest, HellosOfOthersShutNobodyOut) {
    Logins logins(key(), limits, clock);
    const auto early = hello(logins, bob);
    for (std::size_t i = 0; i < 20'000; ++i)
        ASSERT_TRUE(logins.hello({protocol_version, nonce}, na::Addr::of_connection("tcp", 0, 0, 1000 + i, false)).ok())
            << i;
    for (std::size_t i = 0; i < 20'000; ++i) ASSERT_TRUE(logins.hello({protocol_version, nonce}, ann).ok()) << i;
    EXPECT_TRUE(logins.login(login(early), bob).ok());
    EXPECT_TRUE(logins.login(login(hello(logins, ann)), ann).ok());
}

TEST_F(LoginsTest, SessionsAreBounded) {
    Logins logins(std::nullopt, limits, clock);
    std::vector<na::Addr> clients;
    for (std::size_t i = 0; i < Logins::connections_max; ++i) {
        clients.push_back(na::Addr::of_connection("tcp", 0, 0, 1000 + i, false));
        ASSERT_TRUE(logins.login(login(hello(logins, clients.back())), clients.back()).ok());
    }
    EXPECT_EQ(logins.login(login(hello(logins, bob)), bob).code(), Errc::overloaded);
    clock.now += Logins::challenge_us;
    EXPECT_EQ(logins.expire().size(), Logins::connections_max) << "nobody holds them";
    EXPECT_TRUE(logins.login(login(hello(logins, bob)), bob).ok());
}

TEST_F(LoginsTest, SessionsThatNobodyHoldsAreForgotten) {
    Logins logins(std::nullopt, limits, clock);
    const auto kept = token_of(logins, ann);
    ASSERT_TRUE(logins.hold(kept, ann).ok());
    const auto lost = token_of(logins, bob);
    EXPECT_EQ(logins.connections(), 2u);
    clock.now += Logins::challenge_us;
    const auto late = logins.expire();
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late.front()->seals.token(), lost);
    EXPECT_EQ(logins.connections(), 1u);
    EXPECT_EQ(logins.hold(lost, bob).code(), Errc::peer_lost);
    EXPECT_TRUE(logins.find(kept, ann).ok());
}

// A session, and connections that join it.
struct JoiningTest : LoginsTest {
    Logins logins{key(), limits, clock};
    na::Addr first = from("10.0.0.5");
    Seals seals;

    static na::Addr from(const std::string& host) {
        return na::Addr::of_connection("tcp", 0, 0, 111, false, "tcp://" + host + ":4000");
    }
    void SetUp() override {
        const auto greeted = hello(logins, first);
        const Token token = logins.login(login(greeted), first)->token;
        seals = Seals(token, key().session_secret(nonce, greeted.challenge.nonce, token));
        ASSERT_TRUE(logins.hold(token, first).ok());
    }
    [[nodiscard]] JoinIn call_of(const na::Addr& connection) {
        JoinIn in{{}, nonce, hello(logins, connection).challenge};
        seals.stamp(in);
        return in;
    }
    [[nodiscard]] Errc join(const na::Addr& connection) { return logins.join(call_of(connection), connection).code(); }
};

TEST_F(JoiningTest, AConnectionThatHasJoinedHasTheSession) {
    const na::Addr second = from("10.0.0.5");
    ASSERT_EQ(join(second), Errc::ok);
    EXPECT_EQ(logins.find(seals.token(), second).value(), logins.find(seals.token(), first).value());
    unsigned sessions = 0;
    logins.for_each([&sessions](const Session&) { ++sessions; });
    EXPECT_EQ(sessions, 1u);
    logins.end(*logins.find(seals.token(), first).value());
    EXPECT_EQ(logins.find(seals.token(), second).code(), Errc::peer_lost);
    EXPECT_EQ(logins.connections(), 0u);
}

TEST_F(JoiningTest, AnotherClientDoesNotJoinWhateverItKnows) {
    EXPECT_EQ(join(from("10.0.0.6")), Errc::permission) << "another host";
    const na::Addr named = na::Addr::of_connection("tcps", 0, 0, 111, false, "tcps://10.0.0.5:1", {},
                                                   na::ProvenIdentity{na::ProvenIdentity::By::key, "ann"});
    EXPECT_EQ(join(named), Errc::permission) << "another identity";
    EXPECT_EQ(logins.connections(), 1u);
}

TEST_F(JoiningTest, AConnectionThatLeavesMakesRoom) {
    std::vector<na::Addr> others;
    while (others.size() + 1 < session_connections_max) {
        others.push_back(from("10.0.0.5"));
        ASSERT_EQ(join(others.back()), Errc::ok);
    }
    const na::Addr late = from("10.0.0.5");
    EXPECT_EQ(join(late), Errc::overloaded);
    logins.leave(*logins.find(seals.token(), first).value(), others.front());
    EXPECT_EQ(logins.find(seals.token(), others.front()).code(), Errc::peer_lost);
    EXPECT_EQ(join(late), Errc::ok);
    logins.leave(*logins.find(seals.token(), first).value(), first);
    EXPECT_TRUE(logins.find(seals.token(), first).ok()) << "the first one does not leave: its session ends";
}

// Its hold call may end after the client has logged in anew, over the same connections.
TEST_F(JoiningTest, AConnectionThatHasAnotherSessionByNowStays) {
    const na::Addr second = from("10.0.0.5");
    ASSERT_EQ(join(second), Errc::ok);
    const auto before = logins.find(seals.token(), first).value();
    logins.end(*before);
    SetUp();
    ASSERT_EQ(join(second), Errc::ok);
    logins.leave(*before, second);
    EXPECT_TRUE(logins.find(seals.token(), second).ok());
    EXPECT_EQ(logins.find(seals.token(), first).value()->connections, 2u);
}

TEST_F(JoiningTest, TheAnswerProvesTheSessionForThatConnection) {
    const na::Addr second = from("10.0.0.5");
    JoinIn in = call_of(second);
    const Proof proof = logins.join(in, second).value().proof;
    EXPECT_TRUE(seals.accepts_joined(proof, in));
    EXPECT_FALSE(seals.accepts_joined({}, in));
    EXPECT_FALSE(seals.accepts_joined(in.seal.mac, in)) << "what the client itself has sent";
    const Seals others(seals.token(), Secret(nonce));
    EXPECT_FALSE(others.accepts_joined(proof, in)) << "another secret";
    in.nonce = make_nonce();
    EXPECT_FALSE(seals.accepts_joined(proof, in)) << "another connection";
    const Seals keyless(seals.token(), std::nullopt);
    EXPECT_TRUE(keyless.accepts_joined(keyless.prove_joined(in), in)) << "without a key there is nothing to prove";
}

TEST_F(JoiningTest, AConnectionThatNobodyHoldsLeaves) {
    const na::Addr held = from("10.0.0.5");
    const na::Addr forgotten = from("10.0.0.5");
    ASSERT_EQ(join(held), Errc::ok);
    ASSERT_EQ(join(forgotten), Errc::ok);
    ASSERT_TRUE(logins.hold(seals.token(), held).ok());
    EXPECT_EQ(logins.hold(seals.token(), held).code(), Errc::busy);
    clock.now += Logins::challenge_us;
    EXPECT_TRUE(logins.expire().empty()) << "the session is held over the first one";
    EXPECT_EQ(logins.connections(), 2u);
    EXPECT_EQ(logins.find(seals.token(), held).value()->connections, 2u);
    EXPECT_EQ(logins.find(seals.token(), forgotten).code(), Errc::peer_lost);
}

TEST_F(JoiningTest, AChallengeIsForItsConnectionAndForAWhile) {
    const na::Addr second = from("10.0.0.5");
    const JoinIn in = call_of(second);
    EXPECT_EQ(logins.join(in, from("10.0.0.5")).code(), Errc::timed_out);
    clock.now += Logins::challenge_us;
    EXPECT_EQ(logins.join(in, second).code(), Errc::timed_out);
}

}  // namespace
}  // namespace cinnabar::files
