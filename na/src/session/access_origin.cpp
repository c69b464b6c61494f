// SPDX-License-Identifier: BSD-3-Clause
// The origin side of RemoteAccess: this side's operations from the waiting list through admission to the answer.
#include <cinnabar/base/assert.hpp>
#include <cinnabar/na/session/remote_access.hpp>

#include <utility>

namespace cinnabar::na {
namespace {

std::uint64_t id_of(const AccessSlot& slot) noexcept { return std::uint64_t{slot.generation} << 32 | slot.slot_index; }

AccessKind kind_of(OpKind kind) noexcept {
    if (is_put(kind)) return AccessKind::put;
    if (kind == OpKind::fetch_add) return AccessKind::fetch_add;
    return kind == OpKind::compare_swap ? AccessKind::compare_swap : AccessKind::get;
}

}  // namespace

void RemoteAccess::begin_access(AccessPools& pools, LeaseTable& leases, PortHost& host, Peer& peer,
                                PostedOps& waiting) noexcept {
    CINNABAR_ASSERT(admitted_ == 0 && pending_ == 0);
    pools_ = &pools;
    leases_ = &leases;
    host_ = &host;
    peer_ = &peer;
    waiting_ = &waiting;
    refused_any_ = false;
    get_turn_ = false;
}

void RemoteAccess::end_access(Errc why) noexcept {
    for (PostedOps* list : {&requests_, &puts_, &awaiting_}) {
        while (PostedOp* posted = list->front()) retire(*posted, why);
    }
    for (PendingAnswers* list : {&answers_, &gets_}) {
        while (PendingAnswer* answer = list->pop_front()) release(*answer);
    }
    CINNABAR_ASSERT(admitted_ == 0 && pending_ == 0);
}

bool RemoteAccess::admit_next() noexcept {
    if (waiting_->empty() || admitted_ == AccessPools::admitted_max) return false;
    AccessSlot* slot = pools_->slots.acquire();
    if (!slot) return false;
    PostedOp& posted = *waiting_->pop_front();
    slot->posted = &posted;
    slot->access = this;
    posted.slot = slot;
    posted.moved = 0;
    ++admitted_;
    const bool put = is_put(posted.op->kind);
    posted.stage = put ? OpStage::puts : OpStage::requests;
    (put ? puts_ : requests_).push_back(posted);
    return true;
}

AccessHead RemoteAccess::head_of(const PostedOp& posted) noexcept {
    const std::uint8_t flags = posted.op->kind == OpKind::put_notify ? access_notify : std::uint8_t{0};
    return {kind_of(posted.op->kind), flags, Errc::ok, 0, id_of(*posted.slot)};
}

AccessBody RemoteAccess::body_of(const PostedOp& posted) noexcept {
    const Op& op = *posted.op;
    AccessBody body;
    ByteReader reader(op.remote.key);
    body.key = LeaseKey::decode(reader);
    body.offset = op.remote_offset + posted.moved;
    body.left = op.bytes - posted.moved;
    body.notify = op.notify;
    body.operand = op.operand;
    body.compare = op.compare;
    return body;
}

void RemoteAccess::framed(PostedOp& posted) noexcept {
    const bool all = !is_put(posted.op->kind) || posted.moved == posted.op->bytes;
    posted.stage = all ? OpStage::awaiting : OpStage::puts;
    (all ? awaiting_ : puts_).push_back(posted);
}

PostedOp* RemoteAccess::find(std::uint64_t id) noexcept {
    const AccessSlot* slot = pools_->slots.at(static_cast<std::uint32_t>(id));
    if (!slot || !slot->posted || slot->access != this || id_of(*slot) != id) return nullptr;
    return slot->posted;
}

void RemoteAccess::retire(PostedOp& posted, Errc result) noexcept {
    if (posted.stage == OpStage::requests) requests_.remove(posted);
    if (posted.stage == OpStage::puts) puts_.remove(posted);
    if (posted.stage == OpStage::awaiting) awaiting_.remove(posted);
    if (posted.stage == OpStage::sending) access_abandoned(posted);
    AccessSlot& slot = *std::exchange(posted.slot, nullptr);
    slot.posted = nullptr;
    slot.access = nullptr;
    ++slot.generation;
    pools_->slots.release(slot);
    --admitted_;
    access_over(posted, result);
    if (!waiting_->empty()) access_to_send();
}

void RemoteAccess::cancel(PostedOp& posted) noexcept {
    if (posted.stage == OpStage::awaiting && posted.op->kind == OpKind::get) {
        // Tells the peer not to send the rest. If no slot is free for that, the rest is received and discarded.
        if (PendingAnswer* stop = take_answer(AccessKind::stop, id_of(*posted.slot), Errc::ok)) {
            answers_.push_back(*stop);
            access_to_send();
        }
    }
    retire(posted, Errc::canceled);
}

Errc RemoteAccess::find_get(const AccessHead& data, PostedOp*& out) noexcept {
    out = find(data.id);
    if (!out) return Errc::ok;
    if (out->op->kind != OpKind::get) return Errc::protocol;
    const std::uint64_t missing = out->op->bytes - out->moved;
    // Frames without data are refused while data are missing, because a peer could send such frames for ever.
    return data.data_bytes > missing || (data.data_bytes == 0 && missing != 0) ? Errc::protocol : Errc::ok;
}

void RemoteAccess::got(PostedOp& posted, std::uint64_t bytes) noexcept {
    posted.moved += bytes;
    if (posted.moved == posted.op->bytes) retire(posted, Errc::ok);
}

Errc RemoteAccess::answered(const AccessHead& head, const AccessBody& body) noexcept {
    PostedOp* posted = find(head.id);
    if (!posted) return Errc::ok;
    const OpKind kind = posted->op->kind;
    Errc result = head.status;
    if (head.kind == AccessKind::get_failed) {
        if (kind != OpKind::get) return Errc::protocol;
    } else if (head.kind == AccessKind::put_done) {
        if (!is_put(kind)) return Errc::protocol;
        // The owner must not report success before all data were sent to it.
        if (result == Errc::ok && posted->stage != OpStage::awaiting) result = Errc::protocol;
    } else {
        if (!is_atomic(kind)) return Errc::protocol;
        posted->op->fetched = body.value;
    }
    retire(*posted, result);
    return Errc::ok;
}

Errc RemoteAccess::frame_came(const AccessHead& head, const AccessBody& body) noexcept {
    switch (head.kind) {
        case AccessKind::get:
            get_asked(head.id, body);
            return Errc::ok;
        case AccessKind::stop:
            stop_asked(head.id);
            return Errc::ok;
        case AccessKind::fetch_add:
        case AccessKind::compare_swap:
            atomic_asked(head, body);
            return Errc::ok;
        default:
            return answered(head, body);
    }
}

}  // namespace cinnabar::na
