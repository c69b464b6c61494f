// SPDX-License-Identifier: BSD-3-Clause
// What a context does by itself, over `self`: the queue, timers, submitted work, handed-over ops, and their order.
#include "context_fixture.hpp"

#include <sched.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar::na {
namespace {

struct Step : WorkItem {
    std::function<void()> body;
    explicit Step(std::function<void()> b) : body(std::move(b)) {
        run = [](WorkItem& self) noexcept { static_cast<Step&>(self).body(); };
    }
};

struct Alarm : WheelTimer {
    std::function<void()> body;
    explicit Alarm(std::function<void()> b) : body(std::move(b)) {
        fire = [](WheelTimer& self) noexcept { static_cast<Alarm&>(self).body(); };
    }
};

struct Send {
    Op op;
    std::atomic<unsigned> completions{0};
    Send() {
        op.user = this;
        op.complete = [](Op& self) noexcept { ++static_cast<Send*>(self.user)->completions; };
    }
    void aim(Peer& peer) {
        op.kind = OpKind::send_unexpected;
        op.peer = &peer;
        op.message = peer.port().take_message();
        op.message_bytes = 8;
    }
    void give_back() { op.message->port->give_message(*op.message); }
};

TEST_F(ContextTest, NeedsATransport) { EXPECT_EQ(Context::open({}, {}, receiver_).code(), Errc::invalid_argument); }

TEST_F(ContextTest, TransportsOfOneClock) {
    support::Network other(support::NetworkKind::sim_friendly);
    const auto simulated = other.open("x", {}).value();
    const std::array<Transport*, 2> both{inner_.get(), simulated.get()};
    EXPECT_EQ(Context::open(both, {}, receiver_).code(), Errc::invalid_argument);
}

TEST_F(ContextTest, OrdinalsAreSmallAndUsedAgain) {
    open(ThreadUse::one);
    const std::uint32_t first = context_->ordinal();
    std::vector<std::unique_ptr<Context>> more;
    for (ContextId id = 1; id < 4; ++id) {
        ContextOptions options;
        options.id = id;
        Transport* raw = &faulty_;
        more.push_back(Context::open({&raw, 1}, options, receiver_).value());
        EXPECT_NE(more.back()->ordinal(), first);
    }
    const std::uint32_t second = more[1]->ordinal();
    more[1].reset();
    ContextOptions options;
    options.id = 9;
    Transport* raw = &faulty_;
    more[1] = Context::open({&raw, 1}, options, receiver_).value();
    EXPECT_EQ(more[1]->ordinal(), second);
}

TEST_F(ContextTest, TheQueueRunsInOrderAndOnlyFromTrigger) {
    open(ThreadUse::one);
    std::string order;
    Step a([&] { order += 'a'; });
    Step b([&] {
        order += 'b';
        context_->enqueue(a);
    });
    Step c([&] { order += 'c'; });
    context_->enqueue(a);
    context_->enqueue(b);
    context_->enqueue(c);
    EXPECT_TRUE(context_->has_completions());
    (void)context_->progress(Microseconds(0));
    EXPECT_EQ(order, "");
    EXPECT_EQ(context_->trigger(2), 2u);
    EXPECT_EQ(order, "ab");
    EXPECT_EQ(context_->trigger(100), 2u);
    EXPECT_EQ(order, "abca");
    EXPECT_EQ(context_->trigger(100), 0u);
    EXPECT_FALSE(context_->has_completions());
}

TEST_F(ContextTest, ACallbackBeginsWhenTheOneRightBeforeItEnded) {
    open(ThreadUse::one);
    constexpr TimeUs told = 1'000;  // no time that the clock has
    std::vector<TimeUs> began;
    const auto note = [&] { began.push_back(context_->callback_begins(Context::Exact::yes)); };
    Step tells([&] { (void)context_->callback_ends(told); });
    Step notes([&] {
        note();
        note();  // it began once
    });
    Step notes_later(note);
    Step tells_coarsely([&] { (void)context_->callback_ends(); });
    Step tells_the_future(
        [&] { (void)context_->callback_ends(after(steady_clock().now_us(), std::chrono::hours(1))); });
    Step goes_not_back([&] { EXPECT_GE(context_->callback_ends(), context_->callback_begins()); });
    Step ends_twice([&] {
        (void)context_->callback_ends(told);
        EXPECT_EQ(context_->callback_ends(), told);
    });
    for (Step* step : {&tells, &notes, &notes_later}) context_->enqueue(*step);
    const TimeUs before = steady_clock().now_us();
    EXPECT_EQ(context_->trigger(100), 3u);
    ASSERT_EQ(began.size(), 3u);
    EXPECT_EQ(began[0], told);
    EXPECT_EQ(began[1], told);
    EXPECT_GE(began[2], before) << "there was one in between that has not told when it ended";
    for (Step* step : {&tells_coarsely, &notes_later, &ends_twice}) context_->enqueue(*step);
    EXPECT_EQ(context_->trigger(100), 3u);
    EXPECT_GE(began[3], before) << "the coarse time is not exact";
    for (Step* step : {&tells_the_future, &goes_not_back}) context_->enqueue(*step);
    EXPECT_EQ(context_->trigger(100), 2u);
    context_->enqueue(notes_later);
    EXPECT_EQ(context_->trigger(100), 1u);
    EXPECT_GE(began[4], before) << "what happened between two trigger() is not known";
}

TEST_F(ContextTest, ProgressReturnsAtOnceWhileTheQueueIsNotEmpty) {
    open(ThreadUse::one);
    Step a([] {});
    context_->enqueue(a);
    const auto started = std::chrono::steady_clock::now();
    (void)context_->progress(Microseconds(5'000'000));
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(2));
    EXPECT_EQ(context_->trigger(1), 1u);
}

