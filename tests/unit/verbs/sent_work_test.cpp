// SPDX-License-Identifier: BSD-3-Clause
// The bookkeeping of the send queue, driven by hand-made completions.
#include "sent_work.hpp"

#include "queue_room.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

namespace cinnabar::verbs {
namespace {

constexpr std::uint32_t depth = 256;

// As in a connection: an operation ends with its last work request, and fails if any of them has failed.
struct Ends {
    struct End {
        Posted* posted;
        Errc result;
        bool operator==(const End&) const = default;
    };
    std::vector<End> ends;
    std::uint32_t left = 0;  // work requests of any kind that have left the queue

    auto take() {
        return [this](const Sent& sent, ibv_wc_status status) {
            ++left;
            if (!sent.posted) return;
            if (status != IBV_WC_SUCCESS && sent.posted->result == Errc::ok) sent.posted->result = Errc::io;
            if (sent.last) ends.push_back({sent.posted, sent.posted->result});
        };
    }
};

class SentWorkTest : public testing::Test {
  protected:
    void SetUp() override { work.open(depth); }
    void complete(std::uint32_t place, ibv_wc_status status = IBV_WC_SUCCESS) {
        ASSERT_TRUE(work.completed(place, status, ends.take())) << place;
    }

    SentWork work;
    Ends ends;
    Posted first, second, third;
};

TEST_F(SentWorkTest, OnlyWhatTheDeviceWasAskedToTellOfIsPending) {
    EXPECT_FALSE(work.pending());
    work.enter({nullptr, true});
    EXPECT_FALSE(work.pending());
    const std::uint32_t told = work.enter({&first, true});
    work.signalled();
    EXPECT_TRUE(work.pending());
    work.enter({nullptr, true});
    EXPECT_TRUE(work.pending());
    complete(told);
    EXPECT_FALSE(work.pending());
}

TEST_F(SentWorkTest, AFullQueueHasSomethingPending) {
    while (work.room() > 0) {
        work.enter({nullptr, true});
        if (work.must_signal(false)) work.signalled();
    }
    EXPECT_TRUE(work.pending());
}

TEST_F(SentWorkTest, ACompletionTellsOfWhatIsBeforeIt) {
    work.enter({&first, true});
    work.enter({nullptr, true});
    const std::uint32_t told = work.enter({&second, true});
    work.enter({&third, true});
    EXPECT_EQ(work.room(), depth - 4);
    complete(told);
    EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&first, Errc::ok}, {&second, Errc::ok}}));
    EXPECT_EQ(ends.left, 3u);
    EXPECT_EQ(work.room(), depth - 1);
    EXPECT_FALSE(work.empty());
}

TEST_F(SentWorkTest, OnlyAReadTellsOfReads) {
    const std::uint32_t read = work.enter({&first, true, true});
    const std::uint32_t next_read = work.enter({&second, true, true});
    const std::uint32_t message = work.enter({&third, true});
    complete(message);
    EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&third, Errc::ok}}));
    EXPECT_EQ(work.reads_out(), 2u);
    EXPECT_EQ(work.room(), depth - 3) << "places come free in order";
    EXPECT_FALSE(work.completed(message, IBV_WC_SUCCESS, ends.take())) << "once";
    complete(next_read);
    EXPECT_EQ(ends.ends.size(), 3u);
    EXPECT_EQ(work.reads_out(), 0u);
    EXPECT_TRUE(work.empty());
    EXPECT_FALSE(work.completed(read, IBV_WC_SUCCESS, ends.take())) << "the one before it told of it";
}

TEST_F(SentWorkTest, AFailureIsOfItsOwnOperation) {
    work.enter({&first, true});
    const std::uint32_t told = work.enter({&second, true});
    complete(told, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&first, Errc::ok}, {&second, Errc::io}}));
}

TEST_F(SentWorkTest, WhatItDoesNotHoldIsNoMatter) {
    EXPECT_FALSE(work.completed(0, IBV_WC_SUCCESS, ends.take()));
    const std::uint32_t place = work.enter({&first, true});
    EXPECT_FALSE(work.completed(place + 1, IBV_WC_SUCCESS, ends.take()));
    EXPECT_FALSE(work.completed(place - 1, IBV_WC_SUCCESS, ends.take()));
    EXPECT_EQ(ends.left, 0u);
}

// A put on iWARP: a write, a notification, and a read.
std::uint32_t enter_put(SentWork& work, Posted& posted) {
    const std::uint32_t write = work.enter({&posted, false});
    work.enter({&posted, false});
    work.enter({&posted, true, true});
    return write;
}

TEST_F(SentWorkTest, AnOperationThatIsRefusedEndsOnce) {
    work.enter({&first, true});
    const std::uint32_t write = enter_put(work, second);
    work.refused(write, IBV_WC_GENERAL_ERR, ends.take());
    EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&second, Errc::io}}));
    EXPECT_EQ(ends.left, 3u);
    EXPECT_EQ(work.reads_out(), 0u);
    EXPECT_EQ(work.room(), depth - 1) << "the places are free again";
    complete(0);
    EXPECT_TRUE(work.empty());
}

