// SPDX-License-Identifier: BSD-3-Clause
#include "perf/group_load.hpp"

#include "perf/clock.hpp"
#include "perf/group_bulk.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace cinnabar::tools::perf {
namespace {

using cinnabar::group::Group;
using cinnabar::group::Rank;

using Numbers = std::vector<std::uint64_t>;
constexpr hl::Rpc<void(std::string)> receive{"cinnabar.perf.group.receive"};
constexpr hl::Rpc<Numbers(std::uint64_t)> give{"cinnabar.perf.group.give"};
constexpr Microseconds longest_round{10'000'000};
constexpr std::uint32_t warm_up = 20;

struct AddUp {
    void operator()(Numbers& into, const Numbers& more) const {
        into.resize(std::max(into.size(), more.size()));
        for (std::size_t i = 0; i < more.size(); ++i) into[i] += more[i];
    }
};

hl::Task<Outcome> broadcast(Group group, const Among& among, const std::string& bytes) {
    auto calling = group.broadcast(receive, bytes, among.options());
    const auto told = co_await calling;
    co_return outcome_of(told, told.ok() && told->count == among.size());
}

hl::Task<Outcome> reduce(Group group, const Among& among, std::uint64_t count) {
    auto calling = group.reduce(give, count, AddUp{}, among.options());
    const auto told = co_await calling;
    const auto is_sum = [&](std::uint64_t each) { return each == among.size(); };
    const bool right = told.ok() && told->value && told->value->size() == count &&
                       std::all_of(told->value->begin(), told->value->end(), is_sum);
    co_return outcome_of(told, right);
}

hl::Task<Outcome> barrier(Group group, const Among& among) {
    auto passing = group.barrier("cinnabar perf group", among.options());
    const auto told = co_await passing;
    co_return outcome_of(told, told.ok() && told->count == among.size());
}

hl::Task<GroupFigures> run_rounds(Group group, GroupRow row) {
    GroupFigures figures;
    const Among among(row, row.collective != Collective::broadcast);
    const std::string bytes(row.bytes, 'x');
    for (std::uint32_t round = 0; round < warm_up + row.rounds; ++round) {
        const std::uint64_t from = now_ns();
        hl::Task<Outcome> one = row.collective == Collective::broadcast ? broadcast(group, among, bytes)
                                : row.collective == Collective::reduce  ? reduce(group, among, row.bytes / 8)
                                                                        : barrier(group, among);
        const Outcome outcome = co_await one;
        const std::uint64_t took = now_ns() - from;
        if (round >= warm_up) figures.record(outcome, took);
    }
    co_return figures;
}

}  // namespace

std::string_view to_string(Collective collective) noexcept {
    constexpr std::string_view names[] = {"broadcast",      "reduce",       "barrier",
                                          "bulk.broadcast", "bulk.scatter", "bulk.gather"};
    return names[static_cast<unsigned>(collective)];
}

void GroupFigures::record(const Outcome& outcome, std::uint64_t took_ns) {
    if (outcome.failed != Errc::ok) {
        ++failed[outcome.failed];
    } else if (!outcome.right) {
        ++wrong;
    } else {
        times.record(took_ns);
    }
}

Among::Among(const GroupRow& row, bool with_self) : ranks_(row.members) {
    std::iota(ranks_.begin(), ranks_.end(), Rank{0});
    if (!with_self) ranks_.erase(ranks_.begin());
}

cinnabar::group::CollectiveOptions Among::options() const { return {.deadline = longest_round, .only = ranks_}; }

Result<void> serve_rows(const Group& group, const std::shared_ptr<BulkMemory>& memory) {
    CINNABAR_TRY_VOID(serve_bulk_rows(group, memory));
    CINNABAR_TRY_VOID(group.serve(receive, [](const std::string&) {}));
    return group.serve(
        give, [](std::uint64_t count) { return Numbers(std::min<std::uint64_t>(count, 1 << 20), 1); }, AddUp{});
}

hl::Task<Result<void>> all_here(Group group, Microseconds patience) {
    auto passing = group.barrier("cinnabar perf group: rows", {.deadline = patience});
    const auto passed = co_await passing;
    if (!passed) co_return passed.error();
    if (passed->all()) co_return Result<void>();
    co_return Error(passed->failures.front().code, "a member did not come to the next row",
                    "rank " + std::to_string(passed->failures.front().rank));
}

hl::Task<Result<GroupFigures>> run_row(Group group, GroupRow row, std::shared_ptr<BulkMemory> memory,
                                       Microseconds patience) {
    auto gathering = all_here(group, patience);
    const Result<void> begun = co_await gathering;
    if (!begun) co_return begun.error();
    const bool takes_part = row.collective == Collective::barrier ? group.rank() < row.members : group.rank() == 0;
    if (!takes_part) co_return GroupFigures();
    if (is_bulk(row.collective)) {
        auto moving = run_bulk_rounds(group, row, std::move(memory));
        co_return co_await moving;
    }
    auto running = run_rounds(group, row);
    co_return co_await running;
}

}  // namespace cinnabar::tools::perf
