// SPDX-License-Identifier: BSD-3-Clause
// A peer that announces a window but has no receive slots. Messages to it are retried for ever.
#include "raw_peer.hpp"
#include "support/log_watch.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/plugins/verbs.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <filesystem>

namespace cinnabar::verbs {
namespace {

struct Message {
    na::Op op;
    bool done = false;
};

TEST(ReceiverNotReady, APeerWithoutSlotsIsLostEvenIfTheSendQueueIsFull) {
    if (!std::filesystem::exists("/sys/class/infiniband/rxe1")) GTEST_SKIP() << "there is no such device";
    support::LogWatch log;
    support::RecordingReceiver receiver;
    na::TransportOptions options;
    options.listen = true;
    options.keepalive = Microseconds{4'000'000};
    const auto transport = plugin_info.open(na::Uri::parse("verbs://10.81.0.1:0").value(), options).value();
    na::Transport* const only = transport.get();
    std::deque<Message> messages(300);  // more than the send queue holds
    const auto context = na::Context::open({&only, 1}, {}, receiver).value();
    support::Pump pump({context.get()});
    RawPeer stranger("verbs://10.81.0.2:0", transport->endpoints().front());
    ASSERT_TRUE(pump.until([&] { return stranger.connected && receiver.count(na::PeerEvent::connected) == 1; }));
    na::Peer& peer = *receiver.events.front().peer;
    for (Message& message : messages) {
        message.op.kind = na::OpKind::send_unexpected;
        message.op.peer = &peer;
        message.op.message = peer.port().take_message();
        message.op.message_bytes = 1000;
        message.op.user = &message;
        message.op.complete = [](na::Op& op) noexcept {
            static_cast<Message*>(op.user)->done = true;
            op.message->port->give_message(*op.message);
        };
        ASSERT_EQ(context->post_owned(message.op), Errc::ok);
    }
    EXPECT_TRUE(pump.until([&] { return receiver.count(na::PeerEvent::lost) == 1; }, std::chrono::seconds(20)));
    if (receiver.events.size() > 1) {
        EXPECT_EQ(receiver.events.back().why, Errc::peer_lost);
    }
}

}  // namespace
}  // namespace cinnabar::verbs
