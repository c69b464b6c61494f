// SPDX-License-Identifier: BSD-3-Clause
// A server process dies or is suspended while a thousand calls wait for it. Each call ends once, with the right error,
// as soon as the failure can be detected.
#include "pending_calls.hpp"
#include "server_process.hpp"
#include "two_process.hpp"
#include "ways.hpp"

#include <gtest/gtest.h>

#include <csignal>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

using Clock = PendingCalls::Clock;

NodeOptions roomy() {
    NodeOptions options;
    options.transport.receive_slots = 4096;  // half of them are for pending replies
    options.progress_thread = false;
    return options;
}

class PeerDeath : public testing::TestWithParam<Way> {
  protected:
    explicit PeerDeath(const NodeOptions& options = roomy()) : client_(Node::open(GetParam().open, options).value()) {}
    void SetUp() override {
        if (GetParam().name == "ofi_shm") {
            GTEST_SKIP() << "libfabric's shm waits for ever for a lock that a stopped or killed process holds";
        }
    }

    // Returns once handlers of the server hold all calls.
    void hold_calls(Microseconds deadline) {
        calls_.make(client_, to_, calls_held, deadline);
        ASSERT_TRUE(drive_until(client_, [this] { return now_at_server().held == calls_held; }));
        ASSERT_EQ(calls_.pending(), std::size_t{calls_held});
    }
    // The server drops the canceled calls and serves as before.
    void goes_on_after_a_stop() {
        server_.signal(SIGCONT);
        EXPECT_EQ(client_.call(twice, to_, 3, 30s).wait().value(), 6);
        EXPECT_TRUE(drive_until(client_, [this] { return now_at_server().held == 0; }));
    }
    ServerLoad now_at_server() { return client_.call(load, to_, 30s).wait().value(); }

    ServerProcess server_{{GetParam().listen, "1100"}};
    PendingCalls calls_;
    Node client_;
    na::Addr to_ = client_.lookup(server_.address()).value();
};

CINNABAR_ON_EACH_WAY(PeerDeath);

TEST_P(PeerDeath, a_killed_server_ends_the_calls_that_it_held) {
    ASSERT_NO_FATAL_FAILURE(hold_calls(no_deadline));
    const auto killed = Clock::now();
    server_.signal(SIGKILL);
    calls_.expect_to_end(client_, Errc::peer_lost, killed, patience);
}

TEST_P(PeerDeath, a_stopped_server_ends_calls_by_their_deadline) {
    constexpr auto deadline = 4s;  // long enough for all calls to arrive
    ASSERT_NO_FATAL_FAILURE(hold_calls(deadline));
    server_.stop();
    const Clock::time_point made = calls_.each().back().made;
    calls_.expect_to_end(client_, Errc::timed_out, made, deadline + patience);
    constexpr auto soonest = deadline - 1us;  // the resolution of the clock
    for (const PendingCalls::Each& call : calls_.each()) ASSERT_GE(call.ended - call.made, soonest) << "too early";
    goes_on_after_a_stop();
}

// The kernel accepts the connection for the suspended process, which never answers on it.
TEST_P(PeerDeath, a_server_that_is_stopped_before_the_first_call_ends_it_by_its_deadline) {
    server_.stop();
    calls_.make(client_, to_, calls_held, 200ms);
    calls_.expect_to_end(client_, Errc::timed_out, Clock::now(), 200ms + patience);
    goes_on_after_a_stop();
}

// The server may be at any point of a copy.
TEST_P(PeerDeath, a_server_that_is_killed_while_it_pulls_ends_the_call) {
    std::vector<std::byte> bytes(8u << 20);
    const Region region = client_.expose(std::span<const std::byte>(bytes)).value();
    Future<void> call = client_.call(pull_again, to_, region, no_deadline).future();
    ASSERT_TRUE(drive_until(client_, [this] { return now_at_server().pulls > 3; }));
    const auto killed = Clock::now();
    server_.signal(SIGKILL);
    ASSERT_TRUE(call.wait_for(60s));
    EXPECT_EQ(call.get().code(), Errc::peer_lost);
    EXPECT_LE(Clock::now() - killed, patience);
}

TEST_P(PeerDeath, a_server_that_is_stopped_while_it_pulls_ends_the_call_by_its_deadline) {
    constexpr auto deadline = 3s;  // datagrams that are lost on a busy machine are sent again after a second
    std::vector<std::byte> bytes(2u << 20);
    const Region region = client_.expose(std::span<const std::byte>(bytes)).value();
    Future<void> call = client_.call(pull_again, to_, region, deadline).future();
    ASSERT_TRUE(drive_until(client_, [this] { return now_at_server().pulls > 0; }));
    const auto began = Clock::now();
    server_.stop();
    ASSERT_TRUE(call.wait_for(60s));
    EXPECT_EQ(call.get().code(), Errc::timed_out);
    EXPECT_LE(Clock::now() - began, deadline + patience);
    server_.signal(SIGCONT);
    // A fabric may end the session if the peer continues to access memory whose lease was revoked.
    EXPECT_TRUE(drive_until(client_, [this] {
        const auto now = client_.call(load, to_, 30s).wait();
        return now.ok() && now->pulling == 0;
    }));
}

class PeerSilence : public PeerDeath {
  protected:
    PeerSilence() : PeerDeath(attentive()) {}

  private:
    static NodeOptions attentive() {
        NodeOptions options = roomy();
        options.rpc.heartbeat = 1s;
        options.transport.connect_timeout = 1s;
        return options;
    }
};

CINNABAR_ON_EACH_WAY(PeerSilence);

TEST_P(PeerSilence, a_stopped_server_ends_calls_without_deadline_by_the_heartbeat) {
    ASSERT_NO_FATAL_FAILURE(hold_calls(no_deadline));
    const auto stopped = Clock::now();
    server_.stop();
    // The first heartbeat still finds recent traffic, the second sends a ping, and the third finds no answer.
    calls_.expect_to_end(client_, Errc::peer_lost, stopped, 3s + patience);
    goes_on_after_a_stop();
}

TEST_P(PeerSilence, a_server_that_does_not_say_hello_ends_calls_without_deadline) {
    server_.stop();
    calls_.make(client_, to_, calls_held, no_deadline);
    calls_.expect_to_end(client_, Errc::timed_out, Clock::now(), 1s + patience);
    goes_on_after_a_stop();
}

}  // namespace
}  // namespace cinnabar::test
