// SPDX-License-Identifier: BSD-3-Clause
// Session: how puts and gets begin. This side copies across address spaces if it can (copier.cpp); otherwise the owner
// of the memory carries them out (na::RemoteAccess), and their data are sent in records.
#include "port.hpp"

namespace cinnabar::shm {

void Session::admit_waiting() noexcept {
    na::PostedOps& waiting = peer().rma;
    while (na::PostedOp* posted = waiting.front()) {
        if (copier_.takes(*posted->op)) {
            waiting.remove(*posted);
            copier_.add(*posted);
        } else if (!admit_next()) {
            return;
        }
    }
}

void Session::access_to_send() noexcept { port_->output().retry(*this); }

void Session::access_over(na::PostedOp& posted, Errc result) noexcept { port_->end(posted, result); }

void Session::cancel(na::PostedOp& posted) noexcept {
    if (Copier::has(posted)) return copier_.cancel(posted);
    RemoteAccess::cancel(posted);
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
        // Checks the rest of the operation as a whole, so that an operation that does not fit writes nothing.
        const auto pin = pin_for_put(head.id, body.key, body.offset, body.left);
        if (!pin.ok()) return;
        const std::byte* const data = reader_.payload() + na::access_body_bytes(na::AccessKind::put);
        pin.memory().copy_in(pin.offset(), {data, static_cast<std::size_t>(head.data_bytes)});
    }
    put_placed(head, body);
}

}  // namespace cinnabar::shm
