// SPDX-License-Identifier: BSD-3-Clause
// Random broadcasts, scatters, barriers and all-reduces from one seed, by members and clients, while connections break,
// members die, leave and join, the network is partitioned, and calls are canceled at any moment.
#include "sim_group.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stop_token>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;

// What a broadcast or a scatter gave to its caller.
struct NoteOutcome {
    bool ended = false;
    std::optional<group::Reached> reached;
    std::set<group::Rank> asked;
};

// A barrier or an all-reduce that each process makes once.
struct Barrier {
    std::string name;
    std::size_t arrived = 0;  // processes that have made the call
};
struct BarrierOutcome {
    bool ended = false;
    std::optional<group::Reached> reached;
    std::optional<group::Reduced<std::uint64_t>> reduced;
    std::size_t arrived = 0;  // processes that had made the call when this one ended
};

// The value of an all-reduce counts how often each process has contributed, in a field for each.
constexpr unsigned field_bits = 5;
constexpr std::size_t processes_max = 12;
std::uint64_t contribution_of(std::size_t process) { return std::uint64_t{1} << (field_bits * process); }
std::uint64_t contributions_of(std::uint64_t sum, std::size_t process) {
    return (sum >> (field_bits * process)) & ((1u << field_bits) - 1);
}

std::string text_for(const std::string& call, group::Rank rank) { return call + " for " + std::to_string(rank); }

Task<void> broadcast_note(group::Group group, std::string call, group::CollectiveOptions options, std::stop_token stop,
                          NoteOutcome& out) {
    options.stop = &stop;
    const group::View view = group.view();
    out.asked.insert(view.present().begin(), view.present().end());
    auto task = group.broadcast(note, call, options);
    auto result = co_await task;
    if (result.ok()) out.reached = *std::move(result);
    out.ended = true;
}

Task<void> scatter_notes(group::Group group, std::string call, group::CollectiveOptions options, std::stop_token stop,
                         NoteOutcome& out) {
    options.stop = &stop;
    const group::View view = group.view();
    out.asked.insert(view.present().begin(), view.present().end());
    std::map<group::Rank, std::string> texts;
    for (const group::Rank rank : out.asked) texts[rank] = text_for(call, rank);
    auto task = group.scatter(note, texts, options);
    auto result = co_await task;
    if (result.ok()) out.reached = *std::move(result);
    out.ended = true;
}

Task<void> meet_at_barrier(group::Group group, Barrier& barrier, group::CollectiveOptions options, std::stop_token stop,
                           BarrierOutcome& out) {
    options.stop = &stop;
    ++barrier.arrived;
    auto task = group.barrier(barrier.name, options);
    auto result = co_await task;
    if (result.ok()) out.reached = *std::move(result);
    out.arrived = barrier.arrived;
    out.ended = true;
}

Task<void> meet_and_reduce(group::Group group, Barrier& barrier, std::uint64_t value, group::CollectiveOptions options,
                           std::stop_token stop, BarrierOutcome& out) {
    options.stop = &stop;
    ++barrier.arrived;
    auto task = group.all_reduce(barrier.name, value, group::plus, options);
    auto result = co_await task;
    if (result.ok()) out.reduced = *std::move(result);
    out.arrived = barrier.arrived;
    out.ended = true;
}

void expect_distinct(const std::vector<group::Failure>& failures) {
    std::set<group::Rank> ranks;
    for (const auto& failure : failures) EXPECT_TRUE(ranks.insert(failure.rank).second) << "rank " << failure.rank;
}

class KindsStorm {
  public:
    explicit KindsStorm(std::uint64_t seed)
        : random_(seed), group_(4 + seed % 5, seed, {.reset_one_in = seed % 3 == 0 ? 40u : 0u, .late_one_in = 30}) {
        for (std::size_t i = 0; i < group_.size(); ++i) ranks_.push_back(group_[i].group->rank());
        client_ = group_.client();
    }
    ~KindsStorm() {
        client_->group.reset();
        client_->node.reset();
    }
    KindsStorm(const KindsStorm&) = delete;
    KindsStorm& operator=(const KindsStorm&) = delete;

