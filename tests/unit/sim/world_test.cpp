// SPDX-License-Identifier: BSD-3-Clause
// The simulator: the trace of a seed, time, faults, and a random walk over na with kills, restarts, partitions, stops
// and back-pressure on a mesh of hosts.
#include "support/network.hpp"
#include "support/patterns.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>

namespace cinnabar::sim {
namespace {

using support::GuardedBuffer;
using support::Node;

// An op of the walk, with the number of its completions.
struct WalkOp {
    na::Op op;
    unsigned completions = 0;
    bool in_flight = false;
    WalkOp() {
        op.user = this;
        op.complete = [](na::Op& self) noexcept {
            auto& walk = *static_cast<WalkOp*>(self.user);
            ++walk.completions;
            walk.in_flight = false;
            if (self.message) self.message->port->give_message(*std::exchange(self.message, nullptr));
        };
    }
};

// A host of the walk: its process and its memory, which a kill replaces.
struct WalkHost {
    std::string name;
    std::unique_ptr<na::Transport> transport;
    std::unique_ptr<support::RecordingReceiver> receiver;
    std::unique_ptr<na::Context> context;
    std::vector<na::Peer*> peers;  // to each other host, referenced
    std::unique_ptr<GuardedBuffer> memory;
    std::unique_ptr<na::Memory> registered;
    na::Lease lease;
    std::vector<std::byte> key;
    std::deque<WalkOp> ops;
    bool stopped = false;
    bool fencing = false;
};

class Walk {
  public:
    Walk(std::uint64_t seed, Profile profile) : random_(seed ^ 0x5eed) {
        WorldOptions options;
        options.seed = seed;
        options.profile = profile;
        options.again_one_in = 20;
        options.dial_lost_one_in = 30;
        options.reset_one_in = 300;
        options.late_one_in = 10;
        options.fence_failed_one_in = 5;
        world_ = World::make(options);
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            hosts_[i].name = std::string(1, static_cast<char>('a' + i));
            start(hosts_[i]);
        }
    }
    ~Walk() {
        for (WalkHost& host : hosts_) end(host);
    }

    void run(unsigned steps) {
        for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            step();
            for (std::uint64_t k = random_.below(4); k > 0; --k) turn();
        }
        world_->heal_all();
        for (WalkHost& host : hosts_) {
            if (host.stopped) world_->resume(host.name);
            host.stopped = false;
        }
        // All ops end without being canceled.
        const auto all_ended = [this] {
            return std::all_of(hosts_.begin(), hosts_.end(),
                               [](const WalkHost& host) { return host.context->ops_posted() == 0; });
        };
        for (unsigned i = 0; i < 200'000 && !all_ended(); ++i) turn();
        EXPECT_TRUE(all_ended()) << "ops that never end";
        for (const WalkHost& host : hosts_) {
            for (const WalkOp& op : host.ops) EXPECT_EQ(op.completions, op.in_flight ? 0u : 1u);
            EXPECT_TRUE(host.memory->guards_intact());
        }
    }
    [[nodiscard]] std::uint64_t trace() const { return world_->trace_hash(); }
    [[nodiscard]] std::uint64_t events() const { return world_->events_run(); }
    [[nodiscard]] std::size_t completed() const { return completed_; }

