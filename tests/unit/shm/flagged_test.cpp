// SPDX-License-Identifier: BSD-3-Clause
// A context with many sessions looks at the rings whose flag is raised. Nothing is lost when it begins to sleep, and
// whoever lowers the flags of others delays them by some rounds only.
#include "flags.hpp"
#include "raw_peer.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::shm {
namespace {

constexpr unsigned crowd = 12;  // more than a context looks at in every round

class Flagged : public ShmTest {
  protected:
    void SetUp() override {
        for (unsigned i = 0; i < crowd; ++i) {
            RawPeer& peer = *peers_.emplace_back(std::make_unique<RawPeer>());
            peer.hello.incarnation = 5000 + i;
            ASSERT_NO_FATAL_FAILURE(connect(peer));
            ASSERT_NE(peer.answer.terms.flag, 0u);
            ASSERT_EQ(flags_.emplace_back().attach(peer.answer.fds.flags.get(), peer.answer.terms.flag), Errc::ok);
        }
        rounds(200);  // more than those that were hot at first remain so
        for (const auto& peer : peers_) ASSERT_EQ(asks_for(*peer), flag);
    }
    void rounds(unsigned count) {
        for (unsigned i = 0; i < count; ++i) (void)context_->progress(Microseconds(0));
    }
    void send(RawPeer& peer, std::uint64_t tag) {
        const std::array<std::byte, 8> payload{};
        peer.write({RecordKind::unexpected, 0, 0, payload.size(), tag}, payload);
    }

    // What the number in the ring asks the peer for.
    static constexpr unsigned polled = 4;
    static constexpr unsigned socket = 0;
    static constexpr unsigned flag = 2;
    [[nodiscard]] static unsigned asks_for(RawPeer& peer) {
        const std::uint64_t armed = peer.writer.header().armed.load();
        return armed == 0 ? polled : static_cast<unsigned>(armed % 4);
    }

