// SPDX-License-Identifier: BSD-3-Clause
// A context with nothing to do sleeps in the kernel, and no wake-up is lost.
#include "contract.hpp"

#include <poll.h>

#include <atomic>
#include <thread>
#include <utility>

namespace cinnabar::contract {
namespace {

na::ContextOptions sleepy(na::ContextId id, ThreadUse threads) {
    na::ContextOptions options;
    options.id = id;
    options.threads = threads;
    options.spin_max = Microseconds(0);
    return options;
}

// Answers each unexpected message with one of the same tag, at once or on request.
struct Side {
    support::RecordingReceiver receiver;
    std::shared_ptr<na::Transport> transport;
    std::unique_ptr<na::Context> context;
    na::Op op;
    std::atomic<bool> in_flight{false};
    std::atomic<unsigned> arrived{0};

    void open(na::ContextId id, ThreadUse threads) {
        na::Transport* raw = transport.get();
        context = na::Context::open({&raw, 1}, sleepy(id, threads), receiver).value();
        op.user = this;
        op.complete = [](na::Op& self) noexcept {
            self.message->port->give_message(*self.message);
            static_cast<Side*>(self.user)->in_flight = false;
        };
        receiver.record = false;
    }
    // Owner of the context only.
    void send(na::Peer& peer, na::Tag tag) {
        op.kind = na::OpKind::send_unexpected;
        op.peer = &peer;
        op.tag = tag;
        op.message_bytes = 8;
        op.message = peer.port().take_message();
        in_flight = true;
        while (context->post_owned(op) == Errc::again) (void)context->progress(Microseconds(0));
    }
    // Answers one message at a time. The next message may arrive before the last answer has completed.
    void expect_questions() {
        receiver.on_arrival = [this](na::Arrival& arrival) {
            EXPECT_EQ(asked_by, nullptr);
            asked_by = arrival.source;
            asked = arrival.tag;
        };
    }
    void answer() {
        if (asked_by && !in_flight) send(*std::exchange(asked_by, nullptr), asked);
    }

    na::Peer* asked_by = nullptr;
    na::Tag asked = 0;
};

}  // namespace

class WakeUp : public testing::TestWithParam<NetworkKind> {
  protected:
    WakeUp() : network_(GetParam()) {}
    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        na::TransportOptions options;
        options.listen = true;
        a_.transport = network_.open("a", options).value();
        if (!a_.transport->caps().wait_fd) GTEST_SKIP() << "this transport does not have: wait_fd";
        b_.transport = network_.one_process() ? a_.transport : network_.open("b", options).value();
    }
    [[nodiscard]] na::Addr addr_of_b() {
        return na::Addr::make(b_.transport->endpoints(), b_.context->options().id, 0);
    }
    [[nodiscard]] na::ContextId id_of_b() const { return network_.one_process() ? 1 : 0; }

    support::LogWatch log_;
    support::Network network_;
    Side a_;
    Side b_;
};
CINNABAR_CONTRACT(WakeUp);

TEST_P(WakeUp, APingPongOfSleepingContextsNeverStalls) {
    a_.open(0, ThreadUse::one);
    b_.open(id_of_b(), ThreadUse::one);
    const na::Addr addr = addr_of_b();
    constexpr na::Tag rounds = 2000;
    std::atomic<bool> stop{false};
    std::thread answerer([&] {
        b_.expect_questions();
        while (!stop.load()) {
            (void)b_.context->progress(Microseconds(10'000'000));
            b_.answer();
        }
    });
    na::Peer& peer = *a_.context->peer(addr).value();
    peer.acquire();
    na::Tag answered = 0;
    a_.receiver.on_arrival = [&](na::Arrival& arrival) {
        EXPECT_EQ(arrival.tag, answered);
        ++answered;
    };
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    for (na::Tag tag = 0; tag < rounds && std::chrono::steady_clock::now() < end; ++tag) {
        a_.send(peer, tag);
        while ((answered == tag || a_.in_flight) && std::chrono::steady_clock::now() < end) {
            // A lost wake-up would take this long.
            const auto started = std::chrono::steady_clock::now();
            (void)a_.context->progress(Microseconds(10'000'000));
            ASSERT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(9)) << tag;
        }
    }
    EXPECT_EQ(answered, rounds);
    EXPECT_GT(a_.context->wakeups().sleeps, 0u);
    stop = true;
    b_.context->wake();
    answerer.join();
    peer.release();
    a_.context.reset();
    b_.context.reset();
}

TEST_P(WakeUp, ASubmitReachesASleeper) {
    a_.open(0, ThreadUse::one);
    struct Flag : WorkItem {
        std::atomic<unsigned>* ran = nullptr;
    };
    std::atomic<unsigned> ran{0};
    std::atomic<bool> stop{false};
    std::atomic<unsigned> overslept{0};
    std::thread sleeper([&] {
        while (!stop.load()) {
            const auto started = std::chrono::steady_clock::now();
            (void)a_.context->progress(Microseconds(10'000'000));
            if (std::chrono::steady_clock::now() - started > std::chrono::seconds(9)) ++overslept;
        }
    });
    constexpr unsigned rounds = 5000;
    for (unsigned i = 0; i < rounds; ++i) {
        Flag flag;
        flag.ran = &ran;
        flag.run = [](WorkItem& self) noexcept { ++*static_cast<Flag&>(self).ran; };
        a_.context->submit(flag);
        while (ran.load() == i) std::this_thread::yield();
    }
    EXPECT_EQ(ran, rounds);
    stop = true;
    a_.context->wake();
    sleeper.join();
    EXPECT_EQ(overslept, 0u);
    a_.context.reset();
}

