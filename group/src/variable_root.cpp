// SPDX-License-Identifier: BSD-3-Clause
// Makes a member the ruling root of a key: all members must agree, and the newest value among them is taken over.
#include "bounded.hpp"
#include "variables.hpp"

#include <algorithm>

namespace cinnabar::group {
namespace {

detail::CollectiveCall recall_of(const Recall& recall, std::vector<Rank> ranks) {
    detail::CollectiveCall call;
    call.rpc = recall_rpc.name();
    call.shape = rpc::shape_of<Recall>();
    call.mode = detail::Mode::reduce;
    call.everybody = false;
    call.only = std::move(ranks);
    call.combine = newer_held;
    call.failed = detail::encode_into(call.input, recall);
    return call;
}

// Asks each of `ranks` until it has agreed or is no longer present. Sets `best` to the newest value found.
hl::Task<Errc> recall_from(std::shared_ptr<Core> core, Recall recall, std::vector<Rank> ranks, Held& best) {
    while (!ranks.empty()) {
        auto recalling = detail::collect(core, recall_of(recall, std::move(ranks)));
        auto collected = co_await recalling;
        if (!collected) co_return collected.code();
        Held newest;
        if (collected->count != 0) {
            const Errc decoded = rpc::decode(ConstBytes(collected->combined), newest);
            if (decoded != Errc::ok) co_return decoded;
        }
        if (newest.version > best.version) best = newest;
        const View view = core->view();
        ranks.clear();
        for (const Failure& failure : collected->failures) {
            const Member* const member = view.find(failure.rank);
            if (member && is_present(member->state)) ranks.push_back(failure.rank);
        }
        if (ranks.empty()) break;
        const Errc slept = co_await core->node.sleep_for(core->options.swim.period / 8);
        if (slept != Errc::ok) co_return slept;
    }
    co_return Errc::ok;
}

hl::Task<Result<Copy>> take_from(std::shared_ptr<Core> core, std::string key, Rank holder) {
    auto taking = call_one(core, take_rpc, holder, key);
    Result<Sent> sent = co_await taking;
    if (!sent) co_return sent.error();
    if (check_variable(*core, key, sent->bytes.size()) != Errc::ok) co_return Errc::protocol;
    Copy copy{sent->version, sent->shape, std::make_shared<const detail::Encoded>(std::move(sent->bytes)), 0};
    co_return copy;
}

}  // namespace

Errc newer_held(const detail::Encoded&, detail::Encoded& into, const detail::Encoded& more) {
    Held a;
    Held b;
    if (const Errc failed = rpc::decode(ConstBytes(into), a); failed != Errc::ok) return failed;
    if (const Errc failed = rpc::decode(ConstBytes(more), b); failed != Errc::ok) return failed;
    if (b.version > a.version) into = more;
    return Errc::ok;
}

hl::Task<Errc> settle_key(std::shared_ptr<Core> core, std::string key, std::shared_ptr<Flight> flight,
                          VariableCopies::Here here) {
    const Recall recall{key, core->rank()};
    const View view = core->view();
    std::vector<Rank> others(view.present().begin(), view.present().end());
    std::erase(others, recall.root);
    Held best;
    auto recalling = recall_from(core, recall, std::move(others), best);
    const Errc recalled = co_await recalling;
    if (recalled != Errc::ok) co_return recalled;
    Copy newest;
    if (follows(best.version, flight->held.version)) {
        auto taking = take_from(core, key, best.holder);
        Result<Copy> taken = co_await taking;
        if (!taken) co_return may_pass(taken.code()) ? taken.code() : Errc::again;
        newest = *std::move(taken);
    }
    here.now = core->now_us();
    core->copies.settle(key, *flight, std::move(newest), here);
    co_return Errc::ok;
}

}  // namespace cinnabar::group
