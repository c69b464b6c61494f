// SPDX-License-Identifier: BSD-3-Clause
// The owner side of RemoteAccess: the peer's accesses to this side's memory. Each access is checked against a lease's
// key, bounds and permission.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/remote_access.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace cinnabar::na {

PendingAnswer* AccessPools::take(std::uint32_t pending) noexcept {
    if (pending == answers_max) return nullptr;
    const bool beyond = pending >= answers_reserved;
    if (beyond && common_taken_ == answers_common) return nullptr;
    PendingAnswer* answer = answers_.acquire();
    if (answer && beyond) ++common_taken_;
    return answer;
}

void AccessPools::give(PendingAnswer& answer, std::uint32_t pending) noexcept {
    if (pending > answers_reserved) --common_taken_;
    answers_.release(answer);
}

// Takes a slot for an answer to the peer; null: the peer may not have another, or out of memory.
PendingAnswer* RemoteAccess::take_answer(AccessKind kind, std::uint64_t id, Errc status) noexcept {
    PendingAnswer* taken = pools_->take(pending_);
    if (!taken) return nullptr;
    ++pending_;
    taken->kind = kind;
    taken->status = status;
    taken->id = id;
    taken->value = 0;
    return taken;
}

// Queues an answer. If the peer may not have another, its session ends.
PendingAnswer* RemoteAccess::answer(AccessKind kind, std::uint64_t id, Errc status) noexcept {
    PendingAnswer* taken = take_answer(kind, id, status);
    if (!taken) {
        access_failed(Errc::overloaded);
        return nullptr;
    }
    (kind == AccessKind::get_data ? gets_ : answers_).push_back(*taken);
    access_to_send();
    return taken;
}

void RemoteAccess::release(PendingAnswer& answer) noexcept { pools_->give(answer, pending_--); }

AccessHead RemoteAccess::head_of(const PendingAnswer& answer) noexcept {
    return {answer.kind, 0, answer.status, 0, answer.id};
}

void RemoteAccess::get_asked(std::uint64_t id, const AccessBody& body) noexcept {
    const auto pin = leases_->pin(body.key, body.offset, body.left, Access::read, peer_);
    PendingAnswer* get = answer(pin.ok() ? AccessKind::get_data : AccessKind::get_failed, id, pin.why());
    if (!get) return;
    get->key = body.key;
    get->offset = body.offset;
    get->left = body.left;
}

LeaseTable::Pin RemoteAccess::pin_for_get(PendingAnswer& get, std::uint64_t bytes) noexcept {
    auto pin = leases_->pin(get.key, get.offset, bytes, Access::read, peer_);
    if (!pin.ok()) {
        get.kind = AccessKind::get_failed;
        get.status = pin.why();
        answers_.push_back(get);
    }
    return pin;
}

void RemoteAccess::framed(PendingAnswer& get) noexcept {
    if (get.left > 0) {
        gets_.push_back(get);
    } else {
        release(get);
    }
}

bool RemoteAccess::get_has_turn() noexcept {
    get_turn_ = puts_.empty() || (!gets_.empty() && !get_turn_);
    return get_turn_;
}

LeaseTable::Pin RemoteAccess::pin_for_put(std::uint64_t id, const LeaseKey& key, std::uint64_t offset,
                                          std::uint64_t bytes) noexcept {
    auto pin = leases_->pin(key, offset, bytes, Access::write, peer_);
    if (!pin.ok()) {
        refused_any_ = true;
        refused_id_ = id;
        (void)answer(AccessKind::put_done, id, pin.why());
    }
    return pin;
}

void RemoteAccess::put_placed(const AccessHead& head, const AccessBody& body) noexcept {
    if (body.left > head.data_bytes) return;
    (void)answer(AccessKind::put_done, head.id, Errc::ok);
    if ((head.flags & access_notify) != 0) host_->receiver().on_notify(*peer_, body.notify);
}

void RemoteAccess::stop_asked(std::uint64_t id) noexcept {
    // An honest origin has at most admitted_max gets pending, and sends `stop` for one before it sends another get. A
    // longer search means that the peer misbehaves, and would take time from other peers.
    std::uint32_t looks = 2 * AccessPools::admitted_max;
    for (PendingAnswer* get = gets_.front(); get; get = PendingAnswers::next(*get)) {
        if (looks-- == 0) return access_failed(Errc::overloaded);
        if (get->id != id) continue;
        gets_.remove(*get);
        return release(*get);
    }
}

void RemoteAccess::atomic_asked(const AccessHead& head, const AccessBody& body) noexcept {
    const auto pin = leases_->pin(body.key, body.offset, sizeof(std::uint64_t), Access::read_write, peer_);
    const OpKind kind = head.kind == AccessKind::fetch_add ? OpKind::fetch_add : OpKind::compare_swap;
    std::uint64_t before = 0;
    const Errc status = run_atomic(pin, kind, body.operand, body.compare, before);
    if (PendingAnswer* done = answer(AccessKind::atomic_done, head.id, status)) done->value = before;
}

Errc run_atomic(const LeaseTable::Pin& pin, OpKind kind, std::uint64_t operand, std::uint64_t compare,
                std::uint64_t& before) noexcept {
    if (!pin.ok()) return pin.why();
    iovec piece{};
    std::uint64_t covered = 0;
    (void)pin.memory().gather(pin.offset(), sizeof before, &piece, 1, covered);
    if (covered != sizeof before || reinterpret_cast<std::uintptr_t>(piece.iov_base) % sizeof before != 0) {
        return Errc::invalid_argument;
    }
    const std::atomic_ref<std::uint64_t> cell(*static_cast<std::uint64_t*>(piece.iov_base));
    if (kind == OpKind::fetch_add) {
        before = cell.fetch_add(operand);
    } else {
        before = compare;
        (void)cell.compare_exchange_strong(before, operand);
    }
    return Errc::ok;
}

// The body is copied before it is checked, because over shm the peer may change it meanwhile.
Errc RemoteAccess::whole_frame_came(AccessHead head, ConstBytes rest) noexcept {
    const std::size_t body_bytes = access_body_bytes(head.kind);
    if (rest.size() < body_bytes) return Errc::protocol;
    const ConstBytes data = rest.subspan(body_bytes);
    head.data_bytes = data.size();
    if (const Errc wrong = check_access(head); wrong != Errc::ok) return wrong;
    std::array<std::byte, access_body_bytes_max> copy{};
    std::copy_n(rest.begin(), body_bytes, copy.begin());
    AccessBody body;
    if (const Errc wrong = decode_access_body(head, copy, body); wrong != Errc::ok) return wrong;
    if (head.kind == AccessKind::get_data) {
        PostedOp* get = nullptr;
        if (const Errc wrong = find_get(head, get); wrong != Errc::ok) return wrong;
        if (!get) return Errc::ok;
        get->op->local->copy_in(get->op->local_offset + get->moved, data);
        got(*get, data.size());
        return Errc::ok;
    }
    if (head.kind != AccessKind::put) return frame_came(head, body);
    if (refused(head.id)) return Errc::ok;
    {
        // Pins all that is left of the put, not only this frame, so that a put is refused before its first byte is
        // written. The pin ends before the layers above are told of the put, because they may revoke the lease.
        const LeaseTable::Pin pin = pin_for_put(head.id, body.key, body.offset, body.left);
        if (!pin.ok()) return Errc::ok;
        pin.memory().copy_in(pin.offset(), data);
    }
    put_placed(head, body);
    return Errc::ok;
}

}  // namespace cinnabar::na
