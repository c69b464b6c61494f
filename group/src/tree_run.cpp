// SPDX-License-Identifier: BSD-3-Clause
// Runs a collective call at one member: sends it to the branches below, waits for members that may come back, takes
// over the branches of members that are dead, adds up the answers, and runs the handler of this process.
#include "tree_run.hpp"

#include "bounded.hpp"

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/call_ending.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <algorithm>
#include <set>
#include <utility>

namespace cinnabar::group {
namespace {

constexpr unsigned attempts_max = 2;
constexpr std::size_t text_max = 256;

// The remaining time, less a reserve for returning the answer. The levels of a chain share that reserve.
Microseconds for_child(Microseconds left, std::size_t levels) {
    return left - std::min(left / 8, Microseconds(50'000)) / static_cast<std::int64_t>(levels);
}

// After these errors the called member may be dead, but the members below it may still be reachable.
bool may_be_dead(Errc code) noexcept {
    return code == Errc::peer_lost || code == Errc::refused || code == Errc::unreachable;
}

// Whether a process failed the call because it has left the group, is ending, or has been replaced by another one. No
// handler has then run in that process, because a handler's error is inside the answer, and does not fail the call.
bool takes_no_part(Errc code) noexcept {
    return code == Errc::no_such_rpc || code == Errc::not_found || code == Errc::shutting_down;
}

// The attempts of a call are listed at the end of its error.
std::string last_of(const std::string& text) {
    return text.size() <= text_max ? text : text.substr(text.size() - text_max);
}

// The branches that a member leaves to its caller. Empty if they have more than `ranks_max` ranks.
std::optional<std::vector<Branch>> orphans_of(const TreeAnswer& answer, std::size_t ranks_max) {
    std::vector<Branch> branches;
    for (const Orphan& orphan : answer.orphans) {
        auto below = ranks_of(orphan.below, ranks_max);
        if (!below || below->size() >= ranks_max) return {};
        ranks_max -= 1 + below->size();
        branches.push_back({orphan.child, *std::move(below)});
    }
    return branches;
}

// Whether the answer of a member below covers `branch`: each rank exactly once, with a result, with a failure, or in
// one of the branches `left` to the caller.
bool adds_up(const Branch& branch, const TreeAnswer& answer, const std::vector<Branch>& left, detail::Mode mode) {
    std::set<Rank> asked(branch.below.begin(), branch.below.end());
    asked.insert(branch.child);
    std::size_t told = answer.failures.size();
    for (const Branch& each : left) told += 1 + each.below.size();
    if (answer.count > asked.size() || answer.count + told != asked.size()) return false;
    if (mode == detail::Mode::gather && answer.parts.size() != answer.count) return false;
    for (const Failure& failure : answer.failures) {
        if (failure.code == Errc::ok || asked.erase(failure.rank) == 0) return false;
    }
    for (const Branch& each : left) {
        // Rejects the child itself, which would otherwise be called for ever.
        if (each.child == branch.child || asked.erase(each.child) == 0) return false;
        for (const Rank rank : each.below) {
            if (rank == branch.child || asked.erase(rank) == 0) return false;
        }
    }
    if (mode != detail::Mode::gather) return true;
    return std::all_of(answer.parts.begin(), answer.parts.end(),
                       [&](const detail::Part& part) { return asked.erase(part.rank) != 0; });
}

TreeRequest request_to(const TreeRequest& of_all, const Branch& branch) {
    TreeRequest request = of_all;
    request.to = branch.child;
    request.below = runs_of(branch.below);
    request.claims.clear();
    request.holders.clear();
    if (request.inputs.empty() && of_all.holders.empty()) return request;
    std::set<Rank> ranks(branch.below.begin(), branch.below.end());
    ranks.insert(branch.child);
    for (const Rank rank : ranks) add_holder(request.holders, rank, holder_in(of_all.holders, rank));
    std::erase_if(request.inputs, [&](const detail::Part& part) { return !ranks.contains(part.rank); });
    return request;
}

// Whether the process that has this rank now is the one that the caller of the whole call means.
bool is_meant(const TreeRequest& request, Rank rank, std::uint32_t incarnation) {
    return holder_of(incarnation) == holder_in(request.holders, rank);
}

hl::Task<void> set_after(std::vector<hl::Task<void>> tasks, std::shared_ptr<Signal> ended) {
    auto all = hl::when_all(std::move(tasks));
    co_await all;
    ended->set();
}

// A member that has left does not come back to a call.
bool has_left(const View& view, Rank rank) {
    const Member* const member = view.find(rank);
    return member && member->state == State::left;
}

}  // namespace

hl::Task<TreeAnswer> TreeRun::run(std::vector<Rank> below, bool local, std::vector<Rank> near) {
    std::vector<Branch> branches = branches_of(below, shape());
    for (const Rank rank : near) branches.push_back({rank, {}});
    std::vector<hl::Task<void>> tasks = deliveries_to(std::move(branches));
    auto left = time_left(core_);
    if (local) {
        const Microseconds span = for_handler(co_await left, below.size());
        if (!tasks.empty() && runs_after_below()) {
            auto ended = std::make_shared<Signal>();
            auto deliveries = set_after(std::exchange(tasks, {}), ended);
            tasks.push_back(std::move(deliveries));
            tasks.push_back(run_after(std::move(ended), span));
        } else {
            tasks.push_back(run_handler(span));
        }
    }
    auto all = hl::when_all(std::move(tasks));
    co_await all;
    co_return std::move(sum_);
}

bool TreeRun::runs_after_below() const {
    const auto served = core_->served.find(request_->rpc);
    return served && served->after_below;
}

// Runs the handler after the members below have ended, but waits for them for at most a quarter of the time, and at
// most a period, so that a member that hangs does not delay the members above for longer.
hl::Task<void> TreeRun::run_after(std::shared_ptr<Signal> below_ended, Microseconds span) {
    const TimeUs end = after(core_->now_us(), span);
    (void)co_await wait_for(core_->node, std::move(below_ended), std::min(span / 4, core_->options.swim.period));
    const TimeUs now = core_->now_us();
    auto running = run_handler(Microseconds(end > now ? end - now : 0));
    co_await running;
}

std::vector<hl::Task<void>> TreeRun::deliveries_to(std::vector<Branch> branches) {
    std::vector<hl::Task<void>> tasks;
    if (leaves() || (portion_ && !portion_->can_offer())) {
        leave_to_caller(branches);
        return tasks;
    }
    for (Branch& branch : branches)
        tasks.push_back(deliver(std::move(branch), portion_ ? portion_->offer() : Offers::Kept()));
    return tasks;
}

hl::Task<Result<TreeAnswer>> TreeRun::call(const TreeRequest& request, const Core::Route& route,
                                           const Offers::Kept& offer, std::size_t below) {
    hl::CallOptions options;
    options.provider = core_->options.provider;
    options.stop = &route.lost;
    auto left = time_left(core_);
    options.deadline = for_child(co_await left, levels(below));
    const TimeUs end = after(core_->now_us(), *options.deadline);
    auto call = caller_.call(tree_rpc, route.address, request, options);
    if (!offer) co_return told_apart(co_await call, end);
    auto stoppable = hl::with_stop(std::move(call), offer->given_up.get_token());
    co_return told_apart(co_await stoppable, end);
}

// If a member is cut off, connecting to it times out before the time of the call is over. Such an error becomes
// `unreachable`, so that it is not taken for the end of the call's time.
Result<TreeAnswer> TreeRun::told_apart(Result<TreeAnswer> answer, TimeUs end) const {
    if (answer || answer.code() != Errc::timed_out || !waits_for_lost() || core_->now_us() >= end) return answer;
    const auto ending = hl::call_ending(answer.error());
    if (!ending || ending->was_sent) return answer;
    return Errc::unreachable;
}

hl::Task<void> TreeRun::deliver(Branch branch, Offers::Kept offer) {
    const hl::TaskContext* task = co_await hl::this_task();
    const hl::StopScope* stop = task ? task->stop_scope() : nullptr;
    TreeRequest request = request_to(*request_, branch);
    if (offer) request.terms.ticket = offer->ticket;
    // A member that passes the bytes on gets them in chunks, because it can pass on a chunk sooner than a piece.
    request.terms.lends = branch.below.empty() && portion_ && portion_->lends();
    Open open;
    bool comes_back = false;
    for (unsigned attempt = 0; !open; ++attempt) {
        if (leaves()) {
            open.emplace(1, branch);
            break;
        }
        const Core::Route route = core_->route(branch.child);
        comes_back = !route.present && may_come_back(branch.child);
        if (comes_back) {
            open = branches_of(branch.below, shape());
            break;
        }
        if (!route.present || !is_meant(*request_, branch.child, route.incarnation)) {
            open = without_child(branch, gone_);
            break;
        }
        request.stamp = core_->stamp();
        request.time = core_->clock.now().bits();
        request.incarnation = route.incarnation;
        auto calling = call(request, route, offer, branch.below.size());
        const Result<TreeAnswer> answer = co_await calling;
        const bool stopped = stop && stop->stopped();
        if (!answer && (leaves() || (offer && offer->given_up.stop_requested() && !stopped))) {
            open.emplace(1, branch);
            break;
        }
        comes_back = !answer && may_come_back(answer.code(), route, stopped);
        if (comes_back) {
            core_->doubt(branch.child);
            open = branches_of(branch.below, shape());
        } else {
            open = weigh(branch, answer, route, request, attempt, stopped);
        }
    }
    if (open->empty() && !comes_back) co_return;
    std::vector<hl::Task<void>> tasks = deliveries_to(*std::move(open));
    if (comes_back) tasks.push_back(await_return(branch, std::move(request), std::move(offer)));
    auto all = hl::when_all(std::move(tasks));
    offer.end();  // not earlier: the members that this process took over must have begun
    co_await all;
}

// A member that this process has excluded may have begun the call: another process may have called that member, and
// then have been lost as well.
bool TreeRun::may_come_back(Rank rank) const {
    if (!waits_for_lost()) return false;
    const View view = core_->view();
    const Member* const member = view.find(rank);
    return member && member->state == State::excluded;
}

// `canceled`: this process has excluded the member, or the member is leaving.
bool TreeRun::may_come_back(Errc code, const Core::Route& route, bool stopped) const noexcept {
    if (!waits_for_lost() || stopped) return false;
    return may_be_dead(code) || (code == Errc::canceled && route.lost.stop_requested());
}

hl::Task<void> TreeRun::await_return(Branch branch, TreeRequest request, Offers::Kept offer) {
    const hl::TaskContext* task = co_await hl::this_task();
    const hl::StopScope* stop = task ? task->stop_scope() : nullptr;
    // Leaves time to return the answer, which has the results of all other members below.
    auto left = time_left(core_);
    const Microseconds longest = for_child(co_await left, levels(branch.below.size()));
    const Microseconds come_back = std::chrono::milliseconds(request.terms.come_back_ms);
    const TimeUs end = after(core_->now_us(), std::min(come_back, longest));
    request.terms.again = true;
    request.below.clear();
    for (Microseconds pause{10'000};; pause = std::min(pause * 2, Microseconds(250'000))) {
        const TimeUs now = core_->now_us();
        const Errc slept = co_await core_->node.sleep_for(std::min(pause, Microseconds(end > now ? end - now : 0)));
        const bool given_up = leaves() || (offer && offer->given_up.stop_requested());
        if (slept != Errc::ok || given_up || core_->now_us() >= end || has_left(core_->view(), branch.child)) {
            fail(branch.child, slept == Errc::ok ? Errc::peer_lost : slept);
            co_return;
        }
        const Core::Route route = core_->route(branch.child);
        if (!route.present) continue;
        if (!is_meant(*request_, branch.child, route.incarnation)) {
            fail(branch.child, gone_);
            co_return;
        }
        request.stamp = core_->stamp();
        request.time = core_->clock.now().bits();
        request.incarnation = route.incarnation;
        auto calling = call(request, route, offer, 0);
        const Result<TreeAnswer> answer = co_await calling;
        const bool stopped = stop && stop->stopped();
        if (!answer) {
            const Errc code = answer.code();
            if (may_come_back(code, route, stopped)) continue;
            if (code == Errc::timed_out || stopped) tell_canceled(route.address);
            const bool takes_none = takes_no_part(code) || (code == Errc::canceled && !stopped);
            fail(branch.child, takes_none ? gone_ : code);
            co_return;
        }
        if (answer->answered == Answered::done || answer->claims.size() > claims_max) {
            take_alone(branch, *answer);
            co_return;
        }
        core_->learn(answer->claims, !core_->is_member());  // the member has its next incarnation, or this process has
    }
}

void TreeRun::take_alone(const Branch& branch, const TreeAnswer& answer) {
    const auto left = orphans_of(answer, branch.below.size());
    const bool sound =
        answer.answered == Answered::done && answer.claims.size() <= claims_max && left &&
        (adds_up(branch, answer, *left, request_->mode) || adds_up({branch.child, {}}, answer, *left, request_->mode));
    if (!sound) return fail(branch.child, Errc::protocol);
    core_->learn(answer.claims, !core_->is_member());
    core_->hear_time(answer.time, branch.child);
    const auto own = std::find_if(answer.failures.begin(), answer.failures.end(),
                                  [&](const Failure& failure) { return failure.rank == branch.child; });
    const std::lock_guard lock(mutex_);
    if (own == answer.failures.end()) {
        ++sum_.count;
        return;
    }
    sum_.failures.push_back(*own);
    if (own->text.size() > text_max) sum_.failures.back().text.resize(text_max);
}

TreeRun::Open TreeRun::weigh(const Branch& branch, const Result<TreeAnswer>& answer, const Core::Route& route,
                             TreeRequest& request, unsigned attempt, bool stopped) {
    if (!answer) return weigh_failure(branch, answer.error(), route, stopped);
    if (answer->claims.size() > claims_max || answer->unknown.size() > claims_max) {
        fail_all(branch, Errc::protocol);
        return Open::value_type();
    }
    core_->learn(answer->claims, !core_->is_member());
    core_->hear_time(answer->time, branch.child);
    if (answer->answered == Answered::done) return take(branch, *answer);
    const std::size_t pages = answer->answered == Answered::unknown ? branch.below.size() / claims_max : 0;
    if (attempt < attempts_max + pages) {
        request.claims = core_->claims_of(answer->unknown);
        return {};
    }
    if (answer->answered == Answered::unknown && !branch.below.empty()) {
        // The child does not know all members below it, so it cannot call them. It still runs its own handler if it is
        // called alone.
        std::vector<Branch> open = branches_of(branch.below, shape());
        open.push_back({branch.child, {}});
        return open;
    }
    return without_child(branch, gone_);
}

// `canceled`, if this side did not stop the call, comes from a member that is leaving the group.
std::vector<Branch> TreeRun::weigh_failure(const Branch& branch, const Error& error, const Core::Route& route,
                                           bool stopped) {
    Errc code = error.code;
    if (code == Errc::timed_out || (code == Errc::canceled && stopped)) {
        tell_canceled(route.address);
        fail_all(branch, code, last_of(error.subject));
        return {};
    }
    if (takes_no_part(code)) code = gone_;
    if (may_be_dead(code)) core_->doubt(branch.child);
    return without_child(branch, code == Errc::canceled ? Errc::peer_lost : code, last_of(error.subject));
}

std::vector<Branch> TreeRun::take(const Branch& branch, const TreeAnswer& answer) {
    auto left = orphans_of(answer, branch.below.size());
    Errc failed = left && adds_up(branch, answer, *left, request_->mode) ? Errc::ok : Errc::protocol;
    if (failed == Errc::ok) failed = add_combined(answer.combined, answer.count);
    if (failed != Errc::ok) {
        fail_all(branch, failed);
        return {};
    }
    const std::lock_guard lock(mutex_);
    for (const detail::Part& part : answer.parts) sum_.parts.push_back(part);
    for (const Failure& failure : answer.failures) {
        sum_.failures.push_back(failure);
        if (failure.text.size() > text_max) sum_.failures.back().text.resize(text_max);
    }
    return *std::move(left);
}

Errc TreeRun::add_combined(const std::vector<std::byte>& output, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    if (request_->mode == detail::Mode::reduce && count != 0) {
        if (!combine_) return Errc::unsupported;
        Errc combined = Errc::ok;
        if (sum_.count == 0)
            sum_.combined = output;
        else
            combined = combine_(request_->input, sum_.combined, output);
        if (combined != Errc::ok) return combined;
    }
    sum_.count += count;
    return Errc::ok;
}

void TreeRun::fail(Rank rank, Errc code, std::string text) {
    const std::lock_guard lock(mutex_);
    sum_.failures.push_back({rank, code, 0, std::move(text)});
}

std::vector<Branch> TreeRun::without_child(const Branch& branch, Errc code, std::string text) {
    fail(branch.child, code, std::move(text));
    return branches_of(branch.below, shape());
}

void TreeRun::fail_all(const Branch& branch, Errc code, std::string text) {
    fail(branch.child, code, std::move(text));
    for (const Rank rank : branch.below) fail(rank, code);
}

void TreeRun::tell_canceled(const na::Addr& child) const {
    hl::CallOptions options;
    options.provider = core_->options.provider;
    options.deadline = Microseconds(1'000'000);
    core_->node.call(cancel_message, child, request_->group, request_->id, options).then([](const Result<void>&) {});
}

void TreeRun::leave_to_caller(const std::vector<Branch>& branches) {
    const std::lock_guard lock(mutex_);
    for (const Branch& branch : branches) sum_.orphans.push_back({branch.child, runs_of(branch.below)});
}

const detail::Encoded* TreeRun::own_input() const noexcept {
    if (request_->inputs.empty()) return &request_->input;
    const auto own = std::find_if(request_->inputs.begin(), request_->inputs.end(),
                                  [this](const detail::Part& part) { return part.rank == request_->to; });
    return own == request_->inputs.end() ? nullptr : &own->bytes;
}

// An answer with the results of members below needs time for the way back, even if this process's own handler hangs.
Microseconds TreeRun::for_handler(Microseconds left, std::size_t below) const {
    const bool answers_for_others = below != 0 && request_->id.origin != core_->process;
    return answers_for_others ? for_child(left, levels(below)) : left;
}

hl::Task<detail::LocalOutcome> TreeRun::run_served(const detail::ServedRpc& served) {
    const CallInfo info{request_->to, request_->id.origin, request_->id.number, source_};
    const detail::Encoded* input = own_input();
    if (!input) co_return detail::LocalOutcome{Errc::protocol, 0, {}, {}};
    if (!portion_) {
        auto running = served.run(info, *input);
        co_return co_await running;
    }
    auto running = served.run_bulk(info, *input, Portion(portion_));
    co_return co_await running;
}

hl::Task<void> TreeRun::run_handler(Microseconds span) {
    const auto served = core_->served.find(request_->rpc);
    detail::LocalOutcome outcome;
    if (!served) {
        outcome.code = Errc::no_such_rpc;
    } else if (served->shape != request_->shape || (portion_ ? !served->run_bulk : !served->run)) {
        outcome.code = Errc::bad_signature;
    } else {
        auto running = run_until(core_->node, run_served(*served), after(core_->now_us(), span));
        outcome = co_await running;
    }
    if (portion_) {
        auto ending = PortionState::handler_ended(portion_);
        co_await ending;
    }
    if (outcome.code == Errc::ok) outcome.code = add_combined(outcome.output, 1);
    const std::lock_guard lock(mutex_);
    if (outcome.text.size() > text_max) outcome.text.resize(text_max);
    if (outcome.code != Errc::ok)
        sum_.failures.push_back({request_->to, outcome.code, outcome.app_code, std::move(outcome.text)});
    else if (request_->mode == detail::Mode::gather)
        sum_.parts.push_back({request_->to, std::move(outcome.output)});
}

}  // namespace cinnabar::group
