// SPDX-License-Identifier: BSD-3-Clause
#include "core.hpp"

#include <cinnabar/group/group.hpp>

namespace cinnabar::group {

struct Group::Handle {
    std::shared_ptr<Core> core;
    explicit Handle(std::shared_ptr<Core> of) : core(std::move(of)) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle() { core->close(); }
};

Group::Group(std::shared_ptr<Core> core) : core_(core), handle_(std::make_shared<Handle>(std::move(core))) {}

Rank Group::rank() const { return core_->rank(); }
View Group::view() const { return core_->view(); }
Events Group::events() const { return Events(core_->subscribe()); }
unsigned Group::slowness() const { return core_->health(); }
void Group::leave() const { core_->leave(); }
HybridClock& Group::clock() const { return core_->clock; }
Result<void> Group::add(detail::ServedRpc served) const { return core_->served.add(std::move(served)); }

namespace {

hl::Task<Result<void>> wait_until(std::shared_ptr<Core> core, std::size_t count) {
    for (;;) {
        const std::shared_ptr<Signal> changed = core->next_change();
        if (core->view().present().size() >= count) co_return Result<void>();
        if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
        const Errc waited = co_await wait_for(core->node, changed);
        if (waited != Errc::ok) co_return waited;
    }
}

}  // namespace

hl::Task<Result<void>> Group::wait_for_members(std::size_t count) const { return wait_until(core_, count); }

detail::CollectiveCall Group::with(const CollectiveOptions& options) {
    detail::CollectiveCall call;
    call.only.assign(options.only.begin(), options.only.end());
    call.except.assign(options.except.begin(), options.except.end());
    call.everybody = call.only.empty();
    call.tree = options.tree;
    call.counts = true;
    call.fanout = options.fanout;
    call.deadline = options.deadline.value_or(Microseconds(0));
    if (options.deadline && call.deadline.count() <= 0) call.deadline = Microseconds(1);
    if (options.stop) call.stop = *options.stop;
    return call;
}

detail::CollectiveCall Group::to_one(Rank rank, detail::CollectiveCall call) {
    call.everybody = false;
    call.only = {rank};
    call.except.clear();
    return call;
}

detail::CollectiveCall Group::all_call(detail::Combine combine, const CollectiveOptions& options) {
    detail::CollectiveCall call = with(options);
    call.counts = false;  // members wait for each other
    call.combine = combine ? std::move(combine)
                           : [](const detail::Encoded&, detail::Encoded&, const detail::Encoded&) { return Errc::ok; };
    return call;
}

hl::Task<Result<Reached>> Group::reached(hl::Task<Result<detail::Collected>> collecting) {
    auto collected = co_await collecting;
    if (!collected) co_return std::move(collected).error();
    Reached all{collected->count, std::move(collected->failures)};
    co_return all;
}

Error Group::error_of(const Failure& failure) {
    Error error(failure.code, failure.code == Errc::application ? std::string_view() : advice(failure.code),
                failure.text);
    error.app_code = failure.app_code;
    return error;
}

}  // namespace cinnabar::group
