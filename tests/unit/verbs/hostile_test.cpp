// SPDX-License-Identifier: BSD-3-Clause
// Whatever a peer does on its queue pair ends only its own session.
#include "greeting.hpp"
#include "lease_key.hpp"
#include "raw_peer.hpp"
#include "support/log_watch.hpp"
#include "support/pump.hpp"
#include "support/recording_receiver.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/plugins/verbs.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::verbs {
namespace {

// A context of the library at one end of the cable.
struct Side {
    Side(const std::string& at, bool listen, Microseconds keepalive) {
        na::TransportOptions options;
        options.listen = listen;
        options.keepalive = keepalive;
        transport = plugin_info.open(na::Uri::parse(at).value(), options).value();
        na::Transport* const only = transport.get();
        context = na::Context::open({&only, 1}, {}, receiver).value();
    }
    support::RecordingReceiver receiver;
    std::unique_ptr<na::Transport> transport;
    std::unique_ptr<na::Context> context;
};

class Neighbours : public testing::Test {
  protected:
    explicit Neighbours(std::chrono::seconds keepalive) : keepalive_(keepalive) {}
    void SetUp() override {
        if (!std::filesystem::exists("/sys/class/infiniband/rxe1")) GTEST_SKIP() << "there is no such device";
        server_ = std::make_unique<Side>("verbs://10.81.0.1:0", true, keepalive_);
        honest_ = std::make_unique<Side>("verbs://10.81.0.2:0", false, keepalive_);
        all_.add(*server_->context);
        all_.add(*honest_->context);
        peer_ = honest_->context->peer(na::Addr::parse(server_->transport->endpoints().front()).value()).value();
        peer_->acquire();
        send();
        ASSERT_TRUE(all_.until([this] { return arrived() == 1; }));
    }
    void TearDown() override {
        if (peer_) peer_->release();
    }
    // Sends a message from the honest client to the server.
    void send() {
        sent_ = false;
        op_.kind = na::OpKind::send_unexpected;
        op_.peer = peer_;
        op_.tag = honest_tag;
        op_.message = peer_->port().take_message();
        op_.message_bytes = 1000;  // not inline: completes once it has arrived
        op_.user = this;
        op_.complete = [](na::Op& op) noexcept {
            op.message->port->give_message(*op.message);
            static_cast<Neighbours*>(op.user)->sent_ = true;
        };
        ASSERT_EQ(honest_->context->post_owned(op_), Errc::ok);
    }
    [[nodiscard]] std::size_t arrived() const { return server_->receiver.count_tag(honest_tag); }
    [[nodiscard]] std::size_t lost() const { return server_->receiver.count(na::PeerEvent::lost); }
    [[nodiscard]] std::unique_ptr<RawPeer> stranger(std::uint32_t sends_max) {
        auto made =
            std::make_unique<RawPeer>("verbs://10.81.0.2:0", server_->transport->endpoints().front(), sends_max);
        const std::size_t connected = server_->receiver.count(na::PeerEvent::connected);
        EXPECT_TRUE(all_.until(
            [&] { return made->connected && server_->receiver.count(na::PeerEvent::connected) == connected + 1; }));
        return made;
    }
    // The honest client still has its session.
    void expect_honest_goes_on() {
        const std::size_t before = arrived();
        send();
        EXPECT_TRUE(all_.until([&] { return sent_ && arrived() == before + 1; }));
        EXPECT_EQ(honest_->receiver.count(na::PeerEvent::lost), 0u);
    }

    static constexpr na::Tag honest_tag = 4711;
    const Microseconds keepalive_;
    support::LogWatch log_;
    std::unique_ptr<Side> server_;
    std::unique_ptr<Side> honest_;
    support::Pump all_;
    na::Peer* peer_ = nullptr;
    na::Op op_;
    bool sent_ = false;
};

class SlotsOfAll : public Neighbours {
  protected:
    SlotsOfAll() : Neighbours(std::chrono::seconds(60)) {}  // longer than any peer is left alone in these tests
};

// The burst uses up the slots before the server has read any of it.
TEST_F(SlotsOfAll, ABurstEndsTheSessionOfItsSender) {
    constexpr unsigned many = 1000;
    const auto flooding = stranger(many);
    flooding->burst(many);
    support::Pump alone({honest_->context.get()});
    alone.run_for(std::chrono::milliseconds(200));
    send();
    // Devices with a limited number of retries would have given up after this time.
    alone.run_for(std::chrono::seconds(8));
    EXPECT_FALSE(sent_) << "the burst has left a slot";
    EXPECT_EQ(honest_->receiver.count(na::PeerEvent::lost), 0u);

    EXPECT_TRUE(all_.until([this] { return sent_ && arrived() == 2 && lost() == 1; }));
    EXPECT_EQ(server_->receiver.events.back().why, Errc::protocol);
    expect_honest_goes_on();
    EXPECT_EQ(lost(), 1u);
}

class WrongKey : public Neighbours {
  protected:
    WrongKey() : Neighbours(std::chrono::seconds(4)) {}  // some devices do not report the failure to the failed peer
    void lend() {
        const na::Segment segment{room_.data(), room_.size()};
        memory_ = server_->transport->register_memory({&segment, 1}, na::Access::read).value();
        lease_.memory = memory_.get();
        lease_.bytes = room_.size();
        lease_.access = na::Access::read;
        ASSERT_EQ(server_->transport->grant(lease_), Errc::ok);
        std::vector<std::byte> key(server_->transport->described_bytes(lease_));
        ByteWriter writer(key);
        server_->transport->describe(lease_, writer);
        ASSERT_EQ(find_address(key, 0, lease_.bytes, place_), Errc::ok);
    }
    void TearDown() override {
        if (lease_.granted()) {
            EXPECT_EQ(server_->transport->revoke(lease_), Errc::ok);
        }
        memory_.reset();
        Neighbours::TearDown();
    }
    // The device's result of a read of 8 bytes at that place.
    [[nodiscard]] ibv_wc_status read(RawPeer& peer, const RemoteAddress& place) {
        ibv_wc done{};
        peer.read(place.address, place.rkey);
        EXPECT_TRUE(all_.until([&] { return peer.poll(done); }));
        return done.status;
    }

    std::vector<std::byte> room_ = std::vector<std::byte>(4096);
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
    RemoteAddress place_;
};

TEST_F(WrongKey, EndsTheSessionOfItsSender) {
    ASSERT_NO_FATAL_FAILURE(lend());
    const RemoteAddress guesses[] = {{place_.address, place_.rkey ^ 1},  // the part in which keys of one index differ
                                     {place_.address, place_.rkey + 0x100},
                                     {place_.address + room_.size(), place_.rkey},
                                     {place_.address - 8, place_.rkey}};
    std::size_t ended = 0;
    for (const RemoteAddress& guess : guesses) {
        const auto guessing = stranger(1);
        EXPECT_EQ(read(*guessing, place_), IBV_WC_SUCCESS);
        EXPECT_EQ(lost(), ended);
        EXPECT_EQ(read(*guessing, guess), IBV_WC_REM_ACCESS_ERR);
        ++ended;
        EXPECT_TRUE(all_.until([&] { return lost() == ended; }));
        EXPECT_NE(read(*guessing, place_), IBV_WC_SUCCESS) << "it may guess again";
        expect_honest_goes_on();
    }
    EXPECT_EQ(lost(), ended);
}

}  // namespace
}  // namespace cinnabar::verbs
