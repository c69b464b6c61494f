// SPDX-License-Identifier: BSD-3-Clause
// Contexts for many threads: any thread may post, progress and trigger.
#include "contract.hpp"

#include <atomic>
#include <mutex>
#include <thread>

namespace cinnabar::contract {
namespace {

constexpr std::chrono::seconds limit{60};

// Counts arrivals. Called by the owner of its context, on any thread.
class CountingReceiver final : public na::Receiver {
  public:
    std::atomic<unsigned> arrived{0};
    std::atomic<unsigned> wrong{0};
    std::atomic<unsigned> lost{0};

    void on_unexpected(na::Arrival& arrival) noexcept override {
        if (!support::holds_pattern(arrival.bytes, arrival.tag)) ++wrong;
        ++arrived;
    }
    void on_expected(na::Arrival&) noexcept override { ++wrong; }
    void on_notify(na::Peer&, std::uint32_t) noexcept override { ++wrong; }
    void on_peer(na::Peer&, na::PeerEvent event, Errc) noexcept override { lost += event == na::PeerEvent::lost; }
};

struct ManyNode {
    std::shared_ptr<na::Transport> transport;
    CountingReceiver receiver;
    std::unique_ptr<na::Context> context;
    std::atomic<bool> stop{false};
    std::vector<std::thread> loops;

    void open(na::ContextId id) {
        na::ContextOptions options;
        options.id = id;
        na::Transport* raw = transport.get();
        context = na::Context::open({&raw, 1}, options, receiver).value();
    }
    void run(unsigned threads) {
        for (unsigned i = 0; i < threads; ++i) {
            loops.emplace_back([this] {
                while (!stop.load()) {
                    (void)context->progress(Microseconds(1'000'000));
                    (void)context->trigger(16);
                }
            });
        }
    }
    void join() {
        stop = true;
        // Each wake() wakes one sleeping thread, and all threads have to wake up.
        for (std::thread& loop : loops) {
            std::atomic<bool> joined{false};
            std::thread ringer([&] {
                while (!joined.load()) {
                    context->wake();
                    std::this_thread::yield();
                }
            });
            loop.join();
            joined = true;
            ringer.join();
        }
        loops.clear();
    }
};

// A message that a thread posts, and whose completion goes through the completion queue of its context.
struct QueuedSend {
    na::Op op;
    WorkItem node;
    na::Context* context = nullptr;
    std::atomic<unsigned>* triggered = nullptr;
    std::atomic<unsigned>* failed = nullptr;

