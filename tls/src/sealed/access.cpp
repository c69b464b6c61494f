// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/access.hpp"

#include "sealed/port.hpp"
#include "sealed/session.hpp"

#include <algorithm>
#include <utility>

namespace cinnabar::tls {

void SealedAccess::begin(SealedPeer& peer) noexcept {
    SealedPort& port = session_.port();
    begin_access(port.access_pools(), port.transport().leases(), port.host(), peer, peer.rma);
    begun_ = true;
}

void SealedAccess::end(Errc why) noexcept {
    if (std::exchange(begun_, false)) end_access(why);
}

void SealedAccess::access_to_send() noexcept {
    if (session_.is_open()) session_.port().output().add(session_);
}

void SealedAccess::access_over(na::PostedOp& posted, Errc result) noexcept { session_.port().end(posted, result); }

void SealedAccess::access_failed(Errc why) noexcept { session_.fail(why); }

// Output.

void SealedAccess::send() noexcept {
    // What finds no room is sent later: if the session has reached its limit, when the transport below returns a
    // message; if the session is blocked, in the next round.
    (void)(send_answers() && send_requests() && send_data());
}

bool SealedAccess::seal(const Outlet::Draft& draft, const na::AccessHead& head, std::size_t bytes) noexcept {
    SealedHead sealed;
    sealed.kind = static_cast<std::uint8_t>(head.kind);
    sealed.flags = head.flags;
    sealed.status = head.status;
    sealed.id = head.id;
    return session_.outlet().seal(draft, sealed, bytes);
}

bool SealedAccess::send_frame(const na::AccessHead& head, const na::AccessBody& body) noexcept {
    Outlet::Draft out;
    if (!session_.outlet().draft(out, false)) return false;
    return seal(out, head, na::encode_access_body(head.kind, body, Bytes(out.contents(), na::access_body_bytes_max)));
}

bool SealedAccess::send_answers() noexcept {
    return write_answers(
        [this](const na::AccessHead& head, const na::AccessBody& body) { return send_frame(head, body); });
}

bool SealedAccess::send_requests() noexcept {
    while (admit_next()) continue;
    return write_requests(
        [this](const na::AccessHead& head, const na::AccessBody& body) { return send_frame(head, body); });
}

std::size_t SealedAccess::data_bytes_max() const noexcept {
    return session_.below().message_bytes_max() - sealed_overhead_bytes;
}

bool SealedAccess::send_data() noexcept {
    while (!puts_.empty() || !gets_.empty()) {
        if (!session_.outlet().has_room(true)) return false;
        if (!(get_has_turn() ? send_data_of_get() : send_data_of_put())) return false;
    }
    return true;
}

bool SealedAccess::send_data_of_get() noexcept {
    Outlet::Draft out;
    if (!session_.outlet().draft(out, true)) return false;
    na::PendingAnswer& get = *gets_.pop_front();
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(get.left, data_bytes_max()));
    {
        const na::LeaseTable::Pin pin = pin_for_get(get, bytes);
        if (!pin.ok()) {  // it is an answer now
            session_.outlet().discard(out);
            return send_answers();
        }
        pin.memory().copy_out(pin.offset(), {out.contents(), bytes});
    }
    if (!seal(out, head_of(get), bytes)) {
        gets_.push_front(get);
        return false;
    }
    get.offset += bytes;
    get.left -= bytes;
    framed(get);
    return true;
}

bool SealedAccess::send_data_of_put() noexcept {
    Outlet::Draft out;
    if (!session_.outlet().draft(out, true)) return false;
    na::PostedOp& put = *puts_.pop_front();
    const na::Op& op = *put.op;
    const na::AccessHead head = head_of(put);
    const na::AccessBody body = body_of(put);
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(body.left, data_bytes_max()));
    const std::size_t body_bytes =
        na::encode_access_body(head.kind, body, Bytes(out.contents(), na::access_body_bytes_max));
    op.local->copy_out(op.local_offset + put.moved, {out.contents() + body_bytes, bytes});
    if (!seal(out, head, body_bytes + bytes)) {
        puts_.push_front(put);
        return false;
    }
    put.moved += bytes;
    framed(put);
    return true;
}

// Input.

void SealedAccess::take(const SealedHead& head, ConstBytes rest) noexcept {
    const na::AccessHead access{static_cast<na::AccessKind>(head.kind), head.flags, head.status, 0, head.id};
    if (const Errc wrong = whole_frame_came(access, rest); wrong != Errc::ok) session_.fail(wrong);
}

}  // namespace cinnabar::tls