TEST_F(ContextTest, TimersFireInsideProgressInTheirOrder) {
    open(ThreadUse::one);
    std::string order;
    Alarm late([&] { order += 'l'; });
    Alarm early([&] { order += 'e'; });
    Alarm never([&] { order += 'n'; });
    const TimeUs now = context_->fresh_now_us();
    context_->arm(late, now + 3000);
    context_->arm(early, now + 1000);
    context_->arm(never, now + 2000);
    EXPECT_LE(context_->next_timer_us(), now + 1000);
    context_->disarm(never);
    context_->disarm(never);
    run([&] { return order.size() == 2 || context_->fresh_now_us() > now + 1'000'000; });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (order.size() < 2 && std::chrono::steady_clock::now() < end) (void)context_->progress(Microseconds(1000));
    EXPECT_EQ(order, "el");
    EXPECT_GE(context_->now_us(), now + 3000);
    EXPECT_EQ(context_->next_timer_us(), time_never);
}

TEST_F(ContextTest, ATimerEndsTheSleepBeforeTheTimeout) {
    open(ThreadUse::one);
    bool fired = false;
    Alarm alarm([&] { fired = true; });
    context_->arm(alarm, context_->fresh_now_us() + 20'000);
    const auto started = std::chrono::steady_clock::now();
    EXPECT_GT(context_->progress(Microseconds(10'000'000)), 0u);
    EXPECT_TRUE(fired);
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
}

TEST_F(ContextTest, SubmittedWorkRunsInItsOrderInsideProgress) {
    for (const ThreadUse threads : {ThreadUse::one, ThreadUse::many}) {
        open(threads);
        std::string order;
        Step a([&] { order += 'a'; });
        Step b([&] { order += 'b'; });
        Step c([&] { order += 'c'; });
        context_->submit(a);
        context_->submit(b);
        context_->submit(c);
        EXPECT_EQ(order, "");
        EXPECT_GE(context_->progress(Microseconds(0)), 3u);
        EXPECT_EQ(order, "abc");
        TearDown();
    }
}

TEST_F(ContextTest, RunOwnedRunsAtOnceWhenNobodyOwns) {
    for (const ThreadUse threads : {ThreadUse::one, ThreadUse::many}) {
        open(threads);
        bool ran = false;
        Step step([&] { ran = true; });
        context_->run_owned(step);
        EXPECT_TRUE(ran);
        TearDown();
    }
}

TEST_F(ContextTest, AThreadWithMoreToPostLeavesTheFlushToTheDriver) {
    open(ThreadUse::many);
    std::string order;
    Step first([&] { order += 'a'; });
    Step second([&] { order += 'b'; });
    Step last([&] { order += 'c'; });
    std::atomic<std::uint32_t> more{2};
    Context::gather_while(&more);
    context_->run_owned(first);
    EXPECT_EQ(order, "");
    (void)context_->progress(Microseconds{0});
    EXPECT_EQ(order, "a");
    context_->run_owned(second);
    more = 0;
    context_->run_owned(last);  // also runs the work that has not been run yet
    Context::gather_while(nullptr);
    EXPECT_EQ(order.size(), 3u);
}

TEST_F(ContextTest, ACompletionNeverComesInsideThePost) {
    open(ThreadUse::many);
    Send send;
    send.aim(*peer_);
    for (int i = 0; i < 3; ++i) {
        send.completions = 0;
        ASSERT_EQ(context_->post(send.op), Errc::ok);
        EXPECT_EQ(send.completions, 0u);
        EXPECT_EQ(context_->ops_posted(), 1u);
        EXPECT_EQ(send.op.state, OpState::posted);
        run([&] { return send.completions == 1; });
        EXPECT_EQ(send.op.state, OpState::idle);
        EXPECT_EQ(send.op.result, Errc::ok);
        EXPECT_EQ(context_->ops_posted(), 0u);
    }
    send.give_back();
}

TEST_F(ContextTest, AnOpHoldsItsPeer) {
    open(ThreadUse::one);
    Send send;
    send.aim(*peer_);
    const std::uint32_t before = peer_->references();
    ASSERT_EQ(context_->post_owned(send.op), Errc::ok);
    EXPECT_GT(peer_->references(), before);
    run([&] { return send.completions == 1; });
    send.give_back();
}

// While the context is owned, a post by another thread is handed over: the completion brings the port's result.
TEST_F(ContextTest, HandedOverOpsAreRetriedNotReportedWhenThePortHasNoRoom) {
    open(ThreadUse::many);
    Send warm;
    warm.aim(*peer_);
    ASSERT_EQ(context_->post(warm.op), Errc::ok);
    run([&] { return warm.completions == 1; });
    Send send;
    send.aim(*peer_);
    faulty_.faults().again_one_in = 1;
    {
        const Context::Ownership own(*context_);
        std::thread stranger([&] { EXPECT_EQ(context_->post(send.op), Errc::ok); });
        stranger.join();
        EXPECT_EQ(send.op.state, OpState::handed_over);
    }
    for (int i = 0; i < 20; ++i) (void)context_->progress(Microseconds(0));
    EXPECT_EQ(send.completions, 0u);
    faulty_.faults().again_one_in = 0;
    run([&] { return send.completions == 1; });
    EXPECT_EQ(send.op.result, Errc::ok);
    warm.give_back();
    send.give_back();
}

TEST_F(ContextTest, AHandedOverOpMayBeCancelledBeforeItIsPosted) {
    open(ThreadUse::many);
    Send send;
    send.aim(*peer_);
    faulty_.faults().again_one_in = 1;
    {
        const Context::Ownership own(*context_);
        std::thread stranger([&] { EXPECT_EQ(context_->post(send.op), Errc::ok); });
        stranger.join();
        context_->cancel_owned(send.op);
        EXPECT_EQ(send.completions, 0u);
    }
    run([&] { return send.completions == 1; });
    EXPECT_EQ(send.op.result, Errc::canceled);
    faulty_.faults().again_one_in = 0;
    send.give_back();
}

TEST_F(ContextTest, CloseEndsWhatWasHandedOver) {
    open(ThreadUse::many);
    Send send;
    send.aim(*peer_);
    faulty_.faults().again_one_in = 1;
    {
        const Context::Ownership own(*context_);
        std::thread stranger([&] { EXPECT_EQ(context_->post(send.op), Errc::ok); });
        stranger.join();
    }
    context_->close();
    EXPECT_EQ(send.completions, 1u);
    EXPECT_EQ(send.op.result, Errc::canceled);
    EXPECT_EQ(context_->post(send.op), Errc::closed);
    send.give_back();
}

TEST_F(ContextTest, TheQueueOutlivesTheClose) {
    open(ThreadUse::one);
    bool ran = false;
    Step step([&] { ran = true; });
    context_->enqueue(step);
    context_->close();
    EXPECT_TRUE(context_->has_completions());
    EXPECT_EQ(context_->trigger(10), 1u);
    EXPECT_TRUE(ran);
}

TEST_F(ContextTest, AWakeBeforeTheSleepIsNotLost) {
    open(ThreadUse::one);
    context_->wake();
    const auto started = std::chrono::steady_clock::now();
    (void)context_->progress(Microseconds(5'000'000));
    EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(4));
}

