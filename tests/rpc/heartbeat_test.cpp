// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"

namespace cinnabar::rpc {
namespace {

constexpr Microseconds beat{20'000};

class HeartbeatTest : public RpcTest {
  protected:
    HeartbeatTest() {
        options_.heartbeat = beat;
        origin_transport_options_.connect_timeout = Microseconds{2'000'000};  // ThePeerMayComeBack waits for it
        log_.allow("counts as lost");
    }
};

// The target's process is suspended: its connection stays, but nothing more arrives.
TEST_P(HeartbeatTest, ASilentPeerIsLost) {
    serve_echo();
    Ending first;
    send("echo", "first", first);
    ASSERT_TRUE(until([&] { return first.count == 1; }));

    const TimeUs sent = origin_.context->now_us();
    Ending ending;
    send("echo", "second", ending, Microseconds{60'000'000});
    ASSERT_TRUE(pump_of({&origin_}).until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::peer_lost);
    EXPECT_GE(origin_.context->now_us() - sent, static_cast<TimeUs>(beat.count()));
}

TEST_P(HeartbeatTest, ASlowAnswerIsNoSilence) {
    Request* held = nullptr;
    serve("hold", [&](Request& request) { held = &request; });
    Ending ending;
    send("hold", "", ending);
    ASSERT_TRUE(until([&] { return held != nullptr; }));
    pump_of({&origin_, &target_}).run_for(beat * 10);
    EXPECT_EQ(ending.count, 0);
    held->respond(0);
    held->release();
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
}

// After a loss the next call dials again, and heartbeats are sent again.
TEST_P(HeartbeatTest, ThePeerMayComeBack) {
    if (network_.one_process()) GTEST_SKIP() << "one process cannot lose itself and come back";
    serve_echo();
    Ending lost;
    send("echo", "", lost);
    ASSERT_TRUE(pump_of({&origin_}).until([&] { return lost.count == 1; }));
    Ending ending;
    send("echo", "again", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
    EXPECT_EQ(ending.output, "again");
}

CINNABAR_OVER_ALL(HeartbeatTest);

}  // namespace
}  // namespace cinnabar::rpc
