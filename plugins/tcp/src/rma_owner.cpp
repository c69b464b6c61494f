// SPDX-License-Identifier: BSD-3-Clause
// What the peer asks of this side's memory. Every access goes through a lease's key, bounds and permission.
#include "bulk_lane.hpp"
#include "port.hpp"

#include <atomic>

namespace cinnabar::tcp {

// Adds an answer, or a get to serve; null when the peer has more owed to it than it may, which ends the session.
Owed* BulkLane::owe(FrameKind kind, std::uint64_t id, Errc status) noexcept {
    Owed* owed = owed_ < owed_max ? port().owed().acquire() : nullptr;
    if (!owed) {
        fail(Errc::overloaded);
        return nullptr;
    }
    ++owed_;
    owed->kind = kind;
    owed->status = status;
    owed->id = id;
    owed->value = 0;
    (kind == FrameKind::get_data ? gets_ : answers_).push_back(*owed);
    port().dirty(*this);
    return owed;
}

void BulkLane::release(Owed& owed) noexcept {
    --owed_;
    port().owed().release(owed);
}

void BulkLane::get_asked() noexcept {
    const auto pin = port().transport().leases().pin(body_.key, body_.offset, body_.left, na::Access::read);
    Owed* owed = owe(pin.ok() ? FrameKind::get_data : FrameKind::get_failed, in_.id, pin.why());
    if (!owed) return;
    owed->key = body_.key;
    owed->offset = body_.offset;
    owed->left = body_.left;
}

// The lease was revoked under a get that is being served: the frame ends in zeros, then the peer is told.
void BulkLane::lend_failed(Errc why) noexcept {
    const std::uint64_t id = get_->id;
    release(*std::exchange(get_, nullptr));
    source_ = Source::zeros;
    (void)owe(FrameKind::get_failed, id, why);
}

void BulkLane::begin_put() noexcept {
    sink_ = Sink::put;
    if (refused_any_ && refused_id_ == in_.id) {
        sink_ = Sink::discard;
        return;
    }
    // The whole rest of the operation is checked, so that one which does not fit writes nothing at all.
    const auto pin = port().transport().leases().pin(body_.key, body_.offset, body_.left, na::Access::write);
    if (!pin.ok()) refuse_put(pin.why());
}

void BulkLane::refuse_put(Errc why) noexcept {
    sink_ = Sink::discard;
    refused_any_ = true;
    refused_id_ = in_.id;
    (void)owe(FrameKind::put_done, in_.id, why);
}

// All data of a put frame came and were placed, unless they went to discard.
void BulkLane::put_complete() noexcept {
    if (sink_ == Sink::discard || body_.left > in_.bytes) return;
    (void)owe(FrameKind::put_done, in_.id, Errc::ok);
    if ((in_.flags & flag_notify) != 0) port().host().receiver().on_notify(peer(), body_.notify);
}

void BulkLane::stop_asked() noexcept {
    if (source_ == Source::get && get_->id == in_.id) {
        release(*std::exchange(get_, nullptr));
        source_ = Source::zeros;
        return;
    }
    for (Owed* owed = gets_.front(); owed; owed = OwedList::next(*owed)) {
        if (owed->id != in_.id) continue;
        gets_.remove(*owed);
        return release(*owed);
    }
}

void BulkLane::atomic_asked() noexcept {
    auto pin = port().transport().leases().pin(body_.key, body_.offset, sizeof(std::uint64_t), na::Access::read_write);
    Errc status = pin.why();
    std::uint64_t before = 0;
    if (pin.ok()) {
        iovec piece{};
        std::uint64_t covered = 0;
        (void)pin.memory().gather(pin.offset(), sizeof before, &piece, 1, covered);
        if (covered != sizeof before || reinterpret_cast<std::uintptr_t>(piece.iov_base) % sizeof before != 0) {
            status = Errc::invalid_argument;
        } else {
            const std::atomic_ref<std::uint64_t> cell(*static_cast<std::uint64_t*>(piece.iov_base));
            if (in_.kind == FrameKind::fetch_add) {
                before = cell.fetch_add(body_.operand);
            } else {
                before = body_.compare;
                (void)cell.compare_exchange_strong(before, body_.operand);
            }
        }
    }
    if (Owed* answer = owe(FrameKind::atomic_done, in_.id, status)) answer->value = before;
}

}  // namespace cinnabar::tcp
