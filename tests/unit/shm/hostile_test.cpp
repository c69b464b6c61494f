// SPDX-License-Identifier: BSD-3-Clause
// What a correct peer never does ends the sender's session, and no other session is affected.
#include "raw_peer.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr std::uint32_t get_bytes = 32;  // size of the body of a request

class Hostile : public ShmTest {
  protected:
    Hostile() { log_.allow("malformed record"); }
    ~Hostile() override {
        // The next peer is served.
        RawPeer next;
        next.hello.incarnation = 4712;
        receiver_.events.clear();
        receiver_.messages.clear();
        connect(next);
        if (HasFatalFailure()) return;
        const std::array<std::byte, 8> payload{};
        next.write({RecordKind::unexpected, 0, 0, 8, 77}, payload);
        EXPECT_TRUE(until([this] { return receiver_.count_tag(77) == 1; }));
    }
    void expect_the_end(const std::function<void(RawPeer&)>& bad) {
        RawPeer peer;
        connect(peer);
        if (HasFatalFailure()) return;
        bad(peer);
        ASSERT_TRUE(until([this] { return lost() == 1; }));
        EXPECT_EQ(receiver_.events.back().why, Errc::protocol);
        EXPECT_TRUE(receiver_.messages.empty());
    }
    static void set_word(RawPeer& peer, std::uint64_t word) {
        std::memcpy(peer.outgoing_ring.base() + ring_header_bytes, &word, sizeof word);
    }
};

TEST_F(Hostile, a_length_over_the_limit) {
    expect_the_end(
        [](RawPeer& peer) { set_word(peer, std::uint64_t{1} << 56 | std::uint64_t{2} << 32 | 0xfff0'0000); });
}

TEST_F(Hostile, a_message_over_the_limit_of_messages) {
    expect_the_end([this](RawPeer& peer) {
        const auto over = static_cast<std::uint32_t>(transport_->limits().message_bytes_max + 1);
        if (over <= peer.answer.terms.record_bytes_max) return peer.write({RecordKind::unexpected, 0, 0, over, 1});
        set_word(peer, std::uint64_t{1} << 56 | std::uint64_t{2} << 32 | over);
    });
}

TEST_F(Hostile, kinds_that_are_unknown) {
    expect_the_end([](RawPeer& peer) { peer.write({static_cast<RecordKind>(99), 0, 0, 0, 1}); });
}

TEST_F(Hostile, flags_and_status_of_other_kinds) {
    expect_the_end([](RawPeer& peer) { peer.write({RecordKind::expected, 1, 0, 0, 1}); });
}

TEST_F(Hostile, a_truncated_body) {
    expect_the_end([](RawPeer& peer) { peer.write({RecordKind::put, 0, 0, 7, 1}); });
}

TEST_F(Hostile, unsolicited_answers_are_ignored) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(connect(peer));
    const std::array<std::byte, 8> payload{};
    peer.write({RecordKind::put_done, 0, 0, 0, 0x1'0000'0000});
    peer.write({RecordKind::get_data, 0, 0, 8, ~std::uint64_t{0}}, payload);
    peer.write({RecordKind::atomic_done, 0, 14, 8, 5}, payload);
    peer.write({RecordKind::stop, 0, 0, 0, 9});
    peer.write({RecordKind::unexpected, 0, 0, 8, 5}, payload);
    ASSERT_TRUE(until([this] { return receiver_.count_tag(5) == 1; }));
    EXPECT_EQ(lost(), 0u);
}

TEST_F(Hostile, an_invalid_position_of_the_reader) {
    expect_the_end([this](RawPeer& peer) {
        peer.reader.header().read.store(1u << 20);
        // The position is checked when there is little room.
        const std::array<std::byte, get_bytes> get{};
        for (unsigned i = 0; i < 20'000 && lost() == 0; ++i) {
            if (!peer.writer.reserve(get_bytes)) peer.ring_bell();
            if (peer.writer.reserve(get_bytes)) peer.write({RecordKind::get, 0, 0, get_bytes, i}, get);
            (void)pump_.round();
        }
    });
}

TEST_F(Hostile, a_partial_record_of_a_dead_peer) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(connect(peer));
    const std::array<std::byte, 8> payload{};
    peer.write({RecordKind::unexpected, 0, 0, 8, 5}, payload);
    std::byte* half = peer.writer.reserve(4000);
    ASSERT_NE(half, nullptr);
    std::memset(half, 0xff, 4000);
    peer.socket.reset();
    ASSERT_TRUE(until([this] { return lost() == 1; }));
    EXPECT_EQ(receiver_.events.back().why, Errc::peer_lost);
    EXPECT_EQ(receiver_.count_tag(5), 1u) << "what was written before the end counts";
    EXPECT_EQ(receiver_.messages.size(), 1u);
}

TEST_F(Hostile, a_segment_that_could_shrink) {
    RawPeer peer;
    peer.ring_fd.reset(::memfd_create("raw", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(peer.ring_fd.get(), ring_header_bytes + ring_bytes_min), 0);
    ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    EXPECT_EQ(answer_to(peer), Errc::protocol);
}

TEST_F(Hostile, a_segment_of_another_size) {
    RawPeer peer;
    peer.terms.ring_bytes = 2 * ring_bytes_min;
    ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    EXPECT_EQ(answer_to(peer), Errc::protocol);
}

TEST_F(Hostile, a_bell_that_could_block) {
    RawPeer peer;
    peer.bell_fd.reset(::eventfd(0, EFD_CLOEXEC));
    ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    EXPECT_EQ(answer_to(peer), Errc::protocol);
}

TEST_F(Hostile, a_greeting_without_descriptors_or_malformed) {
    {
        RawPeer peer;
        ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
        ASSERT_TRUE(send_greeting(peer.socket.get(), peer.hello, peer.terms, nullptr));
        EXPECT_EQ(answer_to(peer), Errc::peer_lost);
    }
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(peer.dial(path()));
    ASSERT_EQ(::send(peer.socket.get(), "GET / HTTP/1.1", 14, MSG_NOSIGNAL), 14);
    EXPECT_EQ(answer_to(peer), Errc::peer_lost);
}

}  // namespace
}  // namespace cinnabar::shm
