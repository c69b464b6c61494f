// SPDX-License-Identifier: BSD-3-Clause
// A server process that dies or stands still while a thousand calls wait for it: each of them ends, once, with what
// became of the peer, and as soon as that can be known.
#include "pending_calls.hpp"
#include "server_process.hpp"
#include "two_process.hpp"

#include <gtest/gtest.h>

#include <csignal>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

using Clock = PendingCalls::Clock;

constexpr int calls_held = 1000;
constexpr auto patience = 5s;  // for what should take milliseconds, on a machine that is busy with other things

NodeOptions roomy() {
    NodeOptions options;
    options.transport.receive_slots = 4096;  // half of them are for replies that are owed
    return options;
}

class PeerDeath : public testing::Test {
  protected:
    explicit PeerDeath(const NodeOptions& options = roomy()) : client_(Node::open("tcp://", options).value()) {}

    // Returns when handlers of the server hold them all.
    void hold_calls(Microseconds deadline) {
        calls_.make(client_, to_, calls_held, deadline);
        ASSERT_TRUE(drive_until(client_, [this] { return now_at_server().held == calls_held; }));
        ASSERT_EQ(calls_.pending(), std::size_t{calls_held});
    }
    ServerLoad now_at_server() { return client_.call_sync(load, to_, 30s).value(); }

    ServerProcess server_{{"tcp://127.0.0.1:0", "1100"}};
    PendingCalls calls_;
    Node client_;
    na::Addr to_ = client_.lookup(server_.address()).value();
};

TEST_F(PeerDeath, a_killed_server_ends_the_calls_that_it_held) {
    ASSERT_NO_FATAL_FAILURE(hold_calls(no_deadline));
    const auto killed = Clock::now();
    server_.signal(SIGKILL);
    calls_.expect_to_end(client_, Errc::peer_lost, killed, patience);
}

}  // namespace
}  // namespace cinnabar::test
