// SPDX-License-Identifier: BSD-3-Clause
// The submission queue under threads: no piece is lost or run twice, and each producer's pieces keep their order.
#include <cinnabar/base/work.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

struct Piece : WorkItem {
    int producer = 0;
    int number = 0;
};

TEST(SubmitQueue, TakesAllOldestFirst) {
    SubmitQueue queue;
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.take_all().empty());
    Piece pieces[3];
    EXPECT_TRUE(queue.push(pieces[0])) << "the queue was empty before";
    EXPECT_FALSE(queue.push(pieces[1]));
    EXPECT_FALSE(queue.push(pieces[2]));
    EXPECT_FALSE(queue.empty());
    EXPECT_FALSE(queue.seems_empty());
    WorkQueue taken = queue.take_all();
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(queue.seems_empty());
    for (Piece& piece : pieces) EXPECT_EQ(taken.pop_front(), &piece);
    EXPECT_TRUE(taken.empty());
    EXPECT_TRUE(queue.push(pieces[1])) << "a node may be used again, and the queue was empty again";
}

TEST(SubmitQueue, NodesRunAndMayQueueThemselvesAgain) {
    struct Countdown : WorkItem {
        SubmitQueue* queue = nullptr;
        int left = 3;
    } countdown;
    SubmitQueue queue;
    countdown.queue = &queue;
    countdown.run = [](WorkItem& self) noexcept {
        auto& me = static_cast<Countdown&>(self);
        if (--me.left > 0) me.queue->push(me);
    };
    queue.push(countdown);
    int rounds = 0;
    while (!queue.empty()) {
        WorkQueue taken = queue.take_all();
        while (WorkItem* work = taken.pop_front()) work->run(*work);
        ++rounds;
    }
    EXPECT_EQ(countdown.left, 0);
    EXPECT_EQ(rounds, 3);
}

TEST(SubmitQueue, ManyProducersOneConsumer) {
    constexpr int producers = 4;
    constexpr int each = 5000;
    SubmitQueue queue;
    std::vector<std::vector<Piece>> pieces(producers, std::vector<Piece>(each));
    std::atomic<int> was_empty{0};
    std::vector<std::jthread> threads;
    for (int p = 0; p < producers; ++p) {
        threads.emplace_back([&, p] {
            for (int n = 0; n < each; ++n) {
                Piece& piece = pieces[static_cast<std::size_t>(p)][static_cast<std::size_t>(n)];
                piece.producer = p;
                piece.number = n;
                if (queue.push(piece)) was_empty.fetch_add(1, std::memory_order_relaxed);
            }
        });
    }
    std::vector<int> expected(producers, 0);
    int takes = 0;
    for (int seen = 0; seen < producers * each;) {
        WorkQueue taken = queue.take_all();
        if (!taken.empty()) ++takes;
        while (WorkItem* work = taken.pop_front()) {
            const auto& piece = static_cast<Piece&>(*work);
            ASSERT_EQ(piece.number, expected[static_cast<std::size_t>(piece.producer)]++);
            ++seen;
        }
    }
    threads.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(was_empty.load(), takes) << "each batch was begun by exactly one push that found the queue empty";
}

}  // namespace
}  // namespace cinnabar