TEST_F(SentWorkTest, OfOneThatIsRefusedInPartTheMemoryIsInUseUntilTheRestIsDone) {
    for (std::uint32_t taken = 1; taken < 3; ++taken) {
        ends = {};
        second.result = Errc::ok;
        const std::uint32_t write = enter_put(work, second);
        work.refused(write + taken, IBV_WC_GENERAL_ERR, ends.take());
        EXPECT_TRUE(ends.ends.empty()) << "the device has " << taken;
        EXPECT_EQ(ends.left, 3 - taken);
        work.flush(ends.take());
        EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&second, Errc::io}}));
        EXPECT_EQ(ends.left, 3u);
        EXPECT_EQ(work.reads_out(), 0u);
    }
}

TEST_F(SentWorkTest, MessagesThatAreRefusedEndEach) {
    work.enter({&first, true});
    const std::uint32_t place = work.enter({&second, true});
    work.enter({&third, true});
    work.refused(place, IBV_WC_GENERAL_ERR, ends.take());
    EXPECT_EQ(ends.ends, (std::vector<Ends::End>{{&second, Errc::io}, {&third, Errc::io}}));
    complete(0);
    EXPECT_EQ(ends.ends.back(), (Ends::End{&first, Errc::ok}));
}

struct Waiter {
    ListLink<Waiter> link;
};
using Room = QueueRoom<Waiter, &Waiter::link>;

TEST(QueueRoom, WhoWaitsIsWokenOnceThereIsRoomForAnOperation) {
    Room room;
    room.open(2 * op_requests_max);
    std::array<Waiter, 2> waiters;
    std::vector<Waiter*> woken;
    const auto give = [&] { room.give([&](Waiter& waiter) { woken.push_back(&waiter); }); };
    for (std::uint32_t i = 0; i < op_requests_max + 2; ++i) room.take();
    EXPECT_FALSE(room.any());
    for (Waiter& waiter : waiters) room.wait(waiter), room.wait(waiter);
    give();
    EXPECT_TRUE(woken.empty()) << "not enough yet";
    give();
    EXPECT_TRUE(room.any());
    ASSERT_EQ(woken, (std::vector<Waiter*>{&waiters[0], &waiters[1]}));
    room.wait(waiters[0]);
    room.wait(waiters[1]);
    room.forget(waiters[0]);
    room.forget(waiters[0]);
    give();
    EXPECT_EQ(woken.back(), &waiters[1]);
    EXPECT_EQ(woken.size(), 3u);
}

// Many connections that share a completion queue, each with a few unsignalled small messages.
class Replies {
  public:
    Replies(std::uint32_t connections, std::uint32_t queue) : ends_(connections) {
        room_.open(queue);
        for (End& end : ends_) end.work.open(depth);
    }
    // False: it would have to wait for room.
    bool send(std::uint32_t connection) {
        if (!room_.any()) return false;
        End& end = ends_[connection];
        const std::uint32_t place = end.work.enter({nullptr, true});
        room_.take();
        if (end.work.must_signal(room_.low())) {
            end.work.signalled();
            told_.push_back({connection, place});
        }
        return true;
    }
    // Completes the oldest signalled request. False: there is none.
    bool tell() {
        if (told_.empty()) return false;
        const auto [connection, place] = told_.front();
        told_.pop_front();
        const auto ended = [this](const Sent&, ibv_wc_status) { room_.give([](Waiter&) {}); };
        return ends_[connection].work.completed(place, IBV_WC_SUCCESS, ended);
    }

  private:
    struct End {
        SentWork work;
    };
    struct Told {
        std::uint32_t connection = 0;
        std::uint32_t place = 0;
    };
    Room room_;
    std::vector<End> ends_;
    std::deque<Told> told_;
};

TEST(SharedQueue, RepliesToManyNeverFillItWithWhatNobodyIsToldOf) {
    constexpr std::uint32_t connections = 1000;
    Replies replies(connections, 8192);
    Random random(5);
    for (std::uint32_t i = 0; i < 100'000; ++i) {
        const auto to = static_cast<std::uint32_t>(random.below(connections));
        while (!replies.send(to)) ASSERT_TRUE(replies.tell()) << "after " << i;
    }
}

TEST(SharedQueue, AFewAreToldOfSeldom) {
    Replies replies(2, 8192);
    std::uint32_t told = 0;
    for (std::uint32_t i = 0; i < 6400; ++i) {
        ASSERT_TRUE(replies.send(i % 2));
        while (replies.tell()) ++told;
    }
    EXPECT_EQ(told, 6400u / (depth / 4));
}

}  // namespace
}  // namespace cinnabar::verbs
