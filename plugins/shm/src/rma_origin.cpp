// SPDX-License-Identifier: BSD-3-Clause
// This side's own operations: those that copy by themselves (copy.cpp) and those that the peer carries out.
#include "port.hpp"
#include "rma_copy.hpp"

namespace cinnabar::shm {
namespace {

// The slot of the owner's lease board; not one of the board's where the owner had none.
std::uint32_t board_slot_of(const na::Op& op) noexcept {
    Reader reader(op.remote.key);
    reader.skip(na::LeaseKey::wire_bytes);
    return reader.u32();
}

}  // namespace

RmaBody body_of(const na::Op& op) noexcept {
    RmaBody body;
    Reader reader(op.remote.key);
    body.key = na::LeaseKey::decode(reader);
    body.offset = op.remote_offset;
    body.left = op.bytes;
    body.notify = op.notify;
    body.operand = op.operand;
    body.compare = op.compare;
    return body;
}

void Session::admit_waiting() noexcept {
    PostedList& waiting = peer().rma;
    while (Posted* posted = waiting.front()) {
        const na::Op& op = *posted->op;
        if (channel_.copies && !is_atomic(op.kind) && board_slot_of(op) < channel_.board_slots) {
            waiting.remove(*posted);
            posted->place = Place::copying;
            copying_.push_back(*posted);
            port_->copying(*this);
            continue;
        }
        RmaSlot* slot = admitted_ < admitted_max ? port_->rma_slots().acquire() : nullptr;
        if (!slot) return;
        waiting.remove(*posted);
        admitted(*posted, *slot);
    }
}

void Session::admitted(Posted& posted, RmaSlot& slot) noexcept {
    slot.posted = &posted;
    slot.session = this;
    posted.slot = &slot;
    posted.moved = 0;
    ++admitted_;
    const bool put = is_put(posted.op->kind);
    posted.place = put ? Place::puts : Place::requests;
    (put ? puts_ : requests_).push_back(posted);
}

// The operation that an answer names, if it is one of this session and still wanted.
Posted* Session::find(std::uint64_t id) noexcept {
    const RmaSlot* slot = port_->rma_slots().at(static_cast<std::uint32_t>(id));
    if (!slot || !slot->posted || slot->session != this || id_of(*slot) != id) return nullptr;
    return slot->posted;
}

// Takes an admitted operation out of the books; it completes once the stack has unwound.
void Session::retire(Posted& posted, Errc result) noexcept {
    if (posted.place == Place::requests) requests_.remove(posted);
    if (posted.place == Place::puts) puts_.remove(posted);
    if (posted.place == Place::awaiting) awaiting_.remove(posted);
    RmaSlot& slot = *std::exchange(posted.slot, nullptr);
    slot.posted = nullptr;
    slot.session = nullptr;
    ++slot.generation;
    port_->rma_slots().release(slot);
    --admitted_;
    port_->end(posted, result);
    if (!peer().rma.empty()) port_->dirty(*this);
}

void Session::cancel(Posted& posted) noexcept {
    if (posted.place == Place::copying || posted.place == Place::notifies) {
        (posted.place == Place::copying ? copying_ : notifies_).remove(posted);
        return port_->end(posted, Errc::canceled);
    }
    if (posted.place == Place::awaiting && posted.op->kind == na::OpKind::get && owed_ < owed_max) {
        // Saves the peer the rest. Without room for it, the rest comes and is dropped.
        (void)owe(RecordKind::stop, id_of(*posted.slot), Errc::ok);
    }
    retire(posted, Errc::canceled);
}

void Session::get_data_came(const Record& record) noexcept {
    Posted* posted = find(record.id);
    if (!posted) return;
    const na::Op& op = *posted->op;
    if (op.kind != na::OpKind::get || record.bytes > op.bytes - posted->moved) return nonsense();
    copy_in(*op.local, op.local_offset + posted->moved, record.bytes, reader_.payload());
    posted->moved += record.bytes;
    if (posted->moved == op.bytes) return retire(*posted, Errc::ok);
    if (record.bytes == 0) nonsense();  // it would go on for ever
}

void Session::answered(const Record& record, const RmaBody& body) noexcept {
    Posted* posted = find(record.id);
    if (!posted) return;
    const auto status = static_cast<Errc>(record.status);
    if (record.kind == RecordKind::get_failed) {
        if (posted->op->kind != na::OpKind::get || status == Errc::ok) return nonsense();
        return retire(*posted, status);
    }
    if (record.kind == RecordKind::put_done) {
        if (!is_put(posted->op->kind)) return nonsense();
        // An owner that says "placed" before it has everything is not to be believed.
        const bool early = status == Errc::ok && posted->place != Place::awaiting;
        return retire(*posted, early ? Errc::protocol : status);
    }
    if (!is_atomic(posted->op->kind)) return nonsense();
    posted->op->fetched = body.value;
    retire(*posted, status);
}

}  // namespace cinnabar::shm
