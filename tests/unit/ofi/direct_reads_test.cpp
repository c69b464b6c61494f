// SPDX-License-Identifier: BSD-3-Clause
// Gets that the fabric carries out by itself: what is read is right however the memory is cut, leases are taken back
// while peers read, and what cannot be read so goes in messages.
#include "direct_reads.hpp"

#include "support/log_watch.hpp"
#include "support/network.hpp"
#include "support/pump.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/context.hpp>
#include <cinnabar/plugins/ofi.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <deque>
#include <string>
#include <vector>

namespace cinnabar::ofi {
namespace {

using support::NetworkKind;
using support::Node;

// How often a reader was told keys.
class KeysTold {
  public:
    KeysTold() {
        set_log_level(LogLevel::debug);
        set_log_sink(
            [](LogLevel, std::string_view line, void* user) {
                if (line.find("reads by itself") != std::string_view::npos) ++static_cast<KeysTold*>(user)->count;
            },
            this);
    }
    ~KeysTold() {
        set_log_sink(nullptr, nullptr);
        set_log_level(LogLevel::warning);
    }
    unsigned count = 0;
};

// What stays with the provider when a peer does not read, and not with the kernel, shall be most of it.
void set_socket_buffers(int bytes) {
    constexpr int fds_max = 1024;
    for (int fd = 0; fd < fds_max; ++fd) {
        for (const int side : {SO_SNDBUF, SO_RCVBUF}) (void)::setsockopt(fd, SOL_SOCKET, side, &bytes, sizeof bytes);
    }
}

class DirectReads;
struct Get {
    na::Op op;
    DirectReads* test = nullptr;
    std::size_t at = 0;
    bool done = false;
};

class DirectReads : public testing::TestWithParam<NetworkKind> {
  protected:
    static constexpr std::size_t part = 256 * 1024;
    static constexpr std::size_t lent_bytes = 24 * part;

    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        ASSERT_TRUE(registry_.add(plugin_info).ok());
        for (Node* node : {&reader_, &owner_}) reopen(*node, "?reads=fabric");
        for (std::size_t i = 0; i < there_.size(); ++i) there_[i] = static_cast<std::byte>(i * 7 / 3);
    }
    void reopen(Node& node, const std::string& query) {
        if (node.context) pump_.remove(*node.context);
        node.context.reset();
        na::TransportOptions options;
        options.listen = true;
        const std::string scheme = GetParam() == NetworkKind::ofi_net_reads ? "ofi+net" : "ofi+tcp;ofi_rxm";
        node.transport = registry_.open(scheme + "://127.0.0.1:0" + query, options).value();
        open(node);
    }
    void open(Node& node) {
        na::ContextOptions one;
        one.threads = Threads::one;
        na::Transport* const transport = node.transport.get();
        node.context = na::Context::open({&transport, 1}, one, node.receiver).value();
        pump_.add(*node.context);
    }
    // Cuts `bytes` into segments of about that size, and registers them.
    static std::unique_ptr<na::Memory> cut(Node& node, std::vector<std::byte>& bytes, std::size_t size,
                                           na::Access access) {
        std::vector<na::Segment> segments;
        for (std::size_t at = 0; at < bytes.size(); at += size) {
            segments.push_back({bytes.data() + at, std::min(size, bytes.size() - at)});
        }
        return node.transport->register_memory(segments, access).value();
    }
    void lend(std::size_t segment_bytes) {
        remote_ = cut(owner_, there_, segment_bytes, na::Access::read);
        lease_.memory = remote_.get();
        lease_.offset = offset;
        lease_.bytes = lent_bytes;
        lease_.access = na::Access::read;
        lease_.fenced.run = [](Work&) noexcept {};
        ASSERT_EQ(owner_.transport->grant(lease_), Errc::ok);
        key_.resize(owner_.transport->described_bytes(lease_));
        Writer writer(key_);
        owner_.transport->describe(lease_, writer);
    }
    Get& get(na::Memory& local, std::uint64_t at) { return get_from(local, at, at); }
    Get& get_from(na::Memory& local, std::uint64_t at, std::uint64_t remote_at) {
        Get& made = gets_.emplace_back();
        made.op.kind = na::OpKind::get;
        made.op.peer = reader_.context->peer(owner_.addr()).value();
        made.op.local = &local;
        made.op.local_offset = at;
        made.op.remote = {key_, lent_bytes + part};  // what the reader believes: the owner knows better
        made.op.remote_offset = remote_at;
        made.op.bytes = part;
        made.op.user = &made;
        made.test = this;
        made.at = at;
        made.op.complete = [](na::Op& self) noexcept {
            auto& get = *static_cast<Get*>(self.user);
            get.test->ended(get);
        };
        EXPECT_EQ(reader_.context->post_owned(made.op), Errc::ok);
        return made;
    }
    // All of what is lent, part by part, at once.
    void read_all(na::Memory& local) {
        for (std::size_t at = 0; at < lent_bytes; at += part) (void)get(local, at);
        EXPECT_TRUE(pump_.until([&] { return all_done(); }));
        for (const Get& each : gets_) EXPECT_EQ(each.op.result, Errc::ok) << to_string(each.op.result);
        EXPECT_TRUE(std::equal(here_.begin(), here_.begin() + lent_bytes, there_.begin() + offset));
    }
    // Lends and reads all of it, cut so, and takes it back; how often keys were told.
    unsigned told_for(std::size_t segment_there, std::size_t segment_here) {
        const KeysTold told;
        lend(segment_there);
        const auto local = cut(reader_, here_, segment_here, na::Access::read_write);
        read_all(*local);
        take_back_at_once();
        return told.count;
    }
    bool all_done() const {
        return std::all_of(gets_.begin(), gets_.end(), [](const Get& each) { return each.done; });
    }
    // Eight at any time, for as long as go_on_ says. Returns when those that go in messages, before keys were told, are
    // over.
    void read_without_a_pause(na::Memory& local) {
        const KeysTold told;
        local_ = &local;
        go_on_ = true;
        for (std::size_t i = 0; i < 8; ++i) (void)get(local, i * part);
        ASSERT_TRUE(pump_.until([&] { return told.count > 0; }));
        const std::size_t until = ended_ + 32;
        ASSERT_TRUE(pump_.until([&] { return ended_ > until; }));
    }
    void ended(Get& get) {
        get.done = true;
        ++ended_;
        refused_ += get.op.result == Errc::permission;
        if (go_on_ && get.op.result == Errc::ok) (void)this->get(*local_, get.at);
    }
    // When the reader has said what it still has to.
    void take_back_at_once() {
        for (int i = 0; i < 1000; ++i) (void)pump_.round();
        EXPECT_EQ(owner_.transport->revoke(lease_), Errc::ok) << "the reader has not closed what it read";
    }
    static constexpr std::size_t offset = 12345;

