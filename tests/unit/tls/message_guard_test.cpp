// SPDX-License-Identifier: BSD-3-Clause
// What a message guard opens: only what the other end of its own connection has sealed, for that place, and once.
#include "guards.hpp"
#include "support/folder.hpp"
#include "support/log_watch.hpp"
#include "support/patterns.hpp"
#include "support/test_key.hpp"

#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/session/message_guard.hpp>

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

namespace cinnabar::tls {
namespace {

using Kind = na::MessageGuard::Kind;
using Message = std::vector<std::byte>;
constexpr std::size_t trailer = na::MessageGuard::trailer_bytes;

std::shared_ptr<const TlsGuards> guards(std::uint64_t key_update_bytes) {
    na::TlsOptions options;
    options.key_file = support::test_key_file();
    return TlsGuards::make(options, {.key_update_bytes = key_update_bytes, .scheme = {"tcps", 56}}).value();
}

// Both ends of a TLS connection, with a message guard each.
class Pair {
  public:
    explicit Pair(std::uint64_t key_update_bytes = std::uint64_t{1} << 36) {
        const auto both = guards(key_update_bytes);
        std::array<int, 2> fds{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()), 0);
        dialler_ = na::Stream(UniqueFd(fds[0]));
        acceptor_ = na::Stream(UniqueFd(fds[1]));
        const na::Addr somewhere = na::Addr::parse("tcps://127.0.0.1:1").value();
        EXPECT_EQ(both->protect_dialled(dialler_, somewhere), Errc::ok);
        EXPECT_EQ(both->protect_accepted(acceptor_), Errc::ok);
        std::uint32_t events = 0;
        std::array<Errc, 2> states{Errc::again, Errc::again};
        for (int step = 0; step < 10; ++step) {
            if (states[0] == Errc::again) states[0] = dialler_.guard()->establish(events);
            if (states[1] == Errc::again) states[1] = acceptor_.guard()->establish(events);
        }
        EXPECT_EQ(states[0], Errc::ok);
        EXPECT_EQ(states[1], Errc::ok);
        here = dialler_.guard()->message_guard();
        there = acceptor_.guard()->message_guard();
    }

    std::unique_ptr<na::MessageGuard> here;
    std::unique_ptr<na::MessageGuard> there;

  private:
    na::Stream dialler_;  // outlive the message guards
    na::Stream acceptor_;
};

const std::array<std::byte, 8> head{std::byte{1}, std::byte{2}};

Message sealed(na::MessageGuard& by, std::size_t bytes, std::uint64_t seed, Kind kind = Kind::frame) {
    Message message(bytes + trailer);
    support::fill_pattern(Bytes(message).first(bytes), seed);
    EXPECT_TRUE(by.seal(kind, head, ConstBytes(message).first(bytes), message.data()));
    return message;
}
bool opens(na::MessageGuard& by, Message message, Kind kind = Kind::frame) {
    return by.open(kind, head, Bytes(message));
}
testing::AssertionResult opens_to(na::MessageGuard& by, Message message, std::uint64_t seed, Kind kind = Kind::frame) {
    if (!by.open(kind, head, Bytes(message))) return testing::AssertionFailure() << "it is not opened";
    return support::holds_pattern(ConstBytes(message).first(message.size() - trailer), seed);
}

// The upper bits of the number.
std::uint64_t epoch_of(const Message& message) { return ByteReader(ConstBytes(message).last(trailer)).u64() >> 48; }

class MessageGuard : public testing::Test {
  protected:
    support::LogWatch log_;
};

TEST_F(MessageGuard, WhatOneEndSealsTheOtherOpens) {
    Pair pair;
    for (const std::size_t bytes : {0u, 1u, 15u, 16u, 17u, 4096u, 1u << 20}) {
        for (const Kind kind : {Kind::frame, Kind::chunk}) {
            const Message one = sealed(*pair.here, bytes, bytes, kind);
            EXPECT_TRUE(opens_to(*pair.there, one, bytes, kind)) << bytes;
            EXPECT_TRUE(opens_to(*pair.here, sealed(*pair.there, bytes, 7, kind), 7, kind)) << bytes;
        }
    }
}

TEST_F(MessageGuard, NothingCanBeReadWithoutTheKeys) {
    Pair pair;
    Message plain(64);
    support::fill_pattern(plain, 3);
    const Message first = sealed(*pair.here, 64, 3);
    const Message second = sealed(*pair.here, 64, 3);
    for (std::size_t at = 0; at < 64; at += 8) {
        const auto part = plain.begin() + static_cast<std::ptrdiff_t>(at);
        EXPECT_EQ(std::search(first.begin(), first.end(), part, part + 8), first.end());
    }
    EXPECT_FALSE(std::equal(first.begin(), first.begin() + 16, second.begin())) << "equal texts look different";
}

TEST_F(MessageGuard, SealsFromOtherMemory) {
    Pair pair;
    Message plain(100);
    support::fill_pattern(plain, 9);
    const Message kept = plain;
    Message message(plain.size() + trailer);
    ASSERT_TRUE(pair.here->seal(Kind::frame, head, plain, message.data()));
    EXPECT_EQ(plain, kept);
    EXPECT_TRUE(opens_to(*pair.there, message, 9));
}

TEST_F(MessageGuard, AnyChangedBitIsNoticed) {
    Pair pair;
    const Message right = sealed(*pair.here, 40, 1);
    for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
        Message changed = right;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_FALSE(opens(*pair.there, changed)) << bit;
    }
    for (std::size_t bit = 0; bit < head.size() * 8; ++bit) {
        std::array<std::byte, 8> other = head;
        other[bit / 8] ^= std::byte{1} << (bit % 8);
        Message message = right;
        EXPECT_FALSE(pair.there->open(Kind::frame, other, Bytes(message))) << bit;
    }
    EXPECT_TRUE(opens_to(*pair.there, right, 1));
}