    void run() {
        for (int step = 0; step < 10; ++step) {
            begin_call();
            disturb();
            group_.run_for(Microseconds(random_.below(400'000)));
            if (random_.chance(3)) stops_[random_.below(stops_.size())].request_stop();
        }
        group_.heal();
        group_.run_for(8s);
        for (const NoteCall& call : notes_) check(call);
        for (const BarrierCall& call : barriers_) check(call);
        group_.calm();
        EXPECT_TRUE(group_.converge(200s)) << "views converge after the last change";
    }

  private:
    struct NoteCall {
        std::string name;
        bool scattered;
        SimMember* owner;
        std::unique_ptr<NoteOutcome> outcome = std::make_unique<NoteOutcome>();  // null: its caller has died
    };
    struct BarrierCall {
        Barrier* barrier;
        SimMember* owner;
        std::unique_ptr<BarrierOutcome> outcome = std::make_unique<BarrierOutcome>();  // null: its caller has died
    };

    SimMember& some_member() {
        for (;;) {
            SimMember& member = group_[random_.below(group_.size())];
            if (!member.dead) return member;
        }
    }
    group::CollectiveOptions some_options() {
        group::CollectiveOptions options;
        options.deadline = Microseconds(10'000 + random_.below(5'000'000));
        options.tree = static_cast<group::Tree>(random_.below(5));
        options.fanout = static_cast<unsigned>(2 + random_.below(3));
        return options;
    }
    void begin_call() {
        const std::string name = "call " + std::to_string(++calls_);
        const auto kind = random_.below(4);
        if (kind < 2)
            begin_notes(name, kind == 1);
        else
            begin_barrier(name, kind == 3);
    }
    void begin_notes(const std::string& name, bool scattered) {
        SimMember& origin = random_.chance(4) ? *client_ : some_member();
        notes_.push_back({name, scattered, &origin});
        stops_.emplace_back();
        const auto begin = scattered ? scatter_notes : broadcast_note;
        (void)origin.node->spawn(
            begin(*origin.group, name, some_options(), stops_.back().get_token(), *notes_.back().outcome));
    }
    // One in eight does not come.
    void begin_barrier(const std::string& name, bool reduces) {
        made_.push_back(std::make_unique<Barrier>(Barrier{name}));
        Barrier& barrier = *made_.back();
        stops_.emplace_back();
        for (std::size_t i = 0; i < group_.size(); ++i) {
            if (group_[i].dead || random_.chance(8)) continue;
            barriers_.push_back({&barrier, &group_[i]});
            BarrierOutcome& outcome = *barriers_.back().outcome;
            const group::CollectiveOptions options = some_options();
            auto token = random_.chance(4) ? stops_.back().get_token() : std::stop_token();
            (void)(reduces
                       ? group_[i].node->spawn(
                             meet_and_reduce(*group_[i].group, barrier, contribution_of(i), options, token, outcome))
                       : group_[i].node->spawn(meet_at_barrier(*group_[i].group, barrier, options, token, outcome)));
        }
    }
    void disturb() {
        const auto what = random_.below(8);
        if (what == 0 && group_.alive() > 3) {
            SimMember& victim = some_member();
            group_.kill(victim);
            for (NoteCall& call : notes_) {
                if (call.owner == &victim) call.outcome.reset();
            }
            for (BarrierCall& call : barriers_) {
                if (call.owner == &victim) call.outcome.reset();
            }
        } else if (what == 1 && group_.size() < processes_max) {
            group_.heal();
            ranks_.push_back(group_.add().group->rank());
        } else if (what == 2) {
            SimMember& a = some_member();
            SimMember& b = some_member();
            if (&a != &b) group_.partition(a, b);
        } else if (what == 3) {
            group_.heal();
        } else if (what == 4 && group_.alive() > 3) {
            group_.leave(some_member());
        }
    }

    // Each member runs the handler at most once, and each that is counted has run it. Partitions may give one rank to
    // two processes, of which one ends.
    void check(const NoteCall& call) {
        std::map<group::Rank, std::size_t> runs;
        for (std::size_t i = 0; i < group_.size(); ++i) {
            const auto& notes = group_[i].notes;
            const std::string text = call.scattered ? text_for(call.name, ranks_[i]) : call.name;
            const auto times = std::count(notes.begin(), notes.end(), text);
            EXPECT_LE(times, 1) << "a handler ran twice for one call";
            if (times > 0) ++runs[ranks_[i]];
        }
        if (!call.outcome) return;
        EXPECT_TRUE(call.outcome->ended) << "no call waits for ever";
        if (!call.outcome->reached) return;
        std::set<group::Rank> counted = call.outcome->asked;
        for (const auto& failure : call.outcome->reached->failures) {
            EXPECT_EQ(counted.erase(failure.rank), 1u) << "rank " << failure.rank;
            EXPECT_NE(failure.code, Errc::protocol) << "nobody lies here: rank " << failure.rank;
        }
        EXPECT_EQ(call.outcome->reached->count, counted.size());
        for (const group::Rank rank : counted) EXPECT_TRUE(runs.contains(rank)) << rank << " counts, and ran nothing";
    }

    // Who is counted has arrived, and each contribution is combined once.
    void check(const BarrierCall& call) const {
        if (!call.outcome) return;
        const BarrierOutcome& outcome = *call.outcome;
        EXPECT_TRUE(outcome.ended) << "no call waits for ever";
        if (outcome.reached) {
            EXPECT_GE(outcome.reached->count, 1u);
            EXPECT_LE(outcome.reached->count, outcome.arrived) << "passed before those that are counted had come";
            expect_distinct(outcome.reached->failures);
        }
        if (!outcome.reduced) return;
        EXPECT_LE(outcome.reduced->count, outcome.arrived);
        expect_distinct(outcome.reduced->failures);
        std::size_t counted = 0;
        for (std::size_t i = 0; i < group_.size(); ++i) {
            const std::uint64_t times = contributions_of(outcome.reduced->value.value_or(0), i);
            EXPECT_LE(times, 1u) << "the contribution of process " << i;
            counted += times;
        }
        EXPECT_EQ(counted, outcome.reduced->count) << "each contribution once";
    }

    Random random_;
    unsigned calls_ = 0;
    std::vector<NoteCall> notes_;  // the calls and what they refer to outlive the members
    std::vector<std::unique_ptr<Barrier>> made_;
    std::vector<BarrierCall> barriers_;
    SimGroup group_;
    std::unique_ptr<SimMember> client_;
    std::vector<group::Rank> ranks_;  // of the processes
    std::vector<std::stop_source> stops_;
};

TEST(storm, broadcasts_scatters_barriers_and_all_reduces_keep_their_promises) {
    for_each_seed([](std::uint64_t seed) { KindsStorm(seed).run(); }, 6);
}

}  // namespace
}  // namespace cinnabar::test