    support::Network network_{GetParam()};
    na::Registry registry_;
    support::Pump pump_;
    Node reader_;
    Node owner_;
    std::vector<std::byte> here_ = std::vector<std::byte>(lent_bytes);
    std::vector<std::byte> there_ = std::vector<std::byte>(lent_bytes + 2 * offset);
    std::unique_ptr<na::Memory> remote_;
    na::Lease lease_;
    std::vector<std::byte> key_;
    std::deque<Get> gets_;
    na::Memory* local_ = nullptr;
    bool go_on_ = false;
    std::size_t ended_ = 0;
    std::size_t refused_ = 0;
};
INSTANTIATE_TEST_SUITE_P(On, DirectReads, testing::Values(NetworkKind::ofi_tcp_rxm_reads, NetworkKind::ofi_net_reads),
                         [](const auto& param) { return std::string(support::to_string(param.param)); });

TEST_P(DirectReads, MemoryOfOnePiece) { EXPECT_GE(told_for(there_.size(), here_.size()), 1u); }

TEST_P(DirectReads, MemoryOfManyPiecesOnBothSides) { EXPECT_GE(told_for(700'001, 300'007), 1u); }

TEST_P(DirectReads, MoreHerePiecesThanTheProviderTakesGoByStaging) { EXPECT_GE(told_for(there_.size(), 5001), 1u); }

TEST_P(DirectReads, MorePiecesThereThanAnAnswerHoldsGoInMessages) { EXPECT_EQ(told_for(5001, here_.size()), 0u); }

// Both have to be asked.
TEST_P(DirectReads, AReaderThatIsNotAskedToTakesMessages) {
    reopen(reader_, "");
    EXPECT_EQ(told_for(there_.size(), here_.size()), 0u);
}

TEST_P(DirectReads, AnOwnerThatIsNotAskedToKeepsItsKeys) {
    reopen(owner_, "");
    EXPECT_EQ(told_for(there_.size(), here_.size()), 0u);
}

TEST_P(DirectReads, BeyondTheEndOfTheLeaseIsTooLarge) {
    const KeysTold told;
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    for (std::size_t at = 0; at < lent_bytes; at += part) (void)get(*local, at);
    ASSERT_TRUE(pump_.until([&] { return told.count > 0; }));
    EXPECT_FALSE(all_done());
    Get& beyond = get_from(*local, 0, lent_bytes - 1);
    ASSERT_TRUE(pump_.until([&] { return all_done(); }));
    EXPECT_EQ(beyond.op.result, Errc::too_large) << to_string(beyond.op.result);
    EXPECT_EQ(reader_.receiver.count(na::PeerEvent::lost), 0u);
    take_back_at_once();
}

TEST_P(DirectReads, ALeaseThatIsReadIsTakenBack) {
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    read_without_a_pause(*local);
    const Errc revoked = owner_.transport->revoke(lease_);
    ASSERT_TRUE(revoked == Errc::ok || revoked == Errc::again);
    ASSERT_TRUE(pump_.until([&] { return all_done() && !lease_.granted(); }));
    EXPECT_FALSE(lease_.fence_failed);
    EXPECT_GT(refused_, 0u);
    for (const Get& each : gets_) {
        EXPECT_TRUE(each.op.result == Errc::ok || each.op.result == Errc::permission) << to_string(each.op.result);
    }
    EXPECT_EQ(reader_.receiver.count(na::PeerEvent::lost), 0u);
}

TEST_P(DirectReads, ASessionThatEndsEndsThem) {
    const KeysTold told;
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    for (int round = 0; round < 4; ++round) {
        for (std::size_t at = 0; at < lent_bytes; at += part) (void)get(*local, at);
    }
    ASSERT_TRUE(pump_.until([&] { return told.count > 0; }));
    for (int i = 0; i < 20; ++i) (void)pump_.round();
    EXPECT_FALSE(all_done());
    na::Peer& peer = *reader_.context->peer(owner_.addr()).value();
    reader_.port().disconnect(peer);
    ASSERT_TRUE(pump_.until([&] { return all_done(); }));
    EXPECT_EQ(gets_.back().op.result, Errc::peer_lost);
    ASSERT_TRUE(pump_.until([&] { return owner_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_NE(owner_.transport->revoke(lease_), Errc::io);
    EXPECT_TRUE(pump_.until([&] { return !lease_.granted(); }));
}

// The reader's process stands still, and its session ends: what the provider has begun to answer is still to be sent
// from the lent memory. It may go when that has left.
TEST_P(DirectReads, WhatHadBegunHoldsTheLeaseBehindTheEndOfItsSession) {
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    read_without_a_pause(*local);
    set_socket_buffers(16 * 1024);
    for (int i = 0; i < 200; ++i) (void)pump_.round();
    support::Pump owner_alone{owner_.context.get()};
    for (int i = 0; i < 200; ++i) (void)owner_alone.round();
    owner_.port().disconnect(*owner_.receiver.events.front().peer);
    for (int i = 0; i < 20; ++i) (void)owner_alone.round();
    ASSERT_EQ(owner_.receiver.count(na::PeerEvent::lost), 1u);
    EXPECT_EQ(owner_.transport->revoke(lease_), Errc::again) << "the provider still sends from it";
    set_socket_buffers(1024 * 1024);
    go_on_ = false;
    EXPECT_TRUE(pump_.until([&] { return all_done() && !lease_.granted(); }));
    EXPECT_FALSE(lease_.fence_failed);
}

// The owner's provider answers reads before it sends messages.
TEST_P(DirectReads, AMessageOfTheOwnerPasses) {
    constexpr std::size_t gets_max = 64;
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    read_without_a_pause(*local);
    set_socket_buffers(16 * 1024);
    na::Op op;
    op.kind = na::OpKind::send_unexpected;
    op.peer = owner_.receiver.events.front().peer;
    op.message = owner_.port().take_message();
    op.message_bytes = 1000;
    bool sent = false;
    op.user = &sent;
    op.complete = [](na::Op& self) noexcept {
        self.message->port->give_message(*self.message);
        *static_cast<bool*>(self.user) = true;
    };
    ASSERT_EQ(owner_.context->post_owned(op), Errc::ok);
    const std::size_t before = ended_;
    EXPECT_TRUE(pump_.until([&] { return !reader_.receiver.messages.empty() || ended_ > before + gets_max; }));
    EXPECT_EQ(reader_.receiver.messages.size(), 1u) << "after " << ended_ - before << " gets";
    go_on_ = false;
    EXPECT_TRUE(pump_.until([&] { return all_done() && sent; }));
    take_back_at_once();
}

TEST_P(DirectReads, AContextClosesInTheMiddleOfThem) {
    for (Node* node : {&reader_, &owner_}) {
        SCOPED_TRACE(node == &reader_ ? "the reader" : "the owner");
        const KeysTold told;
        lend(there_.size());
        auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
        for (int round = 0; round < 4; ++round) {
            for (std::size_t at = 0; at < lent_bytes; at += part) (void)get(*local, at);
        }
        ASSERT_TRUE(pump_.until([&] { return told.count > 0; }));
        for (int i = 0; i < 3; ++i) (void)pump_.round();
        EXPECT_FALSE(all_done());
        pump_.remove(*node->context);
        node->context.reset();
        Node& other = node == &reader_ ? owner_ : reader_;
        ASSERT_TRUE(pump_.until([&] { return other.receiver.count(na::PeerEvent::lost) == 1; }));
        ASSERT_TRUE(pump_.until([&] { return all_done(); }));
        EXPECT_NE(owner_.transport->revoke(lease_), Errc::io);
        EXPECT_TRUE(pump_.until([&] { return !lease_.granted() || !owner_.context; }));
        EXPECT_FALSE(lease_.granted());
        gets_.clear();
        open(*node);
    }
}

// Of what it reads a part has come, and no more comes: libfabric 1.17 would crash with it.
TEST_P(DirectReads, AContextClosesWhileItsOwnerStandsStill) {
    lend(there_.size());
    const auto local = cut(reader_, here_, here_.size(), na::Access::read_write);
    read_without_a_pause(*local);
    set_socket_buffers(16 * 1024);
    for (int i = 0; i < 200; ++i) (void)pump_.round();
    support::Pump reader_alone{reader_.context.get()};
    for (int i = 0; i < 200; ++i) (void)reader_alone.round();
    EXPECT_FALSE(all_done());
    go_on_ = false;
    pump_.remove(*reader_.context);
    support::LogWatch log;
    log.allow("its endpoint stays open");
    reader_.context.reset();
    EXPECT_TRUE(all_done());
    EXPECT_EQ(log.allowed(), 1u);
    reader_.transport.reset();
    ASSERT_TRUE(pump_.until([&] { return owner_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_NE(owner_.transport->revoke(lease_), Errc::io);
    EXPECT_TRUE(pump_.until([&] { return !lease_.granted(); }));
}

TEST(Opening, PartsAreFoundAcrossBorders) {
    Opening opening;
    opening.parts[0] = {0, 100, {1000, 1}};
    opening.parts[1] = {100, 50, {0, 2}};
    opening.parts[2] = {150, 10, {5000, 3}};
    opening.parts_count = 3;
    Opening::Parts out;
    ASSERT_EQ(opening.gather(0, 100, out, 4), 1u);
    EXPECT_EQ(out[0].addr, 1000u);
    EXPECT_EQ(out[0].len, 100u);
    EXPECT_EQ(out[0].key, 1u);
    ASSERT_EQ(opening.gather(90, 65, out, 4), 3u);
    EXPECT_EQ(out[0].addr, 1090u);
    EXPECT_EQ(out[0].len, 10u);
    EXPECT_EQ(out[1].addr, 0u);
    EXPECT_EQ(out[1].len, 50u);
    EXPECT_EQ(out[2].addr, 5000u);
    EXPECT_EQ(out[2].len, 5u);
    ASSERT_EQ(opening.gather(159, 1, out, 4), 1u);
    EXPECT_EQ(out[0].addr, 5009u);
    EXPECT_EQ(opening.gather(90, 65, out, 2), 0u);
    EXPECT_EQ(opening.gather(159, 2, out, 4), 0u);
    EXPECT_EQ(opening.gather(160, 1, out, 4), 0u);
    EXPECT_EQ(opening.gather(~std::uint64_t{0}, 1, out, 4), 0u);
    EXPECT_EQ(Opening().gather(0, 1, out, 4), 0u);
}

}  // namespace
}  // namespace cinnabar::ofi
