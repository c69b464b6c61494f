// SPDX-License-Identifier: BSD-3-Clause
// Fetches a value up the tree of its key, with one request at a time per process, however many tasks wait for it.
#include "bounded.hpp"
#include "variables.hpp"

#include <algorithm>

namespace cinnabar::group {
namespace {

constexpr Microseconds first_pause{2'000};
constexpr Microseconds longest_pause{200'000};
// How many attempts are made for a request of another process, which retries by itself.
constexpr unsigned looks_max = 3;

// Asks one member, and returns its answer as a copy for this process.
hl::Task<Result<Copy>> ask(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight, unsigned depth,
                           Rank rank, Microseconds deadline) {
    const TimeUs asked_us = core->now_us();  // the age of the copy counts from here
    Fetch fetch{key, flight->floor, flight->held.version, depth};
    auto calling = call_one(core, fetch_rpc, rank, std::move(fetch), deadline);
    Result<Sent> sent = co_await calling;
    if (!sent) co_return sent.error();
    if (const Errc bad = check_variable(*core, key, sent->bytes.size()); bad != Errc::ok) co_return Errc::protocol;
    Copy copy = flight->held;
    if (sent->same && (!copy.bytes || copy.version != sent->version)) co_return Errc::protocol;
    if (!sent->same)
        copy = {sent->version, sent->shape, std::make_shared<const detail::Encoded>(std::move(sent->bytes)), 0};
    const auto longest = static_cast<std::uint64_t>(core->options.variables.copy_max.count());
    const auto left = static_cast<std::int64_t>(std::min(sent->left_us, longest));
    copy.until_us = after(asked_us, Microseconds(left));
    co_return copy;
}

// Asks the member above, and then the root if that member does not answer.
hl::Task<Result<Copy>> ask_above(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight,
                                 VariableCopies::Here here) {
    const Rank root = here.position.reign.root;
    const Rank parent = here.position.parent;
    auto left = time_left(core);
    const Microseconds all = co_await left;
    auto asking = ask(core, key, flight, here.position.depth, parent, parent == root ? all : all / 2);
    Result<Copy> answer = co_await asking;
    const Errc code = answer.code();
    const bool silent = code == Errc::peer_lost || code == Errc::timed_out || may_pass(code);
    if (answer.ok() || parent == root || !silent || code == Errc::again) co_return answer;
    auto again = ask(core, key, flight, here.position.depth, root, all / 2);
    co_return co_await again;
}

hl::Task<void> fly(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight,
                   VariableCopies::Here here) {
    const TimeUs deadline = after(core->now_us(), core->options.variables.copy_max / 4);
    if (here.position.is_root()) {
        auto settling = settle_key(core, key, flight, here);
        auto bounded = run_until(core->node, std::move(settling), deadline);
        const Errc settled = co_await bounded;
        if (settled != Errc::ok) core->copies.end(key, *flight, settled, {}, here);
        co_return;
    }
    auto asking = ask_above(core, key, flight, here);
    auto bounded = run_until(core->node, std::move(asking), deadline);
    Result<Copy> copy = co_await bounded;
    here.life = core->incarnation() == here.life ? here.life : 0;  // this process may have been excluded meanwhile
    core->copies.end(key, *flight, copy.code(), copy.ok() ? *std::move(copy) : Copy{}, here);
}

// The result of a request, for a task that needs at least version `floor`. again: the result is of no use to that task.
Result<Copy> brought(const Flight& flight, const Version& floor, TimeUs now) {
    if (flight.code != Errc::ok) {
        const bool of_a_higher_floor = flight.code == Errc::stale && flight.floor > floor;
        return of_a_higher_floor ? Errc::again : flight.code;
    }
    if (!flight.copy.bytes || flight.copy.version < floor || now >= flight.copy.until_us) return Errc::again;
    return flight.copy;
}

}  // namespace

VariableCopies::Here here_of(Core& core, const std::string& key) {
    return {position_of(key, core.view(), core.rank(), core.process), core.incarnation(), core.now_us()};
}

Errc check_variable(const Core& core, const std::string& key, std::size_t bytes) {
    if (key.size() > VariableCopies::key_bytes_max) return Errc::invalid_argument;
    return bytes > core.options.variables.value_bytes_max ? Errc::too_large : Errc::ok;
}

Sent sent_from(const Copy& copy, const Version& held, TimeUs now) {
    Sent sent{copy.version, copy.shape, copy.version == held, {}, 0};
    if (!sent.same) sent.bytes = *copy.bytes;
    if (copy.until_us > now) sent.left_us = copy.until_us - now;
    return sent;
}

Errc begin_flight(const std::shared_ptr<Core>& core, std::string key, std::shared_ptr<Flight> flight,
                  VariableCopies::Here here) {
    const Errc begun = core->node.spawn(fly(core, key, flight, here));
    if (begun != Errc::ok) core->copies.end(key, *flight, begun, {}, here);
    return begun;
}

hl::Task<Result<Copy>> find_value(std::shared_ptr<Core> core, VariableCopies::Asked asked, bool patient) {
    Microseconds pause = first_pause;
    for (unsigned look = 1;; ++look) {
        if (core->closed()) co_return Errc::closed;
        const VariableCopies::Here here = here_of(*core, asked.key);
        if (here.position.reign.root == no_rank) co_return Error(Errc::unreachable, "no member is known to be present");
        VariableCopies::Found found{Errc::again, {}, {}, false};
        if (here.position.depth < asked.depth) found = core->copies.find(asked, here);
        if (found.copy) co_return *std::move(found.copy);
        Errc code = found.code;
        if (found.flight) {
            if (found.fresh) (void)begin_flight(core, asked.key, found.flight, here);
            const Errc waited = co_await wait_for(core->node, found.flight->ended);
            if (waited != Errc::ok) co_return waited;
            Result<Copy> copy = brought(*found.flight, asked.floor, core->now_us());
            if (copy.ok()) co_return *std::move(copy);
            code = copy.code();
            // The root looks again at once, at the value that it has just settled.
            if (found.flight->code == Errc::ok && here.position.is_root() && look < looks_max) continue;
        }
        const bool may_help = may_pass(code) || code == Errc::peer_lost || code == Errc::timed_out;
        if (!patient || !may_help) co_return code;
        const Errc slept = co_await core->node.sleep_for(pause);
        if (slept != Errc::ok) co_return slept;
        pause = std::min(pause * 2, longest_pause);
    }
}

}  // namespace cinnabar::group
