// SPDX-License-Identifier: BSD-3-Clause
// What the peer asks of this side's memory. Every access goes through a lease's key, bounds and permission.
#include "port.hpp"
#include "rma_copy.hpp"

#include <sys/uio.h>

#include <atomic>

namespace cinnabar::shm {

// Adds an answer, or a get to serve; null when the peer has more owed to it than it may, which ends the session.
Owed* Session::owe(RecordKind kind, std::uint64_t id, Errc status) noexcept {
    Owed* owed = owed_ < owed_max ? port_->owed().acquire() : nullptr;
    if (!owed) {
        fail(Errc::overloaded);
        return nullptr;
    }
    ++owed_;
    owed->kind = kind;
    owed->status = status;
    owed->id = id;
    owed->value = 0;
    (kind == RecordKind::get_data ? gets_ : answers_).push_back(*owed);
    port_->dirty(*this);
    return owed;
}

void Session::release(Owed& owed) noexcept {
    --owed_;
    port_->owed().release(owed);
}

void Session::asked(const Record& record, const RmaBody& body) noexcept {
    switch (record.kind) {
        case RecordKind::get:
            return get_asked(record, body);
        case RecordKind::put:
            return put_came(record, body);
        case RecordKind::stop:
            return stop_asked(record.id);
        default:
            return atomic_asked(record, body);
    }
}

void Session::get_asked(const Record& record, const RmaBody& body) noexcept {
    const auto pin = port_->transport().leases().pin(body.key, body.offset, body.left, na::Access::read);
    Owed* owed = owe(pin.ok() ? RecordKind::get_data : RecordKind::get_failed, record.id, pin.why());
    if (!owed) return;
    owed->key = body.key;
    owed->offset = body.offset;
    owed->left = body.left;
}

void Session::put_came(const Record& record, const RmaBody& body) noexcept {
    if (refused_any_ && refused_id_ == record.id) return;
    const std::uint32_t head = static_cast<std::uint32_t>(body_bytes(RecordKind::put));
    const std::uint32_t data = record.bytes - head;
    {
        // The whole rest of the operation is checked, so that one which does not fit writes nothing at all.
        const auto pin = port_->transport().leases().pin(body.key, body.offset, body.left, na::Access::write);
        if (!pin.ok()) {
            refused_any_ = true;
            refused_id_ = record.id;
            (void)owe(RecordKind::put_done, record.id, pin.why());
            return;
        }
        copy_in(pin.memory(), pin.offset(), data, reader_.payload() + head);
    }
    if (body.left > data) return;
    (void)owe(RecordKind::put_done, record.id, Errc::ok);
    if ((record.flags & flag_notify) != 0) port_->host().receiver().on_notify(peer(), body.notify);
}

void Session::stop_asked(std::uint64_t id) noexcept {
    for (Owed* owed = gets_.front(); owed; owed = OwedList::next(*owed)) {
        if (owed->id != id) continue;
        gets_.remove(*owed);
        return release(*owed);
    }
}

void Session::atomic_asked(const Record& record, const RmaBody& body) noexcept {
    auto pin = port_->transport().leases().pin(body.key, body.offset, sizeof(std::uint64_t), na::Access::read_write);
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
            if (record.kind == RecordKind::fetch_add) {
                before = cell.fetch_add(body.operand);
            } else {
                before = body.compare;
                (void)cell.compare_exchange_strong(before, body.operand);
            }
        }
    }
    if (Owed* answer = owe(RecordKind::atomic_done, record.id, status)) answer->value = before;
}

}  // namespace cinnabar::shm
