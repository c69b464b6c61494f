// SPDX-License-Identifier: BSD-3-Clause
#include "all_reduce.hpp"

#include "barrier_arrivals.hpp"
#include "bounded.hpp"

#include <cinnabar/group/served.hpp>

#include <algorithm>

namespace cinnabar::group {
namespace {

using detail::Collected;
using detail::CollectiveCall;
using detail::Encoded;
using detail::Mode;

// Combines all values into one.
Errc fold(const detail::Combine& combine, std::vector<Encoded>& values) {
    while (values.size() > 1) {
        if (const Errc failed = combine({}, values.front(), values.back()); failed != Errc::ok) return failed;
        values.pop_back();
    }
    return Errc::ok;
}

// Adds the values of other members. Only members that have arrived know the combiner; others forward values uncombined.
Errc combine_arrived(const detail::Combine& combine, Encoded& into, const Encoded& more) {
    Arrived a;
    Arrived b;
    if (const Errc failed = rpc::decode(ConstBytes(into), a); failed != Errc::ok) return failed;
    if (const Errc failed = rpc::decode(ConstBytes(more), b); failed != Errc::ok) return failed;
    if (b.released.round > a.released.round) a.released = std::move(b.released);
    for (Encoded& value : b.values) a.values.push_back(std::move(value));
    if (combine) {
        if (const Errc failed = fold(combine, a.values); failed != Errc::ok) return failed;
    }
    return detail::encode_into(into, a);
}

template <typename R, typename In>
CollectiveCall call_of(const R& rpc, Mode mode, const In& in, const CollectiveCall& wanted) {
    CollectiveCall call = wanted;
    call.rpc = rpc.name();
    call.shape = rpc::shape_of<typename R::Input>();
    call.mode = mode;
    call.failed = detail::encode_into(call.input, in);
    return call;
}

// Three quarters of the remaining time, so that some is left for the following steps.
Microseconds at_least_some(Microseconds left) { return std::max(left - left / 4, Microseconds(1)); }

// Collects the values of all members, waiting until all have arrived.
hl::Task<Result<Arrived>> collect_values(std::shared_ptr<Core> core, Arrive ask, CollectiveCall wanted,
                                         detail::Combine combine, Release& release) {
    CollectiveCall call = call_of(arrive_rpc, Mode::reduce, ask, wanted);
    call.combine = [combine](const Encoded&, Encoded& into, const Encoded& more) {
        return combine_arrived(combine, into, more);
    };
    auto left = time_left(core);
    call.deadline = at_least_some(co_await left);
    auto collecting = detail::collect(core, std::move(call));
    Result<Collected> collected = co_await collecting;
    if (!collected) co_return collected.code();
    if (collected->count == 0) co_return Errc::timed_out;
    Arrived all;
    Errc failed = rpc::decode(ConstBytes(collected->combined), all);
    if (failed == Errc::ok && combine) failed = fold(combine, all.values);
    if (failed != Errc::ok) co_return failed;
    release = {ask.name, ask.round, {}, collected->count, std::move(collected->failures)};
    if (!all.values.empty()) release.result = std::move(all.values.front());
    co_return all;
}

// The leader's part: collects all values, then releases the members.
hl::Task<Errc> lead(std::shared_ptr<Core> core, std::string name, CollectiveCall wanted, detail::Combine combine) {
    for (int attempt = 0; attempt < 3; ++attempt) {
        Arrive ask{name, 0, core->arrivals->last(name)};
        ask.round = ask.previous.round + 1;
        Release release;
        auto collecting = collect_values(core, ask, wanted, combine, release);
        Result<Arrived> all = co_await collecting;
        if (!all) co_return all.code();
        if (all->released.round > ask.round) {
            // This member joined late and has missed rounds.
            core->arrivals->skip_to(all->released);
            continue;
        }
        if (all->released.round == ask.round) release = std::move(all->released);
        CollectiveCall release_call = call_of(release_rpc, Mode::count, release, wanted);
        auto rest = time_left(core);
        release_call.deadline = at_least_some(co_await rest);
        core->arrivals->release(release);
        auto releasing = detail::collect(core, std::move(release_call));
        const Result<Collected> released = co_await releasing;
        co_return released.code();
    }
    co_return Errc::protocol;
}

Rank leader_of(const CollectiveCall& call, const View& view) {
    for (const Rank rank : view.present()) {
        const auto listed = [rank](const std::vector<Rank>& ranks) {
            return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
        };
        if ((call.everybody || listed(call.only)) && !listed(call.except)) return rank;
    }
    return no_rank;
}

// Asks `leader` for its last release under this name, and takes that release over. The leader before it has died, and
// may have released only some members; a released member no longer leads, but can report the release.
hl::Task<void> ask_whether_released(std::shared_ptr<Core> core, std::string name, Rank leader, CollectiveCall wanted) {
    CollectiveCall call = call_of(released_rpc, Mode::gather, name, wanted);
    call.everybody = false;
    call.only = {leader};
    call.except.clear();
    auto left = time_left(core);
    call.deadline = std::max(std::min(co_await left, core->options.swim.period), Microseconds(1));
    auto asking = detail::collect(core, std::move(call));
    const Result<Collected> answer = co_await asking;
    Release last;
    if (!answer || answer->parts.size() != 1) co_return;
    if (rpc::decode(ConstBytes(answer->parts.front().bytes), last) == Errc::ok && last.name == name)
        core->arrivals->catch_up(last);
}

hl::Task<Errc> pass(std::shared_ptr<Core> core, std::string name, std::shared_ptr<Arrival> arrival,
                    CollectiveCall wanted) {
    const Rank first_leader = leader_of(wanted, core->view());
    for (;;) {
        const Rank leader = leader_of(wanted, core->view());
        if (leader == core->rank()) {
            auto leading = lead(core, name, wanted, arrival->combine);
            const Errc led = co_await leading;
            if (arrival->released->is_set()) co_return Errc::ok;
            if (led != Errc::ok) co_return led;
        }
        // Checks periodically whether the leader died, since this member may be the next leader.
        const Errc waited = co_await wait_for(core->node, arrival->released, core->options.swim.period);
        if (waited == Errc::ok) co_return waited;
        auto rest = time_left(core);
        const Microseconds left = co_await rest;
        if (waited != Errc::timed_out || left.count() == 0) co_return waited;
        if (core->closed()) co_return Errc::closed;
        if (leader == first_leader || leader == core->rank() || leader == no_rank) continue;
        auto asking = ask_whether_released(core, name, leader, wanted);
        co_await asking;
    }
}

hl::Task<Result<Collected>> arrive_and_pass(std::shared_ptr<Core> core, std::string name, Encoded value,
                                            CollectiveCall wanted) {
    if (!core->is_member()) co_return Error(Errc::permission, "only members take part; join the group");
    auto arrived = core->arrivals->arrive(name, std::move(value), wanted.combine);
    if (!arrived) co_return arrived.error();
    const std::shared_ptr<Arrival> arrival = *arrived;
    auto passing = pass(core, name, arrival, std::move(wanted));
    const Errc passed = co_await passing;
    if (!arrival->released->is_set()) {
        core->arrivals->depart(name);
        co_return passed == Errc::ok ? Errc::timed_out : passed;
    }
    Collected collected;
    collected.count = static_cast<std::size_t>(arrival->release.count);
    collected.combined = arrival->release.result;
    collected.failures = arrival->release.failures;
    co_return collected;
}

}  // namespace

Result<void> serve_arrivals(const std::shared_ptr<Core>& core) {
    const std::shared_ptr<BarrierArrivals> arrivals = core->arrivals;
    auto arrive =
        detail::served_by(arrive_rpc, [arrivals](const Arrive& asked) { return arrivals->await_arrival(asked); });
    arrive.combine = [arrivals](const Encoded& input, Encoded& into, const Encoded& more) {
        Arrive asked;
        if (const Errc failed = rpc::decode(ConstBytes(input), asked); failed != Errc::ok) return failed;
        return combine_arrived(arrivals->combine_of(asked.name), into, more);
    };
    CINNABAR_TRY_VOID(core->served.add(std::move(arrive)));
    CINNABAR_TRY_VOID(core->served.add(
        detail::served_by(released_rpc, [arrivals](const std::string& name) { return arrivals->last(name); })));
    auto release = detail::served_by(release_rpc, [arrivals](const Release& told) { arrivals->release(told); });
    // A program often ends with a barrier. If a member left the group before the members below it were released, other
    // members would have to release them.
    release.after_below = true;
    return core->served.add(std::move(release));
}

namespace detail {

hl::Task<Result<Collected>> all_reduce(std::shared_ptr<Core> core, std::string name, Encoded value,
                                       CollectiveCall call) {
    const Microseconds deadline = call.deadline;
    const std::stop_token stop = call.stop;
    auto task = arrive_and_pass(core, std::move(name), std::move(value), std::move(call));
    auto bounded = run_bounded(core, std::move(task), deadline, stop);
    co_return co_await bounded;
}

}  // namespace detail
}  // namespace cinnabar::group
