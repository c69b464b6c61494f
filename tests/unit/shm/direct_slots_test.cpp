// SPDX-License-Identifier: BSD-3-Clause
// The slots of a ring for direct accesses: how many there are, and what the ring's reader sees of them.
#include "direct.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::shm {
namespace {

std::shared_ptr<OutgoingRing> make_ring() {
    auto ring = std::make_shared<OutgoingRing>();
    UniqueFd fd;
    EXPECT_EQ(Segment::make("cinnabar-test", ring_header_bytes + ring_bytes_min, ring->memory, fd), Errc::ok);
    return ring;
}

TEST(DirectSlots, are_bounded) {
    const auto ring = make_ring();
    std::vector<DirectSlot> slots;
    for (unsigned i = 0; i < direct_slots; ++i) {
        slots.emplace_back(ring);
        ASSERT_TRUE(slots.back());
    }
    EXPECT_FALSE(DirectSlot(ring));
    slots.pop_back();
    EXPECT_TRUE(DirectSlot(ring)) << "one was given back";
    slots.clear();
    EXPECT_EQ(ring->header().mapped_slots.load(), 0u);
}

TEST(DirectSlots, say_what_is_accessed) {
    const auto ring = make_ring();
    DirectSlot first(ring);
    DirectSlot second(ring);
    EXPECT_FALSE(accesses_directly(ring->header()));
    EXPECT_TRUE(second.enter(6));
    EXPECT_TRUE(accesses_directly(ring->header()));
    const auto is_named = [&ring](std::uint64_t slot) {
        return find_direct(ring->header(), [slot](std::uint64_t named) noexcept { return named == slot + 1; });
    };
    EXPECT_TRUE(is_named(6));
    EXPECT_FALSE(is_named(5));
    EXPECT_TRUE(first.enter(5));
    EXPECT_TRUE(is_named(5));
    first.leave();
    second.leave();
    EXPECT_FALSE(accesses_directly(ring->header()));
}

TEST(DirectSlots, are_of_no_use_once_the_session_has_ended) {
    const auto ring = make_ring();
    DirectSlot slot(ring);
    ring->header().ended.store(1);
    EXPECT_FALSE(slot.enter(6));
    slot.leave();
    EXPECT_FALSE(accesses_directly(ring->header()));
}

}  // namespace
}  // namespace cinnabar::shm
