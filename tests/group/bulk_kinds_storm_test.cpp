// SPDX-License-Identifier: BSD-3-Clause
// Random calls that move a region for each rank, from one seed: scatters, gathers and all-to-alls, while connections
// break, members die and join, the network is partitioned, and calls are canceled at any moment. Whoever is counted has
// the right bytes, and no memory changes after its call has ended.
#include "bulk_group.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <set>
#include <stop_token>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using Parts = std::map<Rank, Memory>;
using Regions = std::map<Rank, bulk::Region>;

inline constexpr Rpc<void(std::uint64_t)> storm_take{"test.storm_take"};
inline constexpr Rpc<void(std::uint64_t)> storm_give{"test.storm_give"};

constexpr std::byte handler_is_over{0xbb};
constexpr std::byte call_is_over{0xcc};

// The bytes that `from` has for `to` in one call. The caller of a scatter or a gather counts as rank 0.
std::uint64_t pattern_of(std::uint64_t key, Rank from, Rank to) { return key << 16 | from << 8 | to; }

bool consists_of(const Memory& memory, std::byte value) {
    return std::all_of(memory.begin(), memory.end(), [value](std::byte each) { return each == value; });
}

// Memory that is no longer in use is overwritten with these bytes; the patterns contain no such runs.
bool has_bytes_of_others(const Memory& memory) {
    const auto has_run_of = [&](std::byte value) {
        return std::search_n(memory.begin(), memory.end(), 64, value) != memory.end();
    };
    return has_run_of(handler_is_over) || has_run_of(call_is_over);
}

// One call at its caller.
struct PartsCall {
    Parts given;
    Parts taken;
    std::optional<group::Reached> reached;
    std::set<Rank> right;  // from these, the right bytes had come when the call ended
    bool stale = false;
    bool ended = false;

    [[nodiscard]] Regions give() { return regions_of(given); }
    [[nodiscard]] Regions take() { return regions_of(taken); }
    // The call has ended, so nobody else uses its memory from now on.
    void end(std::uint64_t key, Rank self, const Result<group::Reached>& result) {
        if (result.ok()) reached = *result;
        for (auto& [rank, memory] : taken) {
            if (memory == pattern(memory.size(), pattern_of(key, rank, self))) right.insert(rank);
            stale = stale || has_bytes_of_others(memory);
            std::fill(memory.begin(), memory.end(), call_is_over);
        }
        for (auto& [rank, memory] : given) std::fill(memory.begin(), memory.end(), call_is_over);
        ended = true;
    }

  private:
    static Regions regions_of(Parts& parts) {
        Regions regions;
        for (auto& [rank, memory] : parts) regions[rank] = region_of(memory);
        return regions;
    }
};

Task<void> scatter_parts(group::Group group, std::uint64_t key, BulkOptions options, std::stop_token stop,
                         PartsCall& call) {
    options.call.stop = &stop;
    auto task = group.scatter_bulk(storm_take, key, call.give(), options);
    const auto result = co_await task;
    call.end(key, 0, result);
}

Task<void> gather_parts(group::Group group, std::uint64_t key, BulkOptions options, std::stop_token stop,
                        PartsCall& call) {
    options.call.stop = &stop;
    auto task = group.gather_bulk(storm_give, key, call.take(), options);
    const auto result = co_await task;
    call.end(key, 0, result);
}

Task<void> exchange_parts(group::Group group, std::uint64_t key, BulkOptions options, std::stop_token stop,
                          PartsCall& call) {
    options.call.stop = &stop;
    auto task = group.all_to_all("swap " + std::to_string(key), call.give(), call.take(), options);
    const auto result = co_await task;
    call.end(key, group.rank(), result);
}

enum class PartsKind { scatter, gather, all_to_all };

