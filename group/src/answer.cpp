// SPDX-License-Identifier: BSD-3-Clause
// Answers a call at a member: runs the handler once and sends the result to every process that requests it.
#include "bounded.hpp"
#include "bulk_terms.hpp"
#include "tree_run.hpp"

#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

hl::Task<void> execute(std::shared_ptr<Core> core, std::shared_ptr<Execution> execution,
                       std::shared_ptr<const TreeRequest> request, std::vector<Rank> below, na::Addr source) {
    const auto served = core->served.find(request->rpc);
    std::shared_ptr<PortionState> portion;
    if (request->terms.way != Way::none) {
        Asking asking{core->node, core->options.provider, request->terms, execution->sources};
        portion = std::make_shared<PortionState>(std::move(asking), core->offers);
    }
    TreeRun run(core, request, served ? served->combine : detail::Combine(), std::move(portion), core->passed_on,
                std::move(source));
    auto all = run.run(std::move(below), true, {});
    TreeAnswer answer = co_await all;
    core->executions.end(*execution, std::move(answer), core->now_us());
}

Errc begin(const std::shared_ptr<Core>& core, const std::shared_ptr<Execution>& execution, TreeRequest& request,
           std::vector<Rank> below, const na::Addr& source, Microseconds left) {
    auto shared = std::make_shared<TreeRequest>(std::move(request));
    auto run = execute(core, execution, std::move(shared), std::move(below), source);
    auto stoppable = hl::with_stop(std::move(run), execution->stop.get_token());
    auto timed = hl::with_deadline(std::move(stoppable), std::min(left, longest_call));
    return core->node.spawn(std::move(timed));
}

// Checks whether the call may run here. Returns `done` if it may, otherwise the reason why not.
Answered examine(Core& core, const TreeRequest& request, const std::vector<Rank>& below, TreeAnswer& answer) {
    if (request.to != core.rank() || request.incarnation != core.incarnation()) {
        if (answer.claims.empty()) answer.claims = core.claims_of({request.to});
        return Answered::misrouted;
    }
    answer.unknown = core.unknown_of(below, request.holders);
    return answer.unknown.empty() ? Answered::done : Answered::unknown;
}

// Whether this process knows its group, and its program serves the Rpc or has had the time to do so.
bool is_ready(const Core& core, std::uint64_t group, rpc::RpcId rpc) {
    if (!core.is_member()) return false;
    return core.group() != group || core.served.find(rpc) || core.now_us() >= core.serves_by();
}

// How long a call waits until is_ready(). A call with members below waits only briefly and then goes back to its
// caller. The caller then calls those members itself, and calls this process without them, so that the members below do
// not wait for a program that hangs.
Microseconds patience(const std::vector<RankRun>& below, Microseconds left) {
    return below.empty() ? longest_call : std::min(left / 8, Microseconds(1'000'000));
}

// Waits until is_ready(), but for `span` at most. A process that begins together with others may be called before it
// knows them, and before its program serves the Rpc. A process that joins may be called while it reads the view.
// Returns an error if the call is over.
hl::Task<Errc> until_ready(std::shared_ptr<Core> core, std::uint64_t group, rpc::RpcId rpc, Microseconds span) {
    const TimeUs longest = after(core->now_us(), span);
    for (;;) {
        const bool begun = core->begun->is_set();
        const std::shared_ptr<Signal> next = begun ? core->served.next_added() : core->begun;
        const TimeUs end = begun ? std::min(core->serves_by(), longest) : longest;
        const TimeUs now = core->now_us();
        if (now >= end || core->closed() || is_ready(*core, group, rpc)) co_return Errc::ok;
        const Errc waited = co_await wait_for(core->node, next, Microseconds(end - now));
        if (waited == Errc::ok) continue;
        auto left = time_left(core);
        const Microseconds rest = co_await left;
        if (waited != Errc::timed_out || rest.count() == 0) co_return waited;
    }
}