TEST_P(WakeUp, APostByAnotherThreadCompletesThoughTheSleeperSleeps) {
    a_.open(0, ThreadUse::many);
    b_.open(id_of_b(), ThreadUse::many);
    std::atomic<bool> stop{false};
    std::vector<std::thread> sleepers;
    for (Side* side : {&a_, &b_}) {
        sleepers.emplace_back([side, &stop] {
            while (!stop.load()) (void)side->context->progress(Microseconds(20'000'000));
        });
    }
    b_.receiver.on_arrival = [&](na::Arrival&) { ++b_.arrived; };
    na::Peer* peer = nullptr;
    {
        const na::Context::Ownership own(*a_.context);
        peer = a_.context->peer(addr_of_b()).value();
        peer->acquire();
    }
    for (unsigned i = 0; i < 500; ++i) {
        a_.op.kind = na::OpKind::send_unexpected;
        a_.op.peer = peer;
        a_.op.message_bytes = i % 2 == 0 ? 8 : 512;
        a_.op.message = peer->port().take_message();
        a_.in_flight = true;
        ASSERT_EQ(a_.context->post(a_.op), Errc::ok);
        const auto started = std::chrono::steady_clock::now();
        while (a_.in_flight || b_.arrived == i) {
            std::this_thread::yield();
            ASSERT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(9)) << i;
        }
    }
    stop = true;
    a_.context->wake();
    b_.context->wake();
    for (std::thread& sleeper : sleepers) sleeper.join();
    {
        const na::Context::Ownership own(*a_.context);
        peer->release();
    }
    a_.context.reset();
    b_.context.reset();
}

TEST_P(WakeUp, AnEarlierTimerOfAnotherThreadWakesTheSleeper) {
    a_.open(0, ThreadUse::many);
    std::atomic<bool> stop{false};
    std::thread sleeper([&] {
        while (!stop.load()) (void)a_.context->progress(Microseconds(20'000'000));
    });
    struct Alarm : WheelTimer {
        std::atomic<bool> fired{false};
    };
    for (int i = 0; i < 50; ++i) {
        Alarm alarm;
        alarm.fire = [](WheelTimer& self) noexcept { static_cast<Alarm&>(self).fired = true; };
        {
            const na::Context::Ownership own(*a_.context);
            a_.context->arm(alarm, a_.context->now_us() + 200);
        }
        const auto started = std::chrono::steady_clock::now();
        while (!alarm.fired.load()) {
            std::this_thread::yield();
            ASSERT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(9)) << i;
        }
    }
    stop = true;
    a_.context->wake();
    sleeper.join();
    a_.context.reset();
}

TEST_P(WakeUp, AnIdleContextSleepsOutItsTimeout) {
    a_.open(0, ThreadUse::one);
    const auto started = std::chrono::steady_clock::now();
    timespec before{};
    timespec after{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    EXPECT_EQ(a_.context->progress(Microseconds(300'000)), 0u);
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    EXPECT_GE(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(299));
    const auto used_ns = (after.tv_sec - before.tv_sec) * 1'000'000'000L + (after.tv_nsec - before.tv_nsec);
    EXPECT_LT(used_ns, 50'000'000) << "it did not sleep";
    EXPECT_LE(a_.context->wakeups().sleeps, 3u);
    a_.context.reset();
}

TEST_P(WakeUp, AZeroTimeoutNeverSleeps) {
    a_.open(0, ThreadUse::one);
    for (int i = 0; i < 100; ++i) (void)a_.context->progress(Microseconds(0));
    EXPECT_EQ(a_.context->wakeups().sleeps, 0u);
    a_.context.reset();
}

TEST_P(WakeUp, TheDescriptorServesAForeignLoop) {
    a_.open(0, ThreadUse::one);
    b_.open(id_of_b(), ThreadUse::one);
    const na::Addr addr = addr_of_b();
    std::atomic<bool> stop{false};
    std::atomic<unsigned> hung{0};
    std::thread foreign([&] {
        b_.expect_questions();
        while (!stop.load()) {
            if (b_.context->prepare_wait()) {
                pollfd wait{b_.context->wait_fd(), POLLIN, 0};
                if (::poll(&wait, 1, 10'000) == 0) ++hung;
            }
            (void)b_.context->progress(Microseconds(0));
            b_.answer();
        }
    });
    na::Peer& peer = *a_.context->peer(addr).value();
    peer.acquire();
    na::Tag answered = 0;
    a_.receiver.on_arrival = [&](na::Arrival&) { ++answered; };
    for (na::Tag tag = 0; tag < 500; ++tag) {
        a_.send(peer, tag);
        const auto started = std::chrono::steady_clock::now();
        while (answered == tag || a_.in_flight) {
            (void)a_.context->progress(Microseconds(1'000'000));
            ASSERT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(9)) << tag;
        }
    }
    stop = true;
    b_.context->wake();
    foreign.join();
    EXPECT_EQ(hung, 0u);
    peer.release();
    a_.context.reset();
    b_.context.reset();
}

TEST_P(WakeUp, ATimerMakesTheDescriptorReadable) {
    a_.open(0, ThreadUse::one);
    struct Alarm : WheelTimer {
        bool fired = false;
    } alarm;
    alarm.fire = [](WheelTimer& self) noexcept { static_cast<Alarm&>(self).fired = true; };
    a_.context->arm(alarm, a_.context->fresh_now_us() + 5'000);
    while (!alarm.fired) {
        if (a_.context->prepare_wait()) {
            pollfd wait{a_.context->wait_fd(), POLLIN, 0};
            ASSERT_EQ(::poll(&wait, 1, 10'000), 1);
        }
        (void)a_.context->progress(Microseconds(0));
    }
    a_.context.reset();
}

}  // namespace cinnabar::contract