    std::vector<std::unique_ptr<RawPeer>> peers_;
    std::vector<PeerFlag> flags_;  // of the peers
};

TEST_F(Flagged, is_read_when_its_flag_is_raised) {
    for (unsigned i = 0; i < crowd; ++i) {
        send(*peers_[i], 100 + i);
        flags_[i].raise();
        rounds(1);
        EXPECT_EQ(receiver_.count_tag(100 + i), 1u);
        EXPECT_EQ(asks_for(*peers_[i]), flag);
    }
}

TEST_F(Flagged, with_more_records_than_are_read_at_once) {
    for (unsigned i = 0; i < 200; ++i) send(*peers_[3], 5);
    flags_[3].raise();
    rounds(8);
    EXPECT_EQ(receiver_.count_tag(5), 200u);
}

TEST_F(Flagged, is_hot_while_it_is_busy) {
    for (unsigned i = 0; i < 2; ++i) {
        send(*peers_[7], i);
        flags_[7].raise();
        rounds(1);
    }
    rounds(1);
    EXPECT_EQ(asks_for(*peers_[7]), polled);
    send(*peers_[7], 2);
    rounds(1);
    EXPECT_EQ(receiver_.messages.size(), 3u);
    rounds(100);
    EXPECT_EQ(asks_for(*peers_[7]), flag);
}

// Another process of the user lowers the flag before it is seen, again and again.
TEST_F(Flagged, whose_flag_others_lower_is_read_after_four_rounds_for_each) {
    for (unsigned i = 0; i < crowd; ++i) send(*peers_[i], 100 + i);
    rounds(4 * crowd);
    for (unsigned i = 0; i < crowd; ++i) EXPECT_EQ(receiver_.count_tag(100 + i), 1u) << i;
}

TEST_F(Flagged, whose_flag_others_lower_is_read_before_the_context_sleeps) {
    ASSERT_TRUE(until([this] { return context_->prepare_wait(); }));
    peers_[3]->ring_bell();  // one is flagged again, and the others are cold
    ASSERT_TRUE(until([this] { return asks_for(*peers_[3]) == flag; }));
    send(*peers_[3], 77);
    Segment all;
    ASSERT_EQ(Segment::attach(peers_[0]->answer.fds.flags.get(), Flags::bytes, all), Errc::ok);
    for (unsigned i = 0; i < 3; ++i) {
        EXPECT_FALSE(context_->prepare_wait());
        detail::groups_at(all.base()).store(0);
        detail::group_at(all.base(), 0).store(0);
    }
    rounds(4);
    EXPECT_EQ(receiver_.count_tag(77), 1u);
}

TEST_F(Flagged, is_woken_by_its_socket) {
    ASSERT_TRUE(until([this] { return context_->prepare_wait(); }));
    for (unsigned i = 0; i < crowd; ++i) {
        ASSERT_EQ(asks_for(*peers_[i]), socket);
        send(*peers_[i], 100 + i);
        peers_[i]->ring_bell();
        ASSERT_TRUE(until([&] { return receiver_.count_tag(100 + i) == 1; }));
        EXPECT_EQ(asks_for(*peers_[i]), flag);
    }
}

TEST_F(Flagged, beside_one_that_raises_every_flag_is_read) {
    Segment all;
    ASSERT_EQ(Segment::attach(peers_[0]->answer.fds.flags.get(), Flags::bytes, all), Errc::ok);
    send(*peers_[9], 77);
    unsigned looks = 0;
    for (; looks < Flags::groups_max && receiver_.count_tag(77) == 0; ++looks) {
        for (std::uint32_t i = 0; i < Flags::count_max; ++i) detail::raise_flag(all.base(), i);
        rounds(1);
    }
    EXPECT_EQ(receiver_.count_tag(77), 1u);
    EXPECT_EQ(lost(), 0u);
}

TEST_F(Flagged, that_ends_leaves_its_flag_to_the_next) {
    const std::uint32_t term = peers_[5]->answer.terms.flag;
    peers_[5]->socket.reset();
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    flags_[5].raise();  // its process still has the memory
    rounds(2);
    RawPeer next;
    next.hello.incarnation = 6000;
    ASSERT_NO_FATAL_FAILURE(connect(next));
    EXPECT_EQ(next.answer.terms.flag, term);
    send(next, 77);
    flags_[5].raise();
    ASSERT_TRUE(until([this] { return receiver_.count_tag(77) == 1; }));
}

// A context that does not listen, which sends one message after the other.
class Sender {
  public:
    Sender() {
        transport_ = plugin_info.open(na::Uri::parse("shm://").value(), {}).value();
        na::Transport* raw = transport_.get();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        context_ = na::Context::open({&raw, 1}, one, receiver_).value();
        pump_.add(*context_);
        const na::Context::Ownership own(*context_);
        server_ = context_->peer(na::Addr::parse("shm://server").value()).value();
        server_->acquire();
    }
    ~Sender() {
        server_->release();
        context_->close();
    }
    // Sends a message and is driven until `done`.
    [[nodiscard]] bool send_until(const std::function<bool()>& done) {
        op_ = std::make_unique<na::Op>();
        op_->kind = na::OpKind::send_unexpected;
        op_->peer = server_;
        op_->message = context_->ports().front()->take_message();
        op_->message_bytes = 8;
        op_->user = this;
        op_->complete = [](na::Op& op) noexcept {
            op.message->port->give_message(*op.message);
            static_cast<Sender*>(op.user)->sent_ = true;
        };
        sent_ = false;
        if (!op_->message || context_->post(*op_) != Errc::ok) return false;
        return pump_.until([&] { return sent_ && done(); }, std::chrono::seconds(10));
    }

  private:
    std::unique_ptr<na::Transport> transport_;
    support::RecordingReceiver receiver_;
    std::unique_ptr<na::Context> context_;
    support::Pump pump_;
    na::Peer* server_ = nullptr;
    std::unique_ptr<na::Op> op_;
    bool sent_ = false;
};

class Crowd : public ShmTest {};

// The server polls, falls asleep and is woken all the time, while one of its clients after the other sends a message.
TEST_F(Crowd, in_turn_loses_no_message) {
    constexpr unsigned turns = 50;
    std::atomic<unsigned> came{0};
    std::atomic<bool> stopped{false};
    receiver_.record = false;
    receiver_.on_arrival = [&](na::Arrival&) { came.fetch_add(1); };
    std::thread clients([&] {
        std::vector<std::unique_ptr<Sender>> senders;
        for (unsigned i = 0; i < crowd; ++i) senders.push_back(std::make_unique<Sender>());
        bool all = true;
        for (unsigned i = 0; i < turns * crowd && all; ++i) {
            all = senders[i % crowd]->send_until([&] { return came.load() > i; });
        }
        EXPECT_TRUE(all) << "after " << came.load();
        stopped.store(true);
    });
    while (came.load() < turns * crowd && !stopped.load()) (void)context_->progress(Microseconds(20'000'000));
    clients.join();
    EXPECT_EQ(came.load(), turns * crowd);
}

}  // namespace
}  // namespace cinnabar::shm
