// SPDX-License-Identifier: BSD-3-Clause
// The caller's side of a collective call: chooses the targets and returns the outcome.
#include "bounded.hpp"
#include "tree_run.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

constexpr std::size_t scatter_flat_max = 8;
constexpr std::size_t scatter_tree_bytes_max = std::size_t{256} << 10;
// The same limit as for a chain; the caller needs a connection to each.
constexpr std::size_t near_max = 64;
// To find out whether an address is near may take a system call.
constexpr std::size_t near_looked_at_max = 1024;

bool has(const std::vector<Rank>& ranks, Rank rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

// Returns the targets in the order of the tree. The ranks after this process's own come first, so that different
// callers load different members.
std::vector<Rank> targets_of(const detail::CollectiveCall& call, const View& view, Rank self,
                             std::vector<Failure>& failures, std::vector<HolderRun>& holders) {
    std::vector<Rank> wanted(view.present().begin(), view.present().end());
    if (!call.everybody) {
        wanted = call.only;
        std::sort(wanted.begin(), wanted.end());
        wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    }
    std::vector<Rank> targets;
    for (const Rank rank : wanted) {
        if (has(call.except, rank)) continue;
        const Member* member = view.find(rank);
        if (!member || !is_present(member->state)) {
            failures.push_back({rank, member ? Errc::peer_lost : Errc::not_found, 0, {}});
            continue;
        }
        targets.push_back(rank);
        add_holder(holders, rank, holder_of(member->incarnation));
    }
    const auto after_self = std::upper_bound(targets.begin(), targets.end(), self);
    if (self != no_rank) std::rotate(targets.begin(), after_self, targets.end());
    return targets;
}

// Removes from `targets`, and returns, the members on this host that copy directly from the caller's memory. Each of
// these members then needs one copy, and none waits for another one.
std::vector<Rank> take_near(Core& core, const detail::CollectiveCall& call, std::vector<Rank>& targets) {
    std::vector<Rank> near;
    if (!call.portion || call.tree != Tree::automatic || !call.portion->lends()) return near;
    std::vector<Rank> others;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const Rank rank = targets[i];
        bool is_one = rank != core.rank() && i < near_looked_at_max && near.size() < near_max;
        if (is_one) {
            const Core::Route route = core.route(rank);
            is_one = route.present && is_near(core.node, route.address);
        }
        (is_one ? near : others).push_back(rank);
    }
    targets = std::move(others);
    return near;
}

std::shared_ptr<TreeRequest> request_of(Core& core, detail::CollectiveCall& call, std::size_t members) {
    auto request = std::make_shared<TreeRequest>();
    Shape shape = shape_for(call.tree, call.fanout, members, call.input.size());
    if (call.portion) {
        request->terms = call.portion->terms();
        shape = bulk_shape_for(call.tree, call.fanout, members, request->terms.bytes, request->terms.chunk_bytes);
    }
    request->group = core.group();
    request->to = core.rank();
    request->id = core.next_call();
    request->rpc = call.rpc.id;
    request->shape = call.shape;
    request->mode = call.mode;
    request->tree = shape.tree;
    request->fanout = static_cast<std::uint8_t>(shape.fanout);
    request->input = std::move(call.input);
    request->inputs = std::move(call.inputs);
    return request;
}

// Whether a tree is faster: with a tree the caller needs connections and calls to only a few members, but the bytes are
// sent once per level.
bool is_many_and_little(const std::vector<detail::CollectiveCall>& calls) {
    std::size_t bytes = 0;
    for (const detail::CollectiveCall& call : calls) {
        if (call.failed != Errc::ok) return false;
        bytes += call.input.size();
    }
    return calls.size() > scatter_flat_max && bytes <= scatter_tree_bytes_max;
}

detail::CollectiveCall in_one_tree(std::vector<detail::CollectiveCall> calls) {
    detail::CollectiveCall all = calls.front();
    all.input.clear();
    all.only.clear();
    for (detail::CollectiveCall& call : calls) {
        all.only.push_back(call.only.front());
        all.inputs.push_back({call.only.front(), std::move(call.input)});
    }
    return all;
}

hl::Task<TreeAnswer> run_all(std::shared_ptr<Core> core, std::shared_ptr<const TreeRequest> request,
                             std::vector<Rank> targets, std::vector<Rank> near, const detail::CollectiveCall& call) {
    const Rank self = core->rank();
    const bool local = self != no_rank && std::erase(targets, self) != 0;
    hl::Caller caller = call.counts ? core->started.with(call.priority) : core->passed_on;
    TreeRun run(core, std::move(request), call.combine, call.portion, std::move(caller), {}, call.gone);
    auto task = run.run(std::move(targets), local, std::move(near));
    co_return co_await task;
}

}  // namespace

hl::Task<Result<detail::Collected>> collect_as_of(std::shared_ptr<Core> core, detail::CollectiveCall call,
                                                  std::optional<View> as_of) {
    if (call.failed != Errc::ok) co_return call.failed;
    if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
    detail::Collected collected;
    const View view = as_of ? *as_of : core->view();
    std::vector<HolderRun> holders;
    std::vector<Rank> targets = targets_of(call, view, core->rank(), collected.failures, holders);
    if (targets.empty()) co_return collected;
    std::vector<Rank> near = take_near(*core, call, targets);
    auto request = request_of(*core, call, targets.size());
    request->holders = std::move(holders);
    auto all = run_all(core, std::move(request), std::move(targets), std::move(near), call);
    auto timed = run_bounded(core, std::move(all), call.deadline, call.stop);
    TreeAnswer answer = co_await timed;
    if (call.portion) {
        auto ending = PortionState::call_ended(call.portion);
        co_await ending;
    }
    collected.count = static_cast<std::size_t>(answer.count);
    collected.parts = std::move(answer.parts);
    collected.combined = std::move(answer.combined);
    for (Failure& failure : answer.failures) collected.failures.push_back(std::move(failure));
    std::sort(collected.parts.begin(), collected.parts.end(),
              [](const detail::Part& a, const detail::Part& b) { return a.rank < b.rank; });
    std::sort(collected.failures.begin(), collected.failures.end(),
              [](const Failure& a, const Failure& b) { return a.rank < b.rank; });
    co_return collected;
}

namespace detail {

hl::Task<Result<Collected>> collect(std::shared_ptr<Core> core, CollectiveCall call) {
    return collect_as_of(std::move(core), std::move(call), std::nullopt);
}

hl::Task<Result<Collected>> collect_each(std::shared_ptr<Core> core, std::vector<CollectiveCall> calls) {
    if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
    if (is_many_and_little(calls)) {
        auto collecting = collect(core, in_one_tree(std::move(calls)));
        co_return co_await collecting;
    }
    std::vector<Rank> ranks;
    std::vector<hl::Task<Result<Collected>>> tasks;
    for (CollectiveCall& call : calls) {
        ranks.push_back(call.only.front());
        tasks.push_back(collect(core, std::move(call)));
    }
    auto all = hl::when_all(std::move(tasks));
    std::vector<Result<Collected>> outcomes = co_await all;
    Collected together;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        Result<Collected>& one = outcomes[i];
        if (!one) {
            together.failures.push_back({ranks[i], one.code(), 0, {}});
            continue;
        }
        together.count += one->count;
        for (Part& part : one->parts) together.parts.push_back(std::move(part));
        for (Failure& failure : one->failures) together.failures.push_back(std::move(failure));
    }
    co_return together;
}

}  // namespace detail
}  // namespace cinnabar::group
