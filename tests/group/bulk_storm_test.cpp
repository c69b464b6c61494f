// SPDX-License-Identifier: BSD-3-Clause
// Random bulk calls from one seed, while connections break, members die, the network is partitioned, and calls are
// canceled at any moment. If a call succeeds, its bytes are right, and no memory changes after its call has ended.
#include "bulk_group.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <set>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;

inline constexpr Rpc<void(std::uint64_t)> storm_load{"test.storm_load"};

constexpr std::byte after_receiving{0xee};
constexpr std::byte after_calling{0xdd};

// The outcome of one call, at its caller.
struct BulkOutcome {
    Memory memory;
    std::optional<group::Reached> reached;
    std::set<Rank> asked;
    bool ended = false;
};

Task<void> broadcast_once(group::Group group, std::uint64_t key, BulkOptions options, std::stop_token stop,
                          BulkOutcome& out) {
    options.call.stop = &stop;
    const group::View view = group.view();
    out.asked.insert(view.present().begin(), view.present().end());
    auto task = group.broadcast_bulk(storm_load, key, region_of(out.memory), options);
    auto result = co_await task;
    if (result.ok()) out.reached = *std::move(result);
    std::fill(out.memory.begin(), out.memory.end(), after_calling);
    out.ended = true;
}

bool all_are(const Memory& memory, std::byte value) {
    return std::all_of(memory.begin(), memory.end(), [value](std::byte each) { return each == value; });
}

// Memory that is no longer in use is overwritten with these bytes; the patterns contain no such runs.
bool has_stale_bytes(const Memory& memory) {
    const auto has_run_of = [&](std::byte value) {
        return std::search_n(memory.begin(), memory.end(), 64, value) != memory.end();
    };
    return has_run_of(after_receiving) || has_run_of(after_calling);
}

// What the handlers of one member did, by call. Must outlive the member.
struct HandlersOf {
    struct Run {
        Memory memory;
        int times = 0;
        bool received = false;
        bool right = false;
        bool stale = false;
        bool ended = false;
    };
    std::map<std::uint64_t, Run> runs;
};