    QueuedSend() {
        op.user = this;
        op.complete = [](na::Op& self) noexcept {
            auto& send = *static_cast<QueuedSend*>(self.user);
            if (self.result != Errc::ok) ++*send.failed;
            self.message->port->give_message(*self.message);
            send.context->enqueue(send.node);
        };
        node.run = [](WorkItem& work) noexcept {
            auto& send =
                *reinterpret_cast<QueuedSend*>(reinterpret_cast<std::byte*>(&work) - offsetof(QueuedSend, node));
            ++*send.triggered;
        };
    }
};

}  // namespace

class ThreadsContract : public testing::TestWithParam<NetworkKind> {
  protected:
    ThreadsContract() : network_(GetParam()) {}
    void SetUp() override {
        if (network_.is_sim()) GTEST_SKIP() << "this transport does not have: threads";
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        na::TransportOptions options;
        options.listen = true;
        a_.transport = network_.open("a", options).value();
        b_.transport = network_.one_process() ? a_.transport : network_.open("b", options).value();
        a_.open(0);
        b_.open(network_.one_process() ? 1 : 0);
    }
    void TearDown() override {
        a_.join();
        b_.join();
        a_.context.reset();
        b_.context.reset();
    }
    [[nodiscard]] na::Peer* peer_to_b() {
        const na::Context::Ownership own(*a_.context);
        na::Peer* peer =
            a_.context->peer(na::Addr::make(b_.transport->endpoints(), b_.context->options().id, 0)).value();
        peer->acquire();
        return peer;
    }
    void release(na::Peer* peer) {
        const na::Context::Ownership own(*a_.context);
        peer->release();
    }
    template <typename F>
    [[nodiscard]] bool wait_for(F done) {
        const auto end = std::chrono::steady_clock::now() + limit;
        while (!done()) {
            if (std::chrono::steady_clock::now() > end) return false;
            std::this_thread::yield();
        }
        return true;
    }
    support::LogWatch log_;
    support::Network network_;
    ManyNode a_;
    ManyNode b_;
};
CINNABAR_CONTRACT(ThreadsContract);

TEST_P(ThreadsContract, EightThreadsPostWhileTwoProgressAndTrigger) {
    a_.run(2);
    b_.run(1);
    na::Peer* peer = peer_to_b();
    constexpr unsigned threads = 8;
    constexpr unsigned each = 300;
    std::atomic<unsigned> triggered{0};
    std::atomic<unsigned> failed{0};
    std::vector<std::deque<QueuedSend>> sends(threads);
    std::vector<std::thread> posters;
    for (unsigned t = 0; t < threads; ++t) {
        posters.emplace_back([&, t] {
            for (unsigned i = 0; i < each; ++i) {
                QueuedSend& send = sends[t].emplace_back();
                send.context = a_.context.get();
                send.triggered = &triggered;
                send.failed = &failed;
                na::Message* message = nullptr;
                while (!(message = peer->port().take_message())) std::this_thread::yield();
                send.op.kind = na::OpKind::send_unexpected;
                send.op.peer = peer;
                send.op.message = message;
                send.op.tag = t * each + i;
                send.op.message_bytes = 64;
                support::fill_pattern(message->bytes().first(64), send.op.tag);
                Errc taken = Errc::again;
                while ((taken = a_.context->post(send.op)) == Errc::again) std::this_thread::yield();
                EXPECT_EQ(taken, Errc::ok);
            }
        });
    }
    for (std::thread& poster : posters) poster.join();
    EXPECT_TRUE(wait_for([&] { return triggered == threads * each && b_.receiver.arrived == threads * each; }))
        << triggered << " completions, " << b_.receiver.arrived << " arrivals";
    EXPECT_EQ(failed, 0u);
    EXPECT_EQ(b_.receiver.wrong, 0u);
    EXPECT_EQ(b_.receiver.lost, 0u);
    release(peer);
}

TEST_P(ThreadsContract, SubmittedWorkRunsOnceWhoeverSubmits) {
    a_.run(2);
    constexpr unsigned threads = 4;
    constexpr unsigned each = 2000;
    struct Counted : WorkItem {
        std::atomic<unsigned>* count = nullptr;
    };
    std::atomic<unsigned> ran{0};
    std::vector<std::deque<Counted>> works(threads);
    std::vector<std::thread> submitters;
    for (unsigned t = 0; t < threads; ++t) {
        submitters.emplace_back([&, t] {
            for (unsigned i = 0; i < each; ++i) {
                Counted& work = works[t].emplace_back();
                work.count = &ran;
                work.run = [](WorkItem& self) noexcept { ++*static_cast<Counted&>(self).count; };
                if (i % 2) {
                    a_.context->submit(work);
                } else {
                    a_.context->run_owned(work);
                }
            }
        });
    }
    for (std::thread& submitter : submitters) submitter.join();
    EXPECT_TRUE(wait_for([&] { return ran == threads * each; })) << ran;
}

TEST_P(ThreadsContract, OwnedSectionsExcludeEachOther) {
    a_.run(1);
    unsigned inside = 0;  // not atomic on purpose: ownership has to protect it
    std::atomic<unsigned> overlaps{0};
    std::vector<std::thread> owners;
    for (int t = 0; t < 4; ++t) {
        owners.emplace_back([&] {
            for (int i = 0; i < 1000; ++i) {
                const na::Context::Ownership own(*a_.context);
                if (++inside != 1) ++overlaps;
                --inside;
            }
        });
    }
    for (std::thread& owner : owners) owner.join();
    EXPECT_EQ(overlaps, 0u);
}

TEST_P(ThreadsContract, RevocationAgainstTransfers) {
    a_.run(1);
    b_.run(1);
    na::Peer* peer = peer_to_b();
    GuardedBuffer here(256 * 1024, 1);
    GuardedBuffer there(256 * 1024);
    const na::Segment here_segment = here.segment();
    const na::Segment there_segment = there.segment();
    auto local = a_.transport->register_memory({&here_segment, 1}, na::Access::read).value();
    auto memory = b_.transport->register_memory({&there_segment, 1}, na::Access::read_write).value();
    for (int round = 0; round < 60; ++round) {
        na::Lease lease;
        lease.memory = memory.get();
        lease.bytes = memory->bytes();
        lease.access = na::Access::write;
        ASSERT_EQ(b_.transport->grant(lease), Errc::ok);
        std::vector<std::byte> key(b_.transport->described_bytes(lease));
        ByteWriter writer(key);
        b_.transport->describe(lease, writer);
        struct Put {
            na::Op op;
            std::atomic<bool> done{false};
        } put;
        put.op.kind = na::OpKind::put;
        put.op.peer = peer;
        put.op.local = local.get();
        put.op.remote = {key, lease.bytes};
        put.op.bytes = lease.bytes;
        put.op.user = &put;
        put.op.complete = [](na::Op& self) noexcept { static_cast<Put*>(self.user)->done = true; };
        ASSERT_EQ(a_.context->post(put.op), Errc::ok);
        for (int i = 0; i < round * 5; ++i) std::this_thread::yield();
        std::atomic<bool> fenced{false};
        lease.fenced.user = &fenced;
        lease.fenced.run = [](WorkItem& work) noexcept { static_cast<std::atomic<bool>*>(work.user)->store(true); };
        const Errc revoked = b_.transport->revoke(lease);
        ASSERT_TRUE(revoked == Errc::ok || revoked == Errc::again) << to_string(revoked);
        ASSERT_TRUE(revoked == Errc::ok || wait_for([&] { return fenced.load(); }));
        ASSERT_FALSE(lease.fence_failed);
        there.fill(7);
        ASSERT_TRUE(wait_for([&] { return put.done.load(); }));
        // On iWARP a refused access only breaks the connection.
        const bool refused = put.op.result == Errc::permission || put.op.result == Errc::peer_lost;
        EXPECT_TRUE(put.op.result == Errc::ok || refused) << to_string(put.op.result);
        EXPECT_TRUE(there.holds(7)) << "written after the revocation, round " << round;
    }
    release(peer);
}

}  // namespace cinnabar::contract