TEST_F(ContextTest, AnAwakeContextIsNotRung) {
    open(ThreadUse::one);
    Step step([] {});
    for (int i = 0; i < 100; ++i) {
        context_->submit(step);
        (void)context_->progress(Microseconds(0));
    }
    EXPECT_EQ(context_->wakeups().rings, 0u);
}

TEST_F(ContextTest, AFailedPostLeavesNoTrace) {
    open(ThreadUse::one);
    Send send;
    send.aim(*peer_);
    const std::uint32_t references = peer_->references();
    faulty_.faults().again_one_in = 1;
    EXPECT_EQ(context_->post_owned(send.op), Errc::again);
    EXPECT_EQ(send.op.state, OpState::idle);
    EXPECT_EQ(peer_->references(), references);
    EXPECT_EQ(context_->ops_posted(), 0u);
    faulty_.faults().again_one_in = 0;
    send.give_back();
}

// The fault transport itself, on which the fault tests of the higher layers rely.
TEST_F(ContextTest, FaultsHappenWhenTheyAreAskedFor) {
    open(ThreadUse::one);
    Send send;
    send.aim(*peer_);
    const auto again = [&](Errc expected) {
        send.completions = 0;
        ASSERT_EQ(context_->post_owned(send.op), Errc::ok);
        run([&] { return send.completions == 1; });
        EXPECT_EQ(send.op.result, expected);
    };
    again(Errc::ok);
    run([&] { return receiver_.messages.size() == 1; });

    faulty_.faults().fail_post = faulty_.faults().posts + 1;
    faulty_.faults().fail_why = Errc::io;
    again(Errc::io);

    faulty_.faults().drop_arrival = faulty_.faults().arrivals + 1;
    again(Errc::ok);
    again(Errc::ok);
    run([&] { return receiver_.messages.size() == 2; });
    EXPECT_EQ(faulty_.faults().arrivals, 3u);

    faulty_.faults().late_polls = 5;
    send.completions = 0;
    ASSERT_EQ(context_->post_owned(send.op), Errc::ok);
    for (int i = 0; i < 5; ++i) {
        (void)context_->progress(Microseconds(0));
        EXPECT_EQ(send.completions, 0u) << i;
    }
    run([&] { return send.completions == 1; });
    faulty_.faults().late_polls = 0;

    faulty_.faults().lose_peer_at_post = faulty_.faults().posts + 1;
    again(Errc::ok);
    run([&] { return receiver_.count(PeerEvent::lost) == 1; });
    again(Errc::ok);
    EXPECT_EQ(receiver_.count(PeerEvent::connected), 2u);
    send.give_back();
}