class BulkStorm {
  public:
    explicit BulkStorm(std::uint64_t seed)
        : random_(seed),
          all_(4 + seed % 5, seed,
               {.profile = seed % 2 == 0 ? sim::Profile::friendly : sim::Profile::rdma_strict,
                .host_bytes_per_us = 20,
                .reset_one_in = seed % 3 == 0 ? 60u : 0u,
                .late_one_in = 30}) {
        for (std::size_t i = 0; i < all_.size(); ++i) serve(all_[i]);
        client_ = all_.client();
    }
    ~BulkStorm() {
        client_->group.reset();
        client_->node.reset();
    }
    void run() {
        for (int step = 0; step < 6; ++step) {
            begin_call();
            all_.run_for(Microseconds(random_.below(20'000)));
            if (random_.chance(3)) stops_.back().request_stop();  // during the call
            disturb();
            all_.run_for(Microseconds(random_.below(200'000)));
            if (random_.chance(3)) stops_[random_.below(stops_.size())].request_stop();
        }
        all_.heal();
        all_.run_for(10s);
        for (std::size_t key = 0; key < outcomes_.size(); ++key) {
            if (outcomes_[key]) check(key, *outcomes_[key]);
        }
        for (const auto& handlers : handlers_) check(*handlers);
    }

  private:
    void serve(SimMember& member) {
        handlers_.push_back(std::make_unique<HandlersOf>());
        HandlersOf* own = handlers_.back().get();
        const auto handler = [own](std::uint64_t key, Portion portion) -> Task<Result<void>> {
            HandlersOf::Run& run = own->runs[key];
            ++run.times;
            run.memory.resize(portion.bytes());
            auto receiving = portion.receive(Bytes(run.memory));
            const Result<void> received = co_await receiving;
            run.received = received.ok();
            run.right = received.ok() && run.memory == pattern(run.memory.size(), key);
            run.stale = has_stale_bytes(run.memory);
            std::fill(run.memory.begin(), run.memory.end(), after_receiving);
            run.ended = true;
            co_return received;
        };
        member.group->serve_bulk(storm_load, handler).value();
    }
    SimMember& some_member() {
        for (;;) {
            SimMember& member = all_[random_.below(all_.size())];
            if (!member.dead) return member;
        }
    }
    void begin_call() {
        SimMember& origin = random_.chance(4) ? *client_ : some_member();
        const std::uint64_t key = outcomes_.size();
        outcomes_.push_back(std::make_unique<BulkOutcome>());
        owners_.push_back(&origin);
        stops_.emplace_back();
        outcomes_.back()->memory = pattern(random_.below(200'000), key);
        BulkOptions options;
        options.call.deadline = Microseconds(10'000 + random_.below(5'000'000));
        options.call.tree = static_cast<Tree>(random_.below(5));
        options.call.fanout = static_cast<unsigned>(2 + random_.below(3));
        options.chunk_bytes = 4096 << random_.below(3);
        options.chunks_in_flight = static_cast<unsigned>(1 + random_.below(4));
        options.checksum = random_.chance(2);
        if (random_.chance(3)) options.come_back = Microseconds(random_.below(2'000'000));
        (void)origin.node->spawn(
            broadcast_once(*origin.group, key, options, stops_.back().get_token(), *outcomes_.back()));
    }
    void disturb() {
        const auto what = random_.below(6);
        SimMember& one = some_member();
        SimMember& other = some_member();
        if (what <= 1 && all_.alive() > 3) {
            all_.kill(one);
            for (std::size_t i = 0; i < owners_.size(); ++i) {
                if (owners_[i] == &one) outcomes_[i].reset();  // its caller is dead, so there is no outcome
            }
        } else if (what == 2 && &one != &other) {
            all_.partition(one, other);
        } else if (what == 3 && &one != &other) {
            all_.world().reset_connections(one.host, other.host);
        } else if (what == 4) {
            all_.heal();
        }
    }
    void check(std::uint64_t key, const BulkOutcome& outcome) const {
        EXPECT_TRUE(outcome.ended) << "no call waits for ever";
        EXPECT_TRUE(all_are(outcome.memory, after_calling)) << "the caller's memory after its call";
        if (!outcome.reached) return;
        std::set<Rank> left = outcome.asked;
        for (const auto& failure : outcome.reached->failures) EXPECT_EQ(left.erase(failure.rank), 1u);
        EXPECT_EQ(outcome.reached->count, left.size());
        for (const Rank rank : left) {
            const auto run = handlers_[rank]->runs.find(key);
            ASSERT_NE(run, handlers_[rank]->runs.end()) << rank << " counts, and ran nothing";
            EXPECT_TRUE(run->second.right) << rank;
        }
    }
    static void check(const HandlersOf& handlers) {
        for (const auto& [key, run] : handlers.runs) {
            EXPECT_EQ(run.times, 1) << "a handler ran twice for one call";
            EXPECT_FALSE(run.stale) << "read from memory whose call or handler was over";
            EXPECT_EQ(run.received, run.right) << "whoever received has the right bytes";
            EXPECT_TRUE(!run.ended || all_are(run.memory, after_receiving)) << "a member's memory after receiving";
        }
    }

    Random random_;
    std::vector<std::unique_ptr<HandlersOf>> handlers_;  // must outlive the members
    std::vector<std::unique_ptr<BulkOutcome>> outcomes_;
    SimGroup all_;
    std::unique_ptr<SimMember> client_;
    std::vector<SimMember*> owners_;
    std::vector<std::stop_source> stops_;
};

TEST(storm, bulk_broadcasts_keep_their_promises) {
    for_each_seed([](std::uint64_t seed) { BulkStorm(seed).run(); }, 15);
}

}  // namespace
}  // namespace cinnabar::test