  private:
    void start(WalkHost& host) {
        na::TransportOptions options;
        options.listen = true;
        options.receive_slots = 64;
        host.transport = world_->open(host.name, options).value();
        host.receiver = std::make_unique<support::RecordingReceiver>();
        host.receiver->record = false;
        host.receiver->on_arrival = [](na::Arrival& arrival) {
            EXPECT_TRUE(support::holds_pattern(arrival.bytes, arrival.tag));
        };
        na::ContextOptions context;
        context.threads = ThreadUse::one;
        na::Transport* raw = host.transport.get();
        host.context = na::Context::open({&raw, 1}, context, *host.receiver).value();
        host.memory = std::make_unique<GuardedBuffer>(8192);
        const na::Segment segment = host.memory->segment();
        host.registered = host.transport->register_memory({&segment, 1}, na::Access::read_write).value();
        lend(host);
        for (const char* name : {"a", "b", "c", "d"}) {
            na::Peer* peer = host.context->peer(na::Addr::parse(std::string("sim://") + name).value()).value();
            peer->acquire();
            host.peers.push_back(peer);
        }
    }
    void lend(WalkHost& host) {
        host.fencing = false;
        host.lease.memory = host.registered.get();
        host.lease.bytes = 8192;
        host.lease.access = na::Access::read_write;
        ASSERT_EQ(host.transport->grant(host.lease), Errc::ok);
        host.key.resize(host.transport->described_bytes(host.lease));
        ByteWriter writer(host.key);
        host.transport->describe(host.lease, writer);
    }
    void end(WalkHost& host) {
        if (!host.context) return;
        world_->kill(host.name);
        if (host.lease.granted() && !host.fencing) {
            EXPECT_EQ(host.transport->revoke(host.lease), Errc::ok);
        }
        for (na::Peer* peer : host.peers) peer->release();
        host.peers.clear();
        host.context.reset();
        for (const WalkOp& op : host.ops) EXPECT_EQ(op.completions, 1u);
        completed_ += host.ops.size();
        host.ops.clear();
        host.registered.reset();
        host.memory.reset();
        host.transport.reset();
    }
    WalkHost& any() { return hosts_[random_.below(hosts_.size())]; }

    void post(WalkHost& host) {
        WalkHost& target = any();
        na::Peer& peer = *host.peers[static_cast<std::size_t>(&target - hosts_.data())];
        WalkOp& walk = host.ops.emplace_back();
        na::Op& op = walk.op;
        op.peer = &peer;
        const std::uint64_t kind = random_.below(4);
        if (kind < 2) {
            op.kind = kind ? na::OpKind::send_expected : na::OpKind::send_unexpected;
            op.message = peer.port().take_message();
            op.message_bytes = static_cast<std::uint32_t>(random_.below(200));
            op.tag = random_.next() & 0xffff;
            support::fill_pattern(op.message->bytes().first(op.message_bytes), op.tag);
        } else {
            op.kind = kind == 2 ? na::OpKind::put : na::OpKind::get;
            op.local = host.registered.get();
            // The key must live until the end of the op, even if the target dies.
            auto& key = keys_.emplace_back(target.key);
            op.remote = {key, 8192};
            op.bytes = random_.below(8192);
            op.remote_offset = random_.below(8192 - op.bytes);
            op.local_offset = random_.below(8192 - op.bytes);
        }
        const Errc taken = host.context->post_owned(op);
        walk.in_flight = taken == Errc::ok;
        if (taken != Errc::ok) {
            EXPECT_EQ(taken, Errc::again);
            if (op.message) peer.port().give_message(*op.message);
            host.ops.pop_back();
        }
    }
    void step() {
        WalkHost& host = any();
        WalkHost& other = any();
        const std::uint64_t what = random_.below(200);
        if (what < 2) {
            end(host);
            host.stopped = false;
            start(host);
        } else if (what < 4 && &host != &other) {
            world_->partition(host.name, other.name);
        } else if (what < 8) {
            world_->heal(host.name, other.name);
        } else if (what < 10) {
            world_->stop(host.name);
            host.stopped = true;
        } else if (what < 14) {
            world_->resume(host.name);
            host.stopped = false;
        } else if (what < 16) {
            world_->reset_connections(host.name, other.name);
        } else if (host.stopped) {
            return;
        } else if (what < 20) {
            host.context->ports().front()->disconnect(*host.peers[random_.below(host.peers.size())]);
        } else if (what < 30 && !host.ops.empty()) {
            host.context->cancel_owned(host.ops[random_.below(host.ops.size())].op);
        } else if (what < 34 && !host.fencing) {
            host.lease.fenced.run = [](WorkItem&) noexcept {};
            host.fencing = host.transport->revoke(host.lease) == Errc::again;
        } else {
            post(host);
        }
        if (!host.lease.granted()) lend(host);
    }
    // Every running host makes progress; time advances when all are idle.
    void turn() {
        for (WalkHost& host : hosts_) {
            if (host.stopped) continue;
            (void)host.context->progress(Microseconds(1'000'000));
            (void)host.context->trigger(16);
        }
    }

