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
Result<void> Group::exclude(Rank rank) const { return core_->exclude(rank); }
HybridClock& Group::clock() const { return core_->clock; }
Result<void> Group::add(detail::ServedRpc served) const { return core_->served.add(std::move(served)); }

namespace {

// Counts members without a view: otherwise each change would make a new view, with an entry for each member.
hl::Task<Result<void>> wait_until(std::shared_ptr<Core> core, std::size_t count) {
    for (;;) {
        const std::shared_ptr<Signal> changed = core->next_change();
        if (core->present() >= count) co_return Result<void>();
        if (core->closed()) co_return Error(Errc::closed, "this process has left the group");
        const Errc waited = co_await wait_for(core->node, changed);
        if (waited != Errc::ok) co_return waited;
    }
}

}  // namespace

hl::Task<Result<void>> Group::wait_for_members(std::size_t count) const { return wait_until(core_, count); }

}  // namespace cinnabar::group