TEST_F(ContextTest, TheSpinBudgetFollowsTheLengthOfItsSleeps) {
    ContextOptions options;
    options.threads = ThreadUse::one;
    options.spin_max = Microseconds{200'000};
    Transport* raw = &faulty_;
    context_ = Context::open({&raw, 1}, options, receiver_).value();
    const auto sleeps_in = [&](Microseconds timeout) {
        const std::uint64_t before = context_->wakeups().sleeps;
        (void)context_->progress(timeout);
        return context_->wakeups().sleeps - before;
    };
    EXPECT_EQ(sleeps_in(Microseconds{1'000}), 0u) << "at first it may spin for all of that";
    // A sleep that would have been too long to spin through halves the budget, so that the next sleep begins sooner.
    for (int i = 0; i < 4; ++i) EXPECT_GE(sleeps_in(Microseconds{420'000}), 1u);
    EXPECT_GE(sleeps_in(Microseconds{150'000}), 1u) << "the budget is an eighth at most";
    // Sleeps that could have been spun through let the budget grow to its limit again, but not beyond.
    bool spins_through = false;
    for (int i = 0; i < 60 && !spins_through; ++i) spins_through = sleeps_in(Microseconds{150'000}) == 0;
    EXPECT_TRUE(spins_through);
    EXPECT_GE(sleeps_in(Microseconds{420'000}), 1u);
    context_.reset();
}

// Threads that each own the context once per phase. A phase begins while the test's thread owns the context.
class Queue {
  public:
    static constexpr unsigned threads = 20;
    explicit Queue(Context& context) : context_(context) {
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { take_turns(); });
    }
    ~Queue() {
        phase_ = end;
        for (std::thread& thread : threads_) thread.join();
    }
    // Returns once all threads wait. Requires: the caller owns the context.
    void fill() {
        turns = 0;
        ++phase_;
        while (context_.waiting() != threads) ::sched_yield();
    }
    unsigned turns = 0;  // taken in this phase; changed by the owner of the context only

  private:
    static constexpr unsigned end = ~0u;
    void take_turns() {
        for (unsigned seen = 0;;) {
            while (phase_ == seen) ::sched_yield();
            if ((seen = phase_) == end) return;
            const Context::Ownership own(context_);
            ++turns;
        }
    }
    Context& context_;
    std::atomic<unsigned> phase_{0};
    std::vector<std::thread> threads_;
};

TEST_F(ContextTest, ThreadsOwnTheContextInTheOrderOfTheirWaiting) {
    open(ThreadUse::many);
    Queue queue(*context_);
    for (unsigned phase = 0; phase < 100; ++phase) {
        {
            const Context::Ownership own(*context_);
            queue.fill();
        }
        const Context::Ownership again(*context_);
        ASSERT_EQ(queue.turns, Queue::threads) << "in phase " << phase;
    }
}

TEST_F(ContextTest, APollingLoopLeavesTheContextToWaitingThreads) {
    open(ThreadUse::many);
    Queue queue(*context_);
    for (unsigned phase = 0; phase < 100; ++phase) {
        bool looked = false;
        Alarm at_the_first_look([&] {
            EXPECT_EQ(queue.turns, Queue::threads) << "in phase " << phase;
            looked = true;
        });
        {
            const Context::Ownership own(*context_);
            queue.fill();
            context_->arm(at_the_first_look, context_->fresh_now_us());
        }
        run([&] { return looked; });
    }
}

TEST_F(ContextTest, ASpinDoesNotKeepOthersOut) {
    ContextOptions options;
    options.spin_max = Microseconds{60'000'000};
    Transport* raw = &faulty_;
    context_ = Context::open({&raw, 1}, options, receiver_).value();
    peer_ = nullptr;
    std::atomic<bool> stop{false};
    std::atomic<unsigned> returns{0};
    std::thread spinner([&] {
        for (; !stop; ++returns) (void)context_->progress(options.spin_max);
    });
    std::atomic<bool> spins{false};
    Step seen([&] { spins = true; });
    context_->submit(seen);
    for (unsigned turn = 0; turn < 20 || !spins; ++turn) {
        const Context::Ownership own(*context_);
    }
    EXPECT_LE(returns, 1u);  // the step may end one spin; an owner ends none
    stop = true;
    Step last([] {});
    context_->submit(last);
    spinner.join();
    (void)context_->progress(Microseconds{0});  // the last step, if the spinning thread has left without running it
    context_.reset();
}

}  // namespace
}  // namespace cinnabar::na
