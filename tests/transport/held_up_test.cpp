// SPDX-License-Identifier: BSD-3-Clause
// A process makes no progress for longer than the hello_timeout. Then it accepts the connections that came meanwhile.
#include "contract.hpp"

#include <cinnabar/base/clock.hpp>

namespace cinnabar::contract {

class HeldUp : public ContractTest {};
CINNABAR_CONTRACT(HeldUp);

TEST_P(HeldUp, ConnectionsThatCameMeanwhileAreAccepted) {
    constexpr Microseconds silent_max{250'000};  // a loaded machine takes its time for a TLS handshake
    na::TransportOptions impatient = listening();
    impatient.hello_timeout = silent_max;
    Node& a = make_node("a");
    Node& b = make_node("b", impatient);
    Node& c = make_node("c");
    na::Peer* there = nullptr;
    na::Peer* back = nullptr;
    connect(a, b, there, back);
    bool held_up = false;
    // During a round.
    b.receiver.on_arrival = [&](na::Arrival&) {
        if (std::exchange(held_up, true)) return;
        const TimeUs until = steady_clock().now_us() + 2 * static_cast<TimeUs>(silent_max.count());
        while (steady_clock().now_us() < until) continue;
    };
    pump_.remove(*b.context);
    (void)send(a, *there, 1, 64);
    TestOp& incoming = send(c, peer_of(c, b), 2, 64);
    for (int i = 0; i < 200; ++i) (void)pump_.round();
    pump_.add(*b.context);
    ASSERT_TRUE(run_until([&] { return incoming.done() && b.receiver.count_tag(1) == 1; }));
    EXPECT_TRUE(held_up);
    EXPECT_EQ(incoming.result, Errc::ok) << to_string(incoming.result);
    EXPECT_TRUE(run_until([&] { return b.receiver.count_tag(2) == 1; }));
}

}  // namespace cinnabar::contract
