// SPDX-License-Identifier: BSD-3-Clause
#include "perf/group_bulk.hpp"

#include "perf/clock.hpp"
#include "perf/pattern.hpp"

#include <algorithm>
#include <map>

namespace cinnabar::tools::perf {
namespace {

using cinnabar::group::CallInfo;
using cinnabar::group::Group;
using cinnabar::group::Portion;
using cinnabar::group::Rank;
using cinnabar::group::Reached;

// The contents of a rank's memory in a round.
struct Filling {
    std::uint64_t seed = 0;
    std::uint64_t bytes = 0;
    bool by_rank = false;  // the pattern differs from rank to rank

    [[nodiscard]] std::uint64_t seed_of(Rank rank) const noexcept { return by_rank ? seed + rank : seed; }
};

constexpr hl::Rpc<void(std::uint64_t)> load{"cinnabar.perf.group.load"};
constexpr hl::Rpc<void(std::uint64_t)> store{"cinnabar.perf.group.store"};
constexpr hl::Rpc<void(Filling)> fill{"cinnabar.perf.group.fill"};
constexpr hl::Rpc<std::uint64_t(Filling)> compare{"cinnabar.perf.group.compare"};
constexpr Microseconds longest_bulk_round{60'000'000};
constexpr std::uint32_t bulk_warm_up = 2;
constexpr std::uint64_t seeds_per_round = 1 << 20;  // more than the number of ranks

// Runs one row at rank 0.
class Rounds {
  public:
    Rounds(Group group, const GroupRow& row, bulk::Region memory)
        : group_(std::move(group)), row_(row), among_(row, false), memory_(std::move(memory)) {
        options_.call = among_.options();
        options_.call.deadline = longest_bulk_round;
        if (row_.collective == Collective::broadcast_bulk) return;
        for (Rank rank = 1; rank < row_.members; ++rank)
            each_.emplace(rank, memory_.slice((rank - 1) * row_.bytes, row_.bytes));
    }

    hl::Task<GroupFigures> run() {
        GroupFigures figures;
        for (std::uint32_t round = 0; round < bulk_warm_up + row_.rounds; ++round) {
            const Filling filling{(round + 1) * seeds_per_round, row_.bytes, !each_.empty()};
            Outcome outcome = co_await prepare(filling);
            const std::uint64_t from = now_ns();
            if (outcome.failed == Errc::ok && outcome.right) outcome = co_await move(filling);
            const std::uint64_t took = now_ns() - from;
            if (outcome.failed == Errc::ok && outcome.right) outcome = co_await check(filling);
            if (round >= bulk_warm_up) figures.record(outcome, took);
        }
        co_return figures;
    }

  private:
    [[nodiscard]] bool gathers() const noexcept { return row_.collective == Collective::gather_bulk; }

    hl::Task<Outcome> prepare(Filling filling) {
        if (gathers()) {
            auto filling_all = group_.broadcast(fill, filling, options_.call);
            const auto told = co_await filling_all;
            co_return outcome_of(told, told.ok() && told->count == among_.size());
        }
        if (each_.empty()) fill_pattern(memory_.contiguous(), filling.seed);
        for (const auto& [rank, region] : each_) fill_pattern(region.contiguous(), filling.seed_of(rank));
        co_return Outcome{};
    }

    hl::Task<Outcome> move(Filling filling) {
        auto moving = gathers()       ? group_.gather_bulk(store, filling.seed, each_, options_)
                      : each_.empty() ? group_.broadcast_bulk(load, filling.seed, memory_, options_)
                                      : group_.scatter_bulk(load, filling.seed, each_, options_);
        const Result<Reached> told = co_await moving;
        co_return outcome_of(told, told.ok() && told->count == among_.size());
    }

    hl::Task<Outcome> check(Filling filling) {
        if (gathers()) {
            const auto came = [&](const auto& one) {
                return has_pattern(one.second.contiguous(), filling.seed_of(one.first));
            };
            co_return Outcome{Errc::ok, std::all_of(each_.begin(), each_.end(), came)};
        }
        auto comparing = group_.reduce(compare, filling, cinnabar::group::plus, options_.call);
        const auto told = co_await comparing;
        co_return outcome_of(told, told.ok() && told->value == among_.size());
    }

    Group group_;
    GroupRow row_;
    Among among_;
    bulk::Region memory_;                // for a broadcast: the bytes to send
    std::map<Rank, bulk::Region> each_;  // otherwise: the memory for each rank
    cinnabar::group::BulkOptions options_;
};

}  // namespace

Result<bulk::Region> BulkMemory::first(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (region_.empty() || region_.bytes() < bytes) {
        region_ = {};
        CINNABAR_TRY(region_, node_.allocate(bytes, na::Access::read_write));
    }
    return region_.slice(0, bytes);
}

Result<void> serve_bulk_rows(const Group& group, const std::shared_ptr<BulkMemory>& memory) {
    const auto loads = [memory](std::uint64_t, Portion portion) -> hl::Task<Result<void>> {
        CINNABAR_CO_TRY(const bulk::Region region, memory->first(portion.bytes()));
        auto receiving = portion.receive(region);
        co_return co_await receiving;
    };
    const auto stores = [memory](std::uint64_t, Portion portion) -> hl::Task<Result<void>> {
        CINNABAR_CO_TRY(const bulk::Region region, memory->first(portion.bytes()));
        auto sending = portion.send(region);
        co_return co_await sending;
    };
    const auto fills = [memory](const CallInfo& info, const Filling& filling) -> Result<void> {
        CINNABAR_TRY(const bulk::Region region, memory->first(filling.bytes));
        fill_pattern(region.contiguous(), filling.seed_of(info.self));
        return {};
    };
    const auto compares = [memory](const CallInfo& info, const Filling& filling) -> Result<std::uint64_t> {
        CINNABAR_TRY(const bulk::Region region, memory->first(filling.bytes));
        return has_pattern(region.contiguous(), filling.seed_of(info.self)) ? 1 : 0;
    };
    CINNABAR_TRY_VOID(group.serve_bulk(load, loads));
    CINNABAR_TRY_VOID(group.serve_bulk(store, stores));
    CINNABAR_TRY_VOID(group.serve(fill, fills));
    return group.serve(compare, compares, cinnabar::group::plus);
}

hl::Task<Result<GroupFigures>> run_bulk_rounds(Group group, GroupRow row, std::shared_ptr<BulkMemory> memory) {
    const bool each = row.collective != Collective::broadcast_bulk;
    CINNABAR_CO_TRY(bulk::Region region, memory->first(each ? row.bytes * (row.members - 1) : row.bytes));
    Rounds rounds(std::move(group), row, std::move(region));
    auto running = rounds.run();
    co_return co_await running;
}

}  // namespace cinnabar::tools::perf
