// SPDX-License-Identifier: BSD-3-Clause
// The places of a ring for direct accesses: how many there are, and what the ring's reader sees of them.
#include "direct.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace cinnabar::shm {
namespace {

std::shared_ptr<PeerRing> make_places() {
    auto ring = std::make_shared<PeerRing>();
    UniqueFd fd;
    EXPECT_EQ(Segment::make("cinnabar-test", ring_header_bytes + ring_bytes_min, ring->memory, fd), Errc::ok);
    return ring;
}

TEST(DirectPlaces, are_bounded) {
    const auto ring = make_places();
    std::vector<DirectPlace> places;
    for (unsigned i = 0; i < direct_places; ++i) {
        places.emplace_back(ring);
        ASSERT_TRUE(places.back());
    }
    EXPECT_FALSE(DirectPlace(ring));
    places.pop_back();
    EXPECT_TRUE(DirectPlace(ring)) << "one was given back";
    places.clear();
    EXPECT_EQ(ring->header().places.load(), 0u);
}

TEST(DirectPlaces, say_what_is_accessed) {
    const auto ring = make_places();
    DirectPlace first(ring);
    DirectPlace second(ring);
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

TEST(DirectPlaces, are_of_no_use_once_the_session_has_ended) {
    const auto ring = make_places();
    DirectPlace place(ring);
    ring->header().ended.store(1);
    EXPECT_FALSE(place.enter(6));
    place.leave();
    EXPECT_FALSE(accesses_directly(ring->header()));
}

}  // namespace
}  // namespace cinnabar::shm
