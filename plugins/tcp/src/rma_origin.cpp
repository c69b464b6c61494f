// SPDX-License-Identifier: BSD-3-Clause
// This side's own operations on the bulk lane: from the peer's waiting list through admission to their answers.
#include "bulk_lane.hpp"
#include "port.hpp"

#include <algorithm>

namespace cinnabar::tcp {
namespace {

bool is_get(na::OpKind kind) noexcept { return kind == na::OpKind::get; }
bool is_any_put(na::OpKind kind) noexcept { return is_put(kind); }
bool is_atomic(na::OpKind kind) noexcept { return kind == na::OpKind::fetch_add || kind == na::OpKind::compare_swap; }

std::uint64_t id_of(const RmaSlot& slot) noexcept { return std::uint64_t{slot.generation} << 32 | slot.slot_index; }

FrameBody body_of(const na::Op& op) noexcept {
    FrameBody body;
    Reader reader(op.remote.key);
    body.key = na::LeaseKey::decode(reader);
    body.offset = op.remote_offset;
    body.left = op.bytes;
    body.notify = op.notify;
    body.operand = op.operand;
    body.compare = op.compare;
    return body;
}

}  // namespace

// Takes the peer's next waiting operation; false when there is none, or enough are on their way.
bool BulkLane::admit_next() noexcept {
    PostedList& waiting = peer().rma;
    if (waiting.empty() || admitted_ == admitted_max) return false;
    RmaSlot* slot = port().rma_slots().acquire();
    if (!slot) return false;
    Posted& posted = *waiting.pop_front();
    admitted(posted, *slot);
    const na::Op& op = *posted.op;
    if (is_put(op.kind)) {
        posted.place = Place::puts;
        puts_.push_back(posted);
        return true;
    }
    posted.place = Place::awaiting;
    awaiting_.push_back(posted);
    FrameKind kind = FrameKind::get;
    if (op.kind == na::OpKind::fetch_add) kind = FrameKind::fetch_add;
    if (op.kind == na::OpKind::compare_swap) kind = FrameKind::compare_swap;
    append(Frame{kind, 0, Errc::ok, 0, id_of(*slot)}, body_of(op));
    return true;
}

void BulkLane::admitted(Posted& posted, RmaSlot& slot) noexcept {
    slot.posted = &posted;
    slot.lane = this;
    posted.slot = &slot;
    posted.moved = 0;
    ++admitted_;
}

// Begins the next frame of a put.
void BulkLane::put_framed(Posted& posted) noexcept {
    const na::Op& op = *posted.op;
    FrameBody body = body_of(op);
    body.offset += posted.moved;
    body.left -= posted.moved;
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(body.left, frame_data_bytes_max));
    append(Frame{FrameKind::put, op.kind == na::OpKind::put_notify ? flag_notify : std::uint8_t{0}, Errc::ok, part,
                 id_of(*posted.slot)},
           body);
    posted.moved += part;
    posted.place = Place::sending;
    put_ = &posted;
    source_ = Source::put;
    out_left_ = part;
}

// The operation that an answer names, if it is one of this lane and still wanted.
Posted* BulkLane::find(std::uint64_t id, bool (*of_kind)(na::OpKind)) noexcept {
    const RmaSlot* slot = port().rma_slots().at(static_cast<std::uint32_t>(id));
    if (!slot || !slot->posted || slot->lane != this || id_of(*slot) != id) return nullptr;
    return of_kind(slot->posted->op->kind) ? slot->posted : nullptr;
}

// Takes an admitted operation out of the books; it completes once the stack has unwound.
void BulkLane::retire(Posted& posted, Errc result) noexcept {
    if (posted.place == Place::puts) puts_.remove(posted);
    if (posted.place == Place::awaiting) awaiting_.remove(posted);
    if (posted.place == Place::sending) {
        source_ = Source::zeros;
        put_ = nullptr;
    }
    RmaSlot& slot = *std::exchange(posted.slot, nullptr);
    slot.posted = nullptr;
    slot.lane = nullptr;
    ++slot.generation;
    port().rma_slots().release(slot);
    --admitted_;
    port().end(posted, result);
    if (!peer().rma.empty()) port().dirty(*this);
}

void BulkLane::cancel(Posted& posted) noexcept {
    if (is_get(posted.op->kind)) {
        // Saves the peer the rest. Without room for it, the rest comes and goes to discard.
        if (owed_ < owed_max) (void)owe(FrameKind::stop, id_of(*posted.slot), Errc::ok);
    }
    retire(posted, Errc::canceled);
}

bool BulkLane::begin_get_data() noexcept {
    const Posted* posted = find(in_.id, is_get);
    sink_ = posted ? Sink::get : Sink::discard;
    return !posted || in_.bytes <= posted->op->bytes - posted->moved;
}

// get_failed, put_done or atomic_done.
void BulkLane::answered() noexcept {
    if (in_.kind == FrameKind::get_failed) {
        if (Posted* posted = find(in_.id, is_get)) retire(*posted, in_.status);
        return;
    }
    if (in_.kind == FrameKind::put_done) {
        Posted* posted = find(in_.id, is_any_put);
        if (!posted) return;
        // An owner that says "placed" before it has everything is not to be believed.
        const bool early = in_.status == Errc::ok && posted->place != Place::awaiting;
        retire(*posted, early ? Errc::protocol : in_.status);
        return;
    }
    if (Posted* posted = find(in_.id, is_atomic)) {
        posted->op->fetched = body_.value;
        retire(*posted, in_.status);
    }
}

}  // namespace cinnabar::tcp
