// SPDX-License-Identifier: BSD-3-Clause
// Executes updates at the root of a key, and notifies the other members.
#include "bounded.hpp"
#include "variables.hpp"

#include <map>

namespace cinnabar::group {
namespace {

detail::CollectiveCall call_to_tell(const Tell& tell) {
    detail::CollectiveCall call;
    call.rpc = tell_rpc.name();
    call.shape = rpc::shape_of<Tell>();
    call.failed = detail::encode_into(call.input, tell);
    return call;
}

// The members that know of an update, each in a certain incarnation.
class Told {
  public:
    explicit Told(const Member& root) { lives_[root.rank] = root.incarnation; }
    void add(const View& asked, const std::vector<Rank>& ranks, const std::vector<Failure>& failures) {
        for (const Rank rank : ranks) lives_[rank] = asked.find(rank)->incarnation;
        for (const Failure& failure : failures) lives_.erase(failure.rank);
    }
    // Includes members that joined later, which may have asked others for a copy.
    [[nodiscard]] std::vector<Rank> missing(const View& view) const {
        std::vector<Rank> left;
        for (const Rank rank : view.present()) {
            const auto at = lives_.find(rank);
            if (at == lives_.end() || at->second != view.find(rank)->incarnation) left.push_back(rank);
        }
        return left;
    }

  private:
    std::map<Rank, std::uint32_t> lives_;
};

// Notifies all members. Waits for a member that cannot be reached until the member is excluded, or has no older copy
// that it may still use.
hl::Task<Errc> tell_all(std::shared_ptr<Core> core, Tell tell) {
    const Microseconds copy_max = core->options.variables.copy_max;
    const TimeUs copies_end = after(core->now_us(), copy_max);
    Member self;
    self.rank = core->rank();
    self.incarnation = core->incarnation();
    Told told(self);
    detail::CollectiveCall call = call_to_tell(tell);
    call.everybody = false;
    call.deadline = copy_max / 4;
    for (bool first = true;; first = false) {
        const View view = core->view();
        call.only = told.missing(view);
        if (call.only.empty() || core->now_us() >= copies_end) co_return Errc::ok;
        if (!first) {
            const Errc slept = co_await core->node.sleep_for(core->options.swim.period / 8);
            if (slept != Errc::ok) co_return slept;
        }
        auto telling = detail::collect(core, call);
        auto outcome = co_await telling;
        if (!outcome) co_return outcome.code();
        told.add(view, call.only, outcome->failures);
    }
}

// A value that is sent unasked may be used for only half as long as a requested one, because the message may have been
// in transit for the other half.
Tell tell_of(const Core& core, const std::string& key, const Copy& copy, bool drops) {
    Tell tell{key, drops, {copy.version, copy.shape, false, {}, 0}};
    if (drops) return tell;
    tell.value.bytes = *copy.bytes;
    tell.value.left_us = static_cast<std::uint64_t>(core.options.variables.copy_max.count() / 2);
    return tell;
}

// Sends the newest value, and repeats if there is a newer one after that.
hl::Task<void> tell_lazily(std::shared_ptr<Core> core, std::string key) {
    for (;;) {
        const Copy copy = core->copies.ruled(key, here_of(*core, key));
        if (!copy.bytes) {  // another member is the root now
            (void)core->copies.end_spreading(key, {});
            co_return;
        }
        detail::CollectiveCall call = call_to_tell(tell_of(*core, key, copy, false));
        call.except = {core->rank()};
        call.deadline = core->options.variables.copy_max;
        auto telling = detail::collect(core, std::move(call));
        (void)co_await telling;
        if (core->copies.end_spreading(key, copy.version)) co_return;
    }
}

hl::Task<Errc> spread(std::shared_ptr<Core> core, std::string key, Copy copy, Sync sync, bool drops) {
    if (sync == Sync::eager || drops) {
        auto telling = tell_all(core, tell_of(*core, key, copy, drops));
        co_return co_await telling;
    }
    if (sync == Sync::lazy && core->copies.begin_spreading(key)) {
        const Errc begun = core->node.spawn(tell_lazily(core, key));
        if (begun != Errc::ok) (void)core->copies.end_spreading(key, {});
    }
    co_return Errc::ok;
}

// Applies the update at the root and returns the value: a new version, or the current one if copies are only to be
// dropped.
hl::Task<Result<Copy>> put_here(std::shared_ptr<Core> core, Update update, na::Addr source) {
    const auto bytes = std::make_shared<const detail::Encoded>(std::move(update.bytes));
    const VariableCopies::Asked asked{update.key, update.seen, std::numeric_limits<unsigned>::max(), source};
    for (;;) {
        const VariableCopies::Here here = here_of(*core, update.key);
        if (!here.position.is_root()) co_return Error(Errc::again, "another member is the root of this variable");
        VariableCopies::Found found =
            update.drops ? core->copies.find(asked, here) : core->copies.put(asked, {{}, update.shape, bytes, 0}, here);
        if (found.copy) co_return *std::move(found.copy);
        if (!found.flight) co_return found.code;
        if (found.fresh) (void)begin_flight(core, update.key, found.flight, here);
        const Errc waited = co_await wait_for(core->node, found.flight->ended);
        if (waited != Errc::ok) co_return waited;
        if (found.flight->code != Errc::ok) co_return found.flight->code;
    }
}

}  // namespace

hl::Task<Result<Version>> update_here(std::shared_ptr<Core> core, Update update, na::Addr source) {
    const Errc bad = check_variable(*core, update.key, update.bytes.size());
    if (bad != Errc::ok) co_return bad;
    if (update.sync > Sync::lazy) co_return Errc::protocol;
    const std::string key = update.key;
    const Sync sync = update.sync;
    const bool drops = update.drops;
    auto putting = put_here(core, std::move(update), std::move(source));
    const Result<Copy> copy = co_await putting;
    if (!copy) co_return copy.error();
    auto spreading = spread(core, key, *copy, sync, drops);
    const Errc told = co_await spreading;
    if (told != Errc::ok) co_return told;
    co_return copy->version;
}

}  // namespace cinnabar::group
