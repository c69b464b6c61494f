// SPDX-License-Identifier: BSD-3-Clause
// How operations begin: copied across address spaces (copier.cpp), or carried out by the owner (na::RemoteAccess). And
// the data of the latter, which come in records.
#include "port.hpp"

namespace cinnabar::shm {

void Session::admit_waiting() noexcept {
    na::PostedOps& waiting = peer().rma;
    while (na::PostedOp* posted = waiting.front()) {
        if (copier_.takes(*posted->op)) {
            waiting.remove(*posted);
            copier_.add(*posted);
            port_->copying(*this);
        } else if (!admit_next()) {
            return;
        }
    }
}

void Session::access_to_send() noexcept { port_->dirty(*this); }

void Session::access_over(na::PostedOp& posted, Errc result) noexcept { port_->end(posted, result); }

void Session::copied(na::PostedOp& posted, Errc result) noexcept {
    if (result != Errc::ok || posted.op->kind != na::OpKind::put_notify) {
        port_->end(posted, result);
    } else {
        posted.place = na::OpPlace::notifies;
        notifies_.push_back(posted);
        port_->dirty(*this);
    }
    if (result == Errc::peer_lost) fail(result);  // its socket may be open still, in a process that it forked
}

void Session::cancel(na::PostedOp& posted) noexcept {
    if (posted.place != na::OpPlace::copying && posted.place != na::OpPlace::notifies)
        return RemoteAccess::cancel(posted);
    if (posted.place == na::OpPlace::copying) {
        copier_.remove(posted);
    } else {
        notifies_.remove(posted);
    }
    port_->end(posted, Errc::canceled);
}

Errc Session::get_data_came(const na::AccessHead& head) noexcept {
    na::PostedOp* posted = nullptr;
    if (find_get(head, posted) != Errc::ok) return Errc::protocol;
    if (!posted) return Errc::ok;
    const auto bytes = static_cast<std::size_t>(head.data_bytes);
    posted->op->local->copy_in(posted->op->local_offset + posted->moved, {reader_.payload(), bytes});
    got(*posted, head.data_bytes);
    return Errc::ok;
}

void Session::put_came(const na::AccessHead& head, const na::AccessBody& body) noexcept {
    if (refused(head.id)) return;
    {
        // The whole rest of the operation is checked, so that one which does not fit writes nothing at all.
        const auto pin = pin_for_put(head.id, body.key, body.offset, body.left);
        if (!pin.ok()) return;
        const std::byte* const data = reader_.payload() + na::access_body_bytes(na::AccessKind::put);
        pin.memory().copy_in(pin.offset(), {data, static_cast<std::size_t>(head.data_bytes)});
    }
    put_placed(head, body);
}

}  // namespace cinnabar::shm
