// SPDX-License-Identifier: BSD-3-Clause
// Turns and buffers, driven by hand: the executor runs posted jobs only when the test says so.
#include "session/waiting.hpp"

#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/pace.hpp"
#include "unit/bulk/fake_transport.hpp"

#include <cinnabar/bulk/lend.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <list>
#include <mutex>
#include <vector>

namespace cinnabar::files {
namespace {

// Disk threads may post as well.
class Hand final : public hl::Executor {
  public:
    void post(hl::Job& job) noexcept override {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(&job);
        posted_.notify_all();
    }
    void run() {
        const Turn turn(*this);
        for (;;) {
            hl::Job* job = nullptr;
            {
                const std::lock_guard lock(mutex_);
                if (jobs_.empty()) return;
                job = jobs_.front();
                jobs_.pop_front();
            }
            job->body(*job);
        }
    }
    // Runs jobs as they are posted until `ended`.
    template <typename F>
    bool run_until(F ended) {
        for (;;) {
            run();
            if (ended()) return true;
            std::unique_lock lock(mutex_);
            if (!posted_.wait_for(lock, std::chrono::seconds(30), [&] { return !jobs_.empty(); })) return false;
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable posted_;
    std::list<hl::Job*> jobs_;
};

struct WaitingTest : testing::Test {
    Hand hand;
    hl::TaskContext context{&hand};
    std::list<hl::Task<void>> tasks;
    std::vector<std::string> log;

    void start(hl::Task<void> task) {
        tasks.push_back(std::move(task));
        tasks.back().start(std::noop_coroutine(), &context).resume();
    }
    hl::Task<void> pass(Sequence& sequence, std::uint64_t offset) {
        const Errc turn = co_await sequence.reach(offset);
        log.push_back(std::to_string(offset) + ":" + std::string(to_string(turn)));
    }
};
using Log = std::vector<std::string>;

TEST_F(WaitingTest, TurnsComeInTheOrderOfTheFile) {
    Sequence sequence;
    start(pass(sequence, 20));
    start(pass(sequence, 10));
    start(pass(sequence, 0));
    EXPECT_EQ(log, Log{"0:ok"});
    sequence.advance(10);
    EXPECT_EQ(log, Log{"0:ok"}) << "nobody runs inside the call";
    hand.run();
    sequence.advance(20);
    hand.run();
    EXPECT_EQ(log, (Log{"0:ok", "10:ok", "20:ok"}));
}

TEST_F(WaitingTest, APlaceIsReachedOnce) {
    Sequence sequence;
    sequence.advance(10);
    start(pass(sequence, 0));
    start(pass(sequence, 20));
    start(pass(sequence, 20));
    EXPECT_EQ(log, (Log{"0:invalid argument", "20:invalid argument"}));
    start(pass(sequence, 15));
    sequence.advance(20);
    hand.run();
    EXPECT_EQ(log, (Log{"0:invalid argument", "20:invalid argument", "15:invalid argument", "20:ok"}));
}

TEST_F(WaitingTest, APlaceIsTakenByWhoReachedIt) {
    Sequence sequence;
    start(pass(sequence, 0));
    start(pass(sequence, 0));
    EXPECT_EQ(log, (Log{"0:ok", "0:invalid argument"}));
    start(pass(sequence, 10));
    sequence.advance(10);
    start(pass(sequence, 10));
    hand.run();
    EXPECT_EQ(log, (Log{"0:ok", "0:invalid argument", "10:invalid argument", "10:ok"})) << "it was waited for";
    sequence.advance(20);
    start(pass(sequence, 20));
    EXPECT_EQ(log.back(), "20:ok");
}

TEST_F(WaitingTest, ClosingLetsAllGo) {
    Sequence sequence;
    start(pass(sequence, 10));
    start(pass(sequence, 20));
    sequence.close(Errc::peer_lost);
    sequence.close(Errc::canceled);
    hand.run();
    start(pass(sequence, 0));
    EXPECT_EQ(log, (Log{"10:peer lost", "20:peer lost", "0:peer lost"}));
}

struct PaceTest : WaitingTest {
    Pace pace{4};
    Sequence gate;  // holds up the tasks that are in progress
    hl::Task<void> go(std::string name) {
        const Pace::Pass pass = co_await pace.take();
        log.push_back(std::move(name));
        (void)co_await gate.reach(1);
    }
};

TEST_F(PaceTest, BeginsWithOneAndGrowsWithWhatWasFast) {
    start(go("a"));
    start(go("b"));
    start(go("c"));
    start(go("d"));
    EXPECT_EQ(log, Log{"a"});
    gate.close(Errc::canceled);
    hand.run();
    EXPECT_EQ(log, (Log{"a", "b", "c", "d"}));
    EXPECT_EQ(pace.allowed(), 4u) << "no more than it was made for";
}

TEST_F(PaceTest, SlowOnesHalveItAndOneAlwaysGoes) {
    for (const auto* name : {"a", "b", "c"}) start(go(name));
    gate.close(Errc::canceled);
    hand.run();
    EXPECT_EQ(pace.allowed(), 4u);
    const auto ends_after = [&](std::chrono::milliseconds took) {
        ASSERT_TRUE(pace.take().await_ready());
        pace.ended(took);
    };
    ends_after(std::chrono::seconds(3));
    EXPECT_EQ(pace.allowed(), 4u) << "neither fast nor slow";
    for (const unsigned left : {2u, 1u, 1u}) {
        ends_after(std::chrono::seconds(6));
        EXPECT_EQ(pace.allowed(), left);
    }
    ends_after(std::chrono::milliseconds(10));
    EXPECT_EQ(pace.allowed(), 2u);
}

struct BuffersTest : WaitingTest {
    std::list<Buffer> held;
    hl::Task<void> take(Buffers& buffers, Share& share, std::string name) {
        auto buffer = co_await buffers.take(share);
        log.push_back(name + ":" + std::string(to_string(buffer.code())));
        if (buffer) held.push_back(*std::move(buffer));
    }
};

TEST_F(BuffersTest, WhoComesGetsOneWhileThereAreSome) {
    auto buffers = Buffers::make(4096, 4).value();
    {
        SessionPart session;
        Share share(buffers, session);
        start(take(buffers, share, "a"));
        start(take(buffers, share, "b"));
        EXPECT_EQ(log, (Log{"a:ok", "b:ok"}));
        EXPECT_EQ(held.front().bytes().size(), 4096u);
        start(take(buffers, share, "c"));
        hand.run();
        EXPECT_EQ(log.size(), 2u) << "one file has half of them, so that the next one finds some";
        held.pop_front();
        hand.run();
        EXPECT_EQ(log.back(), "c:ok");
        held.clear();
    }
}

TEST_F(BuffersTest, SessionsTakeTurns) {
    auto buffers = Buffers::make(4096, 2).value();
    {
        SessionPart sessions[3];
        Share a(buffers, sessions[0]);
        Share b(buffers, sessions[1]);
        Share c(buffers, sessions[2]);
        start(take(buffers, a, "a"));
        start(take(buffers, b, "b"));
        EXPECT_EQ(log, (Log{"a:ok", "b:ok"}));
        start(take(buffers, a, "a2"));
        start(take(buffers, c, "c"));
        held.pop_back();  // the buffer of b
        hand.run();
        EXPECT_EQ(log.back(), "c:ok") << "a has its part already";
        held.pop_front();  // the buffer of a
        hand.run();
        EXPECT_EQ(log.back(), "a2:ok");
        held.clear();
    }
}

TEST_F(BuffersTest, AClosedShareLetsItsWaiterGo) {
    auto buffers = Buffers::make(4096, 1).value();
    {
        SessionPart sessions[3];
        Share a(buffers, sessions[0]);
        Share b(buffers, sessions[1]);
        start(take(buffers, a, "a"));
        start(take(buffers, b, "b"));
        b.close(Errc::peer_lost);
        hand.run();
        EXPECT_EQ(log, (Log{"a:ok", "b:peer lost"}));
        start(take(buffers, b, "late"));
        EXPECT_EQ(log.back(), "late:peer lost");
        held.clear();
    }
}

TEST_F(BuffersTest, WhatAClientMayStillAccessStaysOnItsAccount) {
    auto transport = std::make_shared<bulk::FakeTransport>();
    transport->fences_late = true;
    bulk::Lend lend;
    lend.fenced.run = [](WorkItem&) noexcept {};
    auto buffers = Buffers::make(4096, 3).value();
    {
        SessionPart stuck;
        SessionPart other;
        Share a(buffers, stuck);
        Share b(buffers, other);
        start(take(buffers, a, "a"));
        ASSERT_EQ(lend.grant(held.front().region(), na::Access::write, transport), Errc::ok);
        ASSERT_EQ(lend.revoke(), Errc::again);
        transport->fence_done(true);
        held.clear();
        start(take(buffers, b, "b"));
        start(take(buffers, a, "a2"));
        hand.run();
        EXPECT_EQ(log, (Log{"a:ok", "b:ok"}));
        a.close(Errc::closed);
        hand.run();
        held.clear();
    }
    lend.forget();
}

TEST_F(BuffersTest, OneSessionLeavesSomeHoweverManyFilesItHas) {
    auto buffers = Buffers::make(4096, 4).value();
    {
        SessionPart many;
        std::list<Share> files;
        for (int i = 0; i < 10; ++i) start(take(buffers, files.emplace_back(buffers, many), "many"));
        EXPECT_EQ(log, Log(3, "many:ok"));
        SessionPart other;
        Share a(buffers, other);
        start(take(buffers, a, "a"));
        start(take(buffers, a, "a2"));
        hand.run();
        EXPECT_EQ(log.back(), "a:ok") << "though others wait longer";
        held.pop_front();
        held.pop_front();
        hand.run();
        EXPECT_EQ(log.size(), 4u) << "the part of each is one now, as the last one is nobody's";
        for (auto& file : files) file.close(Errc::canceled);
        a.close(Errc::canceled);
        hand.run();
        held.clear();
    }
}

TEST_F(WaitingTest, TheDiskWorksElsewhereAndTheTaskGoesOnHere) {
    Disk disk(2);
    const auto home = std::this_thread::get_id();
    const auto work = [](Disk& on, std::thread::id main, Log& told) -> hl::Task<void> {
        const bool elsewhere = co_await on.run([main] { return std::this_thread::get_id() != main; });
        told.push_back(elsewhere ? "elsewhere" : "here");
        told.push_back(std::this_thread::get_id() == main ? "back" : "astray");
    };
    for (int i = 0; i < 3; ++i) start(work(disk, home, log));
    EXPECT_TRUE(hand.run_until([&] { return log.size() == 6; }));
    EXPECT_EQ(log, (Log{"elsewhere", "back", "elsewhere", "back", "elsewhere", "back"}));
}

TEST(Disk, WhatWasQueuedIsDoneBeforeTheEnd) {
    struct Flag {
        std::atomic<int>* gone;
        explicit Flag(std::atomic<int>& count) : gone(&count) {}
        Flag(Flag&& other) noexcept : gone(std::exchange(other.gone, nullptr)) {}
        ~Flag() {
            if (gone) ++*gone;
        }
    };
    std::atomic<int> gone{0};
    {
        Disk disk(1);
        for (int i = 0; i < 100; ++i) disk.dispose(Flag(gone));
    }
    EXPECT_EQ(gone, 100);
}

}  // namespace
}  // namespace cinnabar::files
