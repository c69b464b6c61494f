// SPDX-License-Identifier: BSD-3-Clause
// A peer that says that it has room for messages, and has none. It is made by hand; its device asks to be tried again
// for ever. On the kernel's software devices, as in the virtual machine of tests/vm.
#include "greeting.hpp"
#include "support/log_watch.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/na/context.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/plugins/verbs.hpp>

#include <gtest/gtest.h>
#include <rdma/rdma_cma.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <string>
#include <thread>

namespace cinnabar::verbs {
namespace {

const sockaddr* plain(const na::SocketAddress& address) { return address.get(); }

// Connects, from the other end of the cable, and posts no receive.
class NoSlots {
  public:
    NoSlots(const std::string& from, const std::string& to) {
        const auto source = na::resolve(na::Uri::parse(from).value(), na::Purpose::listen).value().front();
        const auto target = na::resolve(na::Uri::parse(to).value(), na::Purpose::dial).value().front();
        EXPECT_EQ(::rdma_create_id(nullptr, &id_, nullptr, RDMA_PS_TCP), 0);
        EXPECT_EQ(
            ::rdma_resolve_addr(id_, const_cast<sockaddr*>(plain(source)), const_cast<sockaddr*>(plain(target)), 2000),
            0);
        EXPECT_EQ(::rdma_resolve_route(id_, 2000), 0);
        ibv_qp_init_attr wanted{};
        wanted.qp_type = IBV_QPT_RC;
        wanted.cap = {1, 1, 1, 1, 0};
        EXPECT_EQ(::rdma_create_qp(id_, nullptr, &wanted), 0);
        // Returns with the answer, which the library gives while the test drives it.
        dial_ = std::thread([this] {
            Greeting greeting;
            greeting.hello.kind = na::HelloKind::dial;
            greeting.hello.incarnation = 77;
            greeting.hello.message_bytes_max = 4096;
            greeting.window = 10'000;
            const auto bytes = greeting.encode();
            rdma_conn_param parameters{};
            parameters.private_data = bytes.data();
            parameters.private_data_len = static_cast<std::uint8_t>(bytes.size());
            parameters.responder_resources = parameters.initiator_depth = 1;
            parameters.retry_count = 7;
            parameters.rnr_retry_count = 7;
            EXPECT_EQ(::rdma_connect(id_, &parameters), 0);
            connected = true;
        });
    }
    ~NoSlots() {
        dial_.join();
        (void)::rdma_disconnect(id_);
        ::rdma_destroy_qp(id_);
        (void)::rdma_destroy_id(id_);
    }
    std::atomic<bool> connected{false};

  private:
    rdma_cm_id* id_ = nullptr;
    std::thread dial_;
};

struct Message {
    na::Op op;
    bool done = false;
};

TEST(ReceiverNotReady, APeerWithoutSlotsIsLostThoughTheSendQueueIsFull) {
    if (!std::filesystem::exists("/sys/class/infiniband/rxe1")) GTEST_SKIP() << "there is no such device";
    support::LogWatch log;
    support::RecordingReceiver receiver;
    na::TransportOptions options;
    options.listen = true;
    options.keepalive = Microseconds{4'000'000};
    const auto transport = plugin_info.open(na::Uri::parse("verbs://10.81.0.1:0").value(), options).value();
    na::Transport* const only = transport.get();
    std::deque<Message> messages(300);  // more than the send queue holds; they outlive the context
    const auto context = na::Context::open({&only, 1}, {}, receiver).value();
    support::Pump pump({context.get()});
    NoSlots stranger("verbs://10.81.0.2:0", transport->endpoints().front());
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