bool well_formed(const Terms& terms, bool has_below) {
    if (std::chrono::milliseconds(terms.come_back_ms) > come_back_max) return false;
    if (terms.way == Way::none) return true;
    if (terms.way > Way::from_members || (terms.way == Way::from_members && has_below)) return false;
    return terms.chunk_bytes >= chunk_bytes_min && terms.chunk_bytes <= chunk_bytes_max && terms.window >= 1 &&
           terms.window <= window_max;
}

}  // namespace

hl::Task<Result<TreeAnswer>> answer_call(std::shared_ptr<Core> core, hl::Request<TreeRequest> incoming) {
    TreeRequest& request = *incoming;
    if (!is_ready(*core, request.group, request.rpc)) {
        const Microseconds span = patience(request.below, incoming.time_left());
        auto preparing = until_ready(core, request.group, request.rpc, span);
        const Errc prepared = co_await preparing;
        if (prepared != Errc::ok) co_return prepared;
        if (!request.below.empty() && !core->closed() && !is_ready(*core, request.group, request.rpc)) {
            TreeAnswer later;
            later.answered = Answered::unknown;
            later.time = core->clock.now().bits();
            co_return later;
        }
    }
    if (!core->is_member()) co_return Error(Errc::shutting_down, "this process is not a member yet");
    if (request.group != core->group()) co_return Error(Errc::not_found, "no member of that group runs here");
    const bool shaped = request.mode <= detail::Mode::reduce && request.tree <= Tree::chain && request.fanout >= 2 &&
                        request.fanout <= 64 && request.claims.size() <= claims_max &&
                        request.holders.size() <= core->options.swim.members_max && is_ascending(request.holders);
    auto below = ranks_of(request.below, core->options.swim.members_max);
    if (!shaped || !below || !well_formed(request.terms, !below->empty()) ||
        std::find(below->begin(), below->end(), request.to) != below->end())
        co_return Errc::protocol;
    core->learn(request.claims, false);
    core->hear_time(request.time, no_rank);
    TreeAnswer meta;
    bool too_old = false;
    const Stamp of_caller = request.stamp;
    meta.claims = core->missing_since(request.stamp, too_old);
    meta.answered = examine(*core, request, *below, meta);
    meta.time = core->clock.now().bits();
    if (meta.answered != Answered::done) co_return meta;
    // A repeated delivery (`again`) to a member that was lost may continue a call, but must not begin one: the call may
    // have ended here and been forgotten since.
    const bool again = request.terms.way != Way::none && request.terms.again;
    const auto found = again ? core->executions.find(request.id, core->now_us())
                             : core->executions.find_or_begin(request.id, incoming.source(), core->now_us(),
                                                              std::chrono::milliseconds(request.terms.come_back_ms));
    if (found.forgotten && again) co_return Error(Errc::not_found, "the call has not begun here, or was forgotten");
    if (found.forgotten)
        co_return Error(Errc::timed_out, "it has run, and its answer was dropped to make room for later ones");
    if (!found.execution && core->closed()) co_return Errc::shutting_down;
    if (!found.execution) co_return Error(Errc::overloaded, "too many calls of the group are in progress here");
    if (again)
        found.execution->sources->add_spare(incoming.source(), request.terms.ticket);
    else if (request.terms.way != Way::none)
        found.execution->sources->add(incoming.source(), request.terms.ticket);
    if (found.fresh &&
        begin(core, found.execution, request, *std::move(below), incoming.source(), incoming.time_left()) != Errc::ok) {
        TreeAnswer none;
        none.answered = Answered::misrouted;  // for other deliveries, which may be waiting already
        core->executions.end(*found.execution, std::move(none), core->now_us());
        core->executions.stop_waiting(*found.execution, core->now_us());
        co_return Errc::shutting_down;
    }
    const Errc waited = co_await wait_for(core->node, found.execution->ended);
    core->executions.stop_waiting(*found.execution, core->now_us());
    if (waited != Errc::ok) co_return waited;
    TreeAnswer answer = found.execution->answer;
    answer.time = core->clock.now().bits();
    answer.claims = core->missing_since(of_caller, too_old);  // including claims received from the members below
    co_return answer;
}

}  // namespace cinnabar::group
