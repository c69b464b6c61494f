// SPDX-License-Identifier: BSD-3-Clause
// Two contexts that dial each other at the same time have one session per dial, and lose no message.
#include "fixture.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>

namespace cinnabar::tcp {
namespace {

using Simultaneous = TcpTest;

// Each dials the other by address, without an incarnation.
TEST_F(Simultaneous, EachDialHasItsSessionAndNoMessageIsLost) {
    Random random(7);
    for (int round = 0; round < 200; ++round) {
        Process& a = open();
        Process& b = open();
        na::Peer& to_b = peer(a, b);
        na::Peer& to_a = peer(b, a);
        constexpr na::Tag count = 5;
        for (na::Tag tag = 1; tag <= count; ++tag) {
            (void)send(a, to_b, tag);
            (void)send(b, to_a, tag);
            // Varies the time between the two dials.
            if (tag == 1) {
                for (std::uint64_t i = random.below(4); i > 0; --i) (void)a.context->progress(Microseconds(0));
                for (std::uint64_t i = random.below(4); i > 0; --i) (void)b.context->progress(Microseconds(0));
            }
        }
        ASSERT_TRUE(until([&] { return a.receiver.messages.size() == count && b.receiver.messages.size() == count; }))
            << "round " << round << ": " << a.receiver.messages.size() << " and " << b.receiver.messages.size();
        for (Process* one : {&a, &b}) {
            EXPECT_EQ(one->receiver.count(na::PeerEvent::lost), 0u) << "round " << round;
            for (na::Tag tag = 1; tag <= count; ++tag) {
                EXPECT_EQ(one->receiver.messages[tag - 1].tag, tag) << "in order, once";
            }
        }
        EXPECT_EQ(a.receiver.count(na::PeerEvent::connected), 2u) << "round " << round;
        EXPECT_EQ(b.receiver.count(na::PeerEvent::connected), 2u) << "round " << round;
        EXPECT_NE(a.receiver.messages.front().source, &to_b);
        EXPECT_NE(b.receiver.messages.front().source, &to_a);
        close(a);
        close(b);
    }
}

TEST_F(Simultaneous, ContextsOfOneProcessConnectToo) {
    for (int round = 0; round < 30; ++round) {
        Process& a = open();
        Process& b = open_sibling(a, 1);
        na::Peer& to_b = peer(a, a.endpoint() + "?context=1");
        na::Peer& to_a = peer(b, a.endpoint());
        (void)send(a, to_b, 1);
        (void)send(b, to_a, 2);
        ASSERT_TRUE(until([&] { return a.receiver.count_tag(2) == 1 && b.receiver.count_tag(1) == 1; }));
        EXPECT_EQ(a.receiver.count(na::PeerEvent::connected), 2u);
        EXPECT_EQ(b.receiver.count(na::PeerEvent::connected), 2u);
        close(b);
        close(a);
    }
}

TEST_F(Simultaneous, ManyDialEachOtherAtOnce) {
    constexpr std::size_t count = 8;
    std::vector<Process*> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(&open());
    for (Process* from : all) {
        for (Process* to : all) {
            if (from != to) (void)send(*from, peer(*from, *to), 1);
        }
    }
    EXPECT_TRUE(until([&] {
        return std::all_of(all.begin(), all.end(),
                           [](const Process* one) { return one->receiver.messages.size() == count - 1; });
    }));
    for (const Process* one : all) {
        EXPECT_EQ(one->receiver.count(na::PeerEvent::lost), 0u);
        EXPECT_EQ(one->receiver.count(na::PeerEvent::connected), 2 * (count - 1));
    }
}

}  // namespace
}  // namespace cinnabar::tcp