TEST_F(MessageGuard, ShorterAndLongerOnesAreNotOpened) {
    Pair pair;
    const Message right = sealed(*pair.here, 40, 1);
    for (std::size_t bytes = 0; bytes < right.size(); ++bytes) {
        EXPECT_FALSE(opens(*pair.there, Message(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(bytes))));
    }
    Message longer = right;
    longer.emplace_back();
    EXPECT_FALSE(opens(*pair.there, longer));
}

TEST_F(MessageGuard, OnlyTheOtherEndOfThisConnectionIsHeard) {
    Pair pair;
    Pair others;
    EXPECT_FALSE(opens(*pair.here, sealed(*pair.here, 40, 1))) << "its own message, sent back";
    EXPECT_FALSE(opens(*others.there, sealed(*pair.here, 40, 1))) << "of another connection with the same key";
    EXPECT_FALSE(opens(*pair.there, sealed(*pair.here, 40, 1), Kind::chunk)) << "a frame for a chunk";
    EXPECT_FALSE(opens(*pair.there, sealed(*pair.here, 40, 1, Kind::chunk))) << "a chunk for a frame";
}

TEST_F(MessageGuard, AFrameIsOpenedOnceAndChunksAgain) {
    Pair pair;
    const Message frame = sealed(*pair.here, 40, 1);
    EXPECT_TRUE(opens(*pair.there, frame));
    EXPECT_FALSE(opens(*pair.there, frame));
    const Message chunk = sealed(*pair.here, 40, 1, Kind::chunk);
    EXPECT_TRUE(opens(*pair.there, chunk, Kind::chunk));
    EXPECT_TRUE(opens(*pair.there, chunk, Kind::chunk));
}

TEST_F(MessageGuard, FramesMayOvertakeEachOther) {
    Pair pair;
    std::vector<Message> frames;
    for (std::uint64_t i = 0; i < 100; ++i) frames.push_back(sealed(*pair.here, 8, i));
    for (std::uint64_t i = 100; i-- > 0;) EXPECT_TRUE(opens_to(*pair.there, frames[i], i)) << i;
    for (const Message& frame : frames) EXPECT_FALSE(opens(*pair.there, frame));
}

TEST_F(MessageGuard, KeysChangeWithTheBytes) {
    constexpr std::uint64_t update = 1000;
    Pair pair(update);
    std::vector<Message> sent;
    for (std::uint64_t i = 0; i < 50; ++i) sent.push_back(sealed(*pair.here, 400, i));
    for (std::uint64_t i = 0; i < 50; ++i) EXPECT_EQ(epoch_of(sent[i]), i / 2) << "each key seals two of them";
    std::swap(sent[1], sent[2]);
    for (std::uint64_t i = 0; i < 50; ++i) {
        const std::uint64_t seed = i == 1 ? 2 : i == 2 ? 1 : i;
        EXPECT_TRUE(opens_to(*pair.there, sent[i], seed)) << i << ", also if the last one by the old key is late";
    }
    EXPECT_FALSE(opens(*pair.there, sent[40]));
    const Message big = sealed(*pair.here, 5 * update, 3, Kind::chunk);
    EXPECT_TRUE(opens_to(*pair.there, big, 3, Kind::chunk));
}

// A sender that has no room seals again, and may use up keys.
TEST_F(MessageGuard, KeysMayBeLeftOutAndOldOnesAreForgotten) {
    Pair pair(1000);
    std::vector<Message> sent;
    for (std::uint64_t i = 0; i < 10; ++i) sent.push_back(sealed(*pair.here, 800, i));
    EXPECT_EQ(epoch_of(sent[9]), 9u);
    EXPECT_TRUE(opens(*pair.there, sent[0]));
    EXPECT_TRUE(opens(*pair.there, sent[4]));
    EXPECT_TRUE(opens(*pair.there, sent[7]));
    EXPECT_TRUE(opens(*pair.there, sent[8]));
    EXPECT_FALSE(opens(*pair.there, sent[5])) << "its key is too old";
    EXPECT_TRUE(opens(*pair.there, sent[9]));
}

}  // namespace
}  // namespace cinnabar::tls