class PartsStorm {
  public:
    explicit PartsStorm(std::uint64_t seed)
        : random_(seed),
          all_(4 + seed % 4, seed,
               {.profile = seed % 2 == 0 ? sim::Profile::friendly : sim::Profile::rdma_strict,
                .host_bytes_per_us = 20,
                .reset_one_in = seed % 3 == 0 ? 60u : 0u,
                .late_one_in = 30}) {
        for (std::size_t i = 0; i < all_.size(); ++i) serve(all_[i]);
        client_ = all_.client();
    }
    ~PartsStorm() {
        client_->group.reset();
        client_->node.reset();
    }
    PartsStorm(const PartsStorm&) = delete;
    PartsStorm& operator=(const PartsStorm&) = delete;

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
        for (const Made& made : made_) {
            if (made.call) check(made);
        }
        for (const auto& [at, run] : runs_) check(run);
    }

  private:
    struct Made {
        PartsKind kind;
        std::uint64_t key;
        SimMember* owner;
        std::unique_ptr<PartsCall> call = std::make_unique<PartsCall>();  // null: its caller has died
    };
    // What a handler did.
    struct HandlerRun {
        Memory memory;
        int times = 0;
        bool moved = false;
        bool right = false;
        bool stale = false;
        bool ended = false;
    };

    void serve(SimMember& member) {
        const auto takes = [this](const group::CallInfo& info, std::uint64_t key,
                                  Portion portion) -> Task<Result<void>> {
            const Rank self = info.self;
            HandlerRun& run = runs_[{key, self}];
            ++run.times;
            run.memory.resize(portion.bytes());
            auto receiving = portion.receive(Bytes(run.memory));
            const Result<void> received = co_await receiving;
            run.moved = received.ok();
            run.right = run.moved && run.memory == pattern(run.memory.size(), pattern_of(key, 0, self));
            run.stale = has_bytes_of_others(run.memory);
            std::fill(run.memory.begin(), run.memory.end(), handler_is_over);
            run.ended = true;
            co_return received;
        };
        member.group->serve_bulk(storm_take, takes).value();
        const auto gives = [this](const group::CallInfo& info, std::uint64_t key,
                                  Portion portion) -> Task<Result<void>> {
            const Rank self = info.self;
            HandlerRun& run = runs_[{key, self}];
            ++run.times;
            run.memory = pattern(portion.bytes(), pattern_of(key, self, 0));
            auto sending = portion.send(ConstBytes(run.memory));
            const Result<void> sent = co_await sending;
            run.moved = run.right = sent.ok();
            std::fill(run.memory.begin(), run.memory.end(), handler_is_over);
            run.ended = true;
            co_return sent;
        };
        member.group->serve_bulk(storm_give, gives).value();
    }
    SimMember& some_member() {
        for (;;) {
            SimMember& member = all_[random_.below(all_.size())];
            if (!member.dead) return member;
        }
    }
    BulkOptions some_options() {
        BulkOptions options;
        options.call.deadline = Microseconds(10'000 + random_.below(5'000'000));
        options.chunk_bytes = 4096 << random_.below(3);
        options.chunks_in_flight = static_cast<unsigned>(1 + random_.below(4));
        options.members_in_flight = static_cast<unsigned>(1 + random_.below(4));
        options.checksum = random_.chance(2);
        return options;
    }
    void begin_call() {
        const std::uint64_t key = ++keys_;
        const auto kind = static_cast<PartsKind>(random_.below(3));
        stops_.emplace_back();
        if (kind != PartsKind::all_to_all) {
            begin_at(random_.chance(4) ? *client_ : some_member(), kind, key, 0, some_options());
            return;
        }
        const std::size_t bytes = 1 + random_.below(30'000);
        const BulkOptions options = some_options();
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!all_[i].dead && !random_.chance(8)) begin_at(all_[i], kind, key, bytes, options);
        }
    }
    // Without `bytes`, each part has a size of its own.
    void begin_at(SimMember& member, PartsKind kind, std::uint64_t key, std::size_t bytes, const BulkOptions& options) {
        made_.push_back({kind, key, &member});
        PartsCall& call = *made_.back().call;
        const Rank self = kind == PartsKind::all_to_all ? member.group->rank() : 0;
        const group::View view = member.group->view();
        for (const Rank rank : view.present()) {
            const std::size_t size = bytes != 0 ? bytes : random_.below(60'000);
            if (kind != PartsKind::gather) call.given[rank] = pattern(size, pattern_of(key, self, rank));
            if (kind != PartsKind::scatter) call.taken[rank].resize(size);
        }
        const auto begin = kind == PartsKind::scatter  ? scatter_parts
                           : kind == PartsKind::gather ? gather_parts
                                                       : exchange_parts;
        (void)member.node->spawn(begin(*member.group, key, options, stops_.back().get_token(), call));
    }
    void disturb() {
        const auto what = random_.below(7);
        SimMember& one = some_member();
        SimMember& other = some_member();
        if (what <= 1 && all_.alive() > 3) {
            all_.kill(one);
            for (Made& made : made_) {
                if (made.owner == &one) made.call.reset();
            }
        } else if (what == 2 && &one != &other) {
            all_.partition(one, other);
        } else if (what == 3 && &one != &other) {
            all_.world().reset_connections(one.host, other.host);
        } else if (what == 4) {
            all_.heal();
        } else if (what == 5 && all_.size() < 9) {
            all_.heal();
            if (all_.converge(0s)) serve(all_.add());  // else two members may get the same rank
        }
    }

    void check(const Made& made) const {
        const PartsCall& call = *made.call;
        ASSERT_TRUE(call.ended) << "no call waits for ever";
        EXPECT_FALSE(call.stale) << "read from memory whose call or handler was over";
        for (const auto* parts : {&call.given, &call.taken}) {
            for (const auto& [rank, memory] : *parts)
                EXPECT_TRUE(consists_of(memory, call_is_over)) << "the caller's memory after its call, rank " << rank;
        }
        if (!call.reached) return;
        std::set<Rank> counted;
        for (const auto& [rank, memory] : made.kind == PartsKind::scatter ? call.given : call.taken)
            counted.insert(rank);
        for (const auto& failure : call.reached->failures)
            EXPECT_EQ(counted.erase(failure.rank), 1u) << "rank " << failure.rank;
        EXPECT_EQ(call.reached->count, counted.size());
        for (const Rank rank : counted) {
            if (made.kind != PartsKind::scatter) {
                EXPECT_TRUE(call.right.contains(rank)) << "bytes of rank " << rank;
            }
            if (made.kind == PartsKind::all_to_all) continue;
            const auto run = runs_.find({made.key, rank});
            ASSERT_NE(run, runs_.end()) << rank << " counts, and ran nothing";
            EXPECT_TRUE(run->second.right) << rank;
        }
    }
    static void check(const HandlerRun& run) {
        EXPECT_EQ(run.times, 1) << "a handler ran twice for one call";
        EXPECT_FALSE(run.stale) << "read from memory whose call or handler was over";
        EXPECT_EQ(run.moved, run.right) << "whoever received has the right bytes";
        EXPECT_TRUE(!run.ended || consists_of(run.memory, handler_is_over)) << "a member's memory after its handler";
    }

    Random random_;
    std::uint64_t keys_ = 0;
    std::map<std::pair<std::uint64_t, Rank>, HandlerRun> runs_;  // by call and rank; these outlive the members
    std::vector<Made> made_;
    SimGroup all_;
    std::unique_ptr<SimMember> client_;
    std::vector<std::stop_source> stops_;
};

TEST(storm, bulk_scatters_gathers_and_all_to_alls_keep_their_promises) {
    for_each_seed([](std::uint64_t seed) { PartsStorm(seed).run(); }, 15);
}

}  // namespace
}  // namespace cinnabar::test
