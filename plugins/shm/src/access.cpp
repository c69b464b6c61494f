// SPDX-License-Identifier: BSD-3-Clause
// How operations begin: copied across address spaces (copy.cpp), or carried out by the owner (na::RemoteAccess). And
// the data of the latter, which come in records.
#include "flat_copy.hpp"
#include "port.hpp"
#include "remote_key.hpp"

namespace cinnabar::shm {

void Session::admit_waiting() noexcept {
    PostedList& waiting = peer().rma;
    while (Posted* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        if (channel_.copies && !na::is_atomic(op.kind) && board_slot_of(op.remote.key) < channel_.board_slots) {
            waiting.remove(*posted);
            posted->place = Place::copying;
            copying_.push_back(*posted);
            port_->copying(*this);
        } else if (!admit_next()) {
            return;
        }
    }
}

void Session::access_to_send() noexcept { port_->dirty(*this); }

void Session::access_over(Posted& posted, Errc result) noexcept { port_->end(posted, result); }

void Session::cancel(Posted& posted) noexcept {
    if (posted.place != Place::copying && posted.place != Place::notifies) return RemoteAccess::cancel(posted);
    (posted.place == Place::copying ? copying_ : notifies_).remove(posted);
    port_->end(posted, Errc::canceled);
}

Errc Session::get_data_came(const na::AccessHead& head) noexcept {
    Posted* posted = nullptr;
    if (find_get(head, posted) != Errc::ok) return Errc::protocol;
    if (!posted) return Errc::ok;
    copy_in(*posted->op->local, posted->op->local_offset + posted->moved, head.data_bytes, reader_.payload());
    got(*posted, head.data_bytes);
    return Errc::ok;
}

void Session::put_came(const na::AccessHead& head, const na::AccessBody& body) noexcept {
    if (refused(head.id)) return;
    {
        // The whole rest of the operation is checked, so that one which does not fit writes nothing at all.
        const auto pin = pin_for_put(head.id, body.key, body.offset, body.left);
        if (!pin.ok()) return;
        copy_in(pin.memory(), pin.offset(), head.data_bytes,
                reader_.payload() + na::access_body_bytes(na::AccessKind::put));
    }
    put_placed(head, body);
}

}  // namespace cinnabar::shm
