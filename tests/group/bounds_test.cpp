// SPDX-License-Identifier: BSD-3-Clause
// Limits of what a process stores for its own event readers and tasks.
#include "barrier_arrivals.hpp"
#include "event_queue.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

namespace cinnabar::test {
namespace {

using group::BarrierArrivals;
using group::Event;
using group::EventQueue;
using group::Happened;

TEST(events, a_slow_reader_is_told_that_it_missed_some) {
    const Node node = Node::open("self://").value();
    EventQueue queue(node);
    for (group::Rank rank = 0; rank <= EventQueue::events_max; ++rank) queue.add({Happened::joined, rank, 1, {}});
    std::shared_ptr<group::Signal> later;
    EXPECT_EQ(queue.take(later)->value().happened, Happened::missed);
    EXPECT_EQ(queue.take(later)->value().rank, EventQueue::events_max) << "the last one is there";
    EXPECT_FALSE(queue.take(later));
    queue.close();
    EXPECT_EQ(queue.take(later)->code(), Errc::closed);
}

TEST(arrivals, names_and_their_number_are_bounded) {
    const Node node = Node::open("self://").value();
    BarrierArrivals arrivals(node);
    for (std::size_t i = 0; i < BarrierArrivals::names_max; ++i)
        EXPECT_TRUE(arrivals.arrive("name " + std::to_string(i), {}, {}).ok());
    EXPECT_EQ(arrivals.arrive("one more", {}, {}).code(), Errc::too_large);
    EXPECT_EQ(arrivals.arrive("name 7", {}, {}).code(), Errc::busy);
    EXPECT_EQ(arrivals.arrive(std::string(BarrierArrivals::name_bytes_max + 1, 'n'), {}, {}).code(),
              Errc::invalid_argument);
    arrivals.depart("name 7");
    EXPECT_TRUE(arrivals.arrive("name 7", {}, {}).ok()) << "a name is used again";
    arrivals.close();
    EXPECT_EQ(arrivals.arrive("name 8", {}, {}).code(), Errc::closed);
}

TEST(arrivals, a_round_that_cannot_be_does_not_take_the_numbers_that_are_left) {
    const Node node = Node::open("self://").value();
    BarrierArrivals arrivals(node);
    const auto waits = arrivals.arrive("step", {}, {}).value();
    for (const std::uint64_t round : {~std::uint64_t{0}, BarrierArrivals::round_step_max + 1}) {
        arrivals.release({"step", round, {}, 1, {}});
        arrivals.skip_to({"step", round, {}, 1, {}});
    }
    EXPECT_EQ(arrivals.last("step").round, 0u);
    EXPECT_FALSE(waits->released->is_set());
    arrivals.release({"step", 1, {}, 1, {}});
    EXPECT_TRUE(waits->released->is_set());
}

}  // namespace
}  // namespace cinnabar::test
