// SPDX-License-Identifier: BSD-3-Clause
// RemoteTable: what processes of this host need to access a shared memory by themselves, and how that ends.
#include "remote_direct.hpp"

#include "node_core.hpp"
#include "remote_table.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::hl {

Result<void> RemoteTable::allow_direct(SharedSlot& slot, std::uint32_t lease, na::Access access) {
    const auto& transports = node_.engine().transports();
    const auto shared = std::find_if(transports.begin(), transports.end(),
                                     [](const auto& transport) { return transport->caps().views; });
    if (shared == transports.end())
        return Error(Errc::unsupported, "this node has no shm, by which other processes could map the memory");
    const Error gone(Errc::stale, "the memory was withdrawn");
    bulk::Region memory;
    {
        const std::lock_guard lock(slot.mutex);
        if (slot.lease != lease || slot.state != SharedSlot::State::shared) return gone;
        if (slot.direct) return {};
        memory = slot.memory;
    }
    CINNABAR_TRY(std::unique_ptr<DirectLease> made, DirectLease::make(memory, access, *shared));
    bool still_shared = false;
    {
        const std::lock_guard lock(slot.mutex);
        still_shared = slot.lease == lease && slot.state == SharedSlot::State::shared;
        if (still_shared && !slot.direct) made.swap(slot.direct);
    }
    if (made) DirectLease::drop(std::move(made));
    if (!still_shared) return gone;
    return {};
}

unsigned RemoteTable::context_for(const na::Addr& to) const noexcept {
    const auto& loops = node_.loops();
    const auto at = std::find(loops.begin(), loops.end(), &node_.pick_loop({}, to));
    return static_cast<unsigned>(at - loops.begin());
}

Errc RemoteTable::map(const remote_calls::Look& call, RemoteReply& out) {
    SharedSlot* const slot = find(call.grant);
    if (!slot) return Errc::stale;
    const std::lock_guard lock(slot->mutex);
    const Errc refused = check(*slot, call.grant, call.offset, call.bytes, na::Access::read);
    // A grant for writing only is as good.
    if (refused == Errc::permission) {
        const Errc written = check(*slot, call.grant, call.offset, call.bytes, na::Access::write);
        if (written != Errc::ok) return written;
    } else if (refused != Errc::ok) {
        return refused;
    }
    if (call.grant.version != 0 || !slot->direct) return Errc::unsupported;
    const DirectDescription description{slot->memory.bytes(), call.grant.first + call.offset, slot->direct->key()};
    description.encode(out.resize(DirectDescription::head_bytes + description.key.size()));
    return Errc::ok;
}

Errc RemoteTable::end_direct(SharedSlot& slot, std::unique_lock<std::mutex>& lock) noexcept {
    if (slot.direct_ends) return Errc::busy;
    if (!slot.direct) return Errc::ok;
    std::unique_ptr<DirectLease> direct = std::move(slot.direct);
    slot.direct_ends = true;  // so the slot is not used for other memory
    lock.unlock();
    const Errc ended = direct->end();
    lock.lock();
    slot.direct_ends = false;
    if (ended == Errc::ok) return Errc::ok;
    if (slot.state == SharedSlot::State::dropped) {
        DirectLease::abandon(std::move(direct));
        return Errc::ok;
    }
    slot.direct = std::move(direct);
    return Errc::busy;
}

}  // namespace cinnabar::hl