    Random random_;
    std::shared_ptr<World> world_;
    std::array<WalkHost, 4> hosts_;
    std::deque<std::vector<std::byte>> keys_;
    std::size_t completed_ = 0;
};

struct Outcome {
    std::uint64_t trace = 0;
    std::uint64_t events = 0;
    friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome walk(std::uint64_t seed, Profile profile, unsigned steps) {
    Walk walk(seed, profile);
    walk.run(steps);
    return {walk.trace(), walk.events()};
}

TEST(World, TheSameSeedGivesTheSameTrace) {
    for (const Profile profile : {Profile::friendly, Profile::rdma_strict}) {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const Outcome first = walk(seed, profile, 1500);
            EXPECT_EQ(first, walk(seed, profile, 1500)) << seed;
            EXPECT_NE(first.trace, walk(seed + 1000, profile, 1500).trace) << seed;
            EXPECT_GT(first.events, 500u);
        }
    }
}

TEST(World, EverythingEndsOnceOnAFriendlyNetwork) {
    test::for_each_seed([](std::uint64_t seed) { (void)walk(seed, Profile::friendly, 2000); });
}

TEST(World, EverythingEndsOnceOnAStrictNetwork) {
    test::for_each_seed([](std::uint64_t seed) { (void)walk(seed, Profile::rdma_strict, 2000); });
}

class WorldTime : public testing::Test {
  protected:
    Node& open(const std::string& name) {
        auto node = std::make_unique<Node>();
        na::TransportOptions options;
        options.listen = true;
        node->name = name;
        node->transport = world_->open(name, options).value();
        na::ContextOptions context;
        context.threads = ThreadUse::one;
        na::Transport* raw = node->transport.get();
        node->context = na::Context::open({&raw, 1}, context, node->receiver).value();
        nodes_.push_back(std::move(node));
        return *nodes_.back();
    }
    std::shared_ptr<World> world_ = World::make({});
    std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(WorldTime, MovesOnlyWhenEveryContextIsIdle) {
    Node& a = open("a");
    Node& b = open("b");
    const TimeUs start = world_->now_us();
    EXPECT_EQ(a.context->progress(Microseconds(1000)), 0u);
    EXPECT_EQ(world_->now_us(), start);
    EXPECT_EQ(b.context->progress(Microseconds(300)), 0u);
    EXPECT_EQ(world_->now_us(), start + 300);
    EXPECT_EQ(b.context->progress(Microseconds(10'000)), 0u);
    EXPECT_EQ(world_->now_us(), start + 1000);
}

TEST_F(WorldTime, AZeroTimeoutMovesNothing) {
    Node& a = open("a");
    const TimeUs start = world_->now_us();
    for (int i = 0; i < 10; ++i) (void)a.context->progress(Microseconds(0));
    EXPECT_EQ(world_->now_us(), start);
}

TEST_F(WorldTime, StopsAtTimers) {
    Node& a = open("a");
    struct Alarm : WheelTimer {
        bool fired = false;
    } alarm;
    alarm.fire = [](WheelTimer& self) noexcept { static_cast<Alarm&>(self).fired = true; };
    const TimeUs when = a.context->fresh_now_us() + 12'345;
    a.context->arm(alarm, when);
    while (!alarm.fired) (void)a.context->progress(Microseconds(1'000'000));
    EXPECT_EQ(world_->now_us(), when);
}

TEST_F(WorldTime, StandsStillWithoutEvents) {
    EXPECT_FALSE(world_->advance());
    EXPECT_EQ(world_->next_event_us(), time_never);
    const TimeUs start = world_->now_us();
    world_->run_to(start + 500);
    EXPECT_EQ(world_->now_us(), start + 500);
    world_->run_to(start);
    EXPECT_EQ(world_->now_us(), start + 500);
}

TEST_F(WorldTime, AStoppedProcessDoesNotBlockOthers) {
    Node& a = open("a");
    (void)open("b");
    world_->stop("b");
    const TimeUs start = world_->now_us();
    (void)a.context->progress(Microseconds(100));
    EXPECT_EQ(world_->now_us(), start + 100);
}

// Otherwise closing the context of a killed process would wait for the op for ever.
TEST_F(WorldTime, AnOpCanceledInFlightEndsWhenItsProcessIsKilled) {
    WorldOptions options;
    options.profile = Profile::rdma_strict;  // this profile does not cancel ops that are in flight
    world_ = World::make(options);
    Node& a = open("a");
    Node& b = open("b");
    na::Peer* const peer = a.context->peer(na::Addr::parse("sim://b").value()).value();
    peer->acquire();
    WalkOp sent;
    sent.op.kind = na::OpKind::send_unexpected;
    sent.op.peer = peer;
    sent.op.message = peer->port().take_message();
    sent.op.message_bytes = 8;
    ASSERT_EQ(a.context->post_owned(sent.op), Errc::ok);
    for (int i = 0; i < 10'000 && peer->state() != na::PeerState::connected; ++i) {
        (void)a.context->progress(Microseconds(1));
        (void)b.context->progress(Microseconds(1));
    }
    ASSERT_EQ(peer->state(), na::PeerState::connected);
    a.context->cancel_owned(sent.op);
    (void)a.context->progress(Microseconds(0));
    ASSERT_EQ(sent.completions, 0u);
    world_->kill("a");
    (void)a.context->progress(Microseconds(0));
    EXPECT_EQ(sent.completions, 1u);
    peer->release();
}

TEST_F(WorldTime, NamesAreTakenWhileTheirProcessLives) {
    (void)open("a");
    EXPECT_EQ(world_->open("a", {}).code(), Errc::exists);
    EXPECT_EQ(world_->open("", {}).code(), Errc::bad_address);
    world_->kill("a");
    EXPECT_TRUE(world_->open("a", {}).ok());
}

TEST_F(WorldTime, WorldsByAddressAreSharedByNumber) {
    na::Registry registry;
    ASSERT_TRUE(registry.add(plugin_info).ok());
    const auto a = registry.open("sim://a?world=5", {}).value();
    EXPECT_EQ(registry.open("sim://a?world=5", {}).code(), Errc::exists);
    const auto b = registry.open("sim://b?world=5", {}).value();
    const auto other = registry.open("sim://a?world=6", {}).value();
    EXPECT_EQ(a->clock(), b->clock());
    EXPECT_NE(a->clock(), other->clock());
}

class WorldDeath : public WorldTime {
  protected:
    // A get that is in flight while its memory is deregistered.
    void get_into_nowhere() {
        WorldOptions options;
        options.profile = Profile::rdma_strict;
        world_ = World::make(options);
        Node& a = open("a");
        std::array<std::byte, 64> bytes{};
        const na::Segment segment{bytes.data(), bytes.size()};
        auto memory = a.transport->register_memory({&segment, 1}, na::Access::read_write).value();
        na::Lease lease;
        lease.memory = memory.get();
        lease.bytes = 64;
        (void)a.transport->grant(lease);
        std::vector<std::byte> key(a.transport->described_bytes(lease));
        ByteWriter writer(key);
        a.transport->describe(lease, writer);
        na::Peer* peer = a.context->peer(a.addr()).value();
        peer->acquire();
        na::Op op;
        op.kind = na::OpKind::get;
        op.peer = peer;
        op.local = memory.get();
        op.remote = {key, 64};
        op.bytes = 64;
        op.complete = [](na::Op&) noexcept {};
        (void)a.context->post_owned(op);
        memory.reset();
        for (int i = 0; i < 1000; ++i) (void)a.context->progress(Microseconds(1000));
    }
};

TEST_F(WorldDeath, AnAccessThroughMemoryThatIsNotRegisteredAborts) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(get_into_nowhere(), "registered");
}

}  // namespace
}  // namespace cinnabar::sim
