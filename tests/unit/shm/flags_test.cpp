// SPDX-License-Identifier: BSD-3-Clause
// Flags are taken, raised and lowered; none that is raised is lost, and nobody can keep others from being looked at.
#include "flags.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace cinnabar::shm {
namespace {

std::vector<std::uint32_t> lowered(Flags& flags) {
    std::vector<std::uint32_t> found;
    if (flags.any()) flags.lower([&](std::uint32_t flag) { found.push_back(flag); });
    return found;
}

using Found = std::vector<std::uint32_t>;

TEST(Flags, are_bounded) {
    Flags flags;
    EXPECT_FALSE(flags.any());
    for (std::uint32_t i = 0; i < Flags::count_max; ++i) ASSERT_EQ(flags.take(), i);
    EXPECT_EQ(flags.take(), Flags::none);
    flags.give_back(1717);
    EXPECT_EQ(flags.take(), 1717u);
    EXPECT_EQ(flags.take(), Flags::none);
}

TEST(Flags, come_back_from_what_had_them) {
    Flags flags;
    {
        OwnFlag first(flags);
        EXPECT_EQ(first.term(), 1u);
        EXPECT_EQ(first.fd(), flags.fd());
        OwnFlag second(flags);
        EXPECT_EQ(second.term(), 2u);
        first = std::move(second);
        EXPECT_EQ(first.term(), 2u);
        EXPECT_EQ(OwnFlag(flags).term(), 1u) << "what was replaced is free";
    }
    EXPECT_EQ(flags.take(), 0u);
    EXPECT_EQ(flags.take(), 1u);
}

TEST(Flags, that_a_peer_raises_are_found_once) {
    Flags flags;
    for (std::uint32_t i = 0; i < 200; ++i) (void)flags.take();
    PeerFlag last;
    ASSERT_EQ(last.attach(flags.fd(), 200), Errc::ok);
    PeerFlag first;
    ASSERT_EQ(first.attach(flags.fd(), 1), Errc::ok);
    EXPECT_TRUE(lowered(flags).empty());
    last.raise();
    first.raise();
    last.raise();
    EXPECT_EQ(lowered(flags), (Found{0, 199}));
    EXPECT_FALSE(flags.any());
    last.raise();
    EXPECT_EQ(lowered(flags), (Found{199}));
}

TEST(Flags, that_are_raised_during_a_look_wait_for_the_next_one) {
    Flags flags;
    (void)flags.take();
    flags.raise(0);
    unsigned looks = 0;
    flags.lower([&](std::uint32_t flag) {
        ++looks;
        flags.raise(flag);
    });
    EXPECT_EQ(looks, 1u);
    EXPECT_EQ(lowered(flags), (Found{0}));
    EXPECT_FALSE(flags.any());
}

// Somebody raises all flags again and again.
TEST(Flags, of_all_groups_have_their_turn) {
    Flags flags;
    for (std::uint32_t i = 0; i < Flags::count_max; ++i) (void)flags.take();
    std::vector<unsigned> times(Flags::count_max);
    for (std::uint32_t look = 0; look < Flags::groups_max; ++look) {
        for (std::uint32_t flag = 0; flag < Flags::count_max; ++flag) flags.raise(flag);
        const Found found = lowered(flags);
        ASSERT_EQ(found.size(), Flags::lowered_max);
        for (const std::uint32_t flag : found) ++times[flag];
    }
    for (const unsigned each : times) EXPECT_EQ(each, 1u);
    EXPECT_TRUE(flags.any());
}

TEST(Flags, in_memory_of_another_size_are_refused) {
    Segment memory;
    UniqueFd fd;
    ASSERT_EQ(Segment::make("raw-flags", 4096, memory, fd), Errc::ok);
    PeerFlag flag;
    EXPECT_EQ(flag.attach(fd.get(), 1), Errc::protocol);
    EXPECT_FALSE(flag);
}

}  // namespace
}  // namespace cinnabar::shm
