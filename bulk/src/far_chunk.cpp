// SPDX-License-Identifier: BSD-3-Clause
// Chunks of far memory. A chunk holds a staging buffer from begin to end. A push loads the buffer from the far memory,
// then posts it; a pull gets into the buffer, then stores it. The completion waits for each copy that has started, even
// if the transfer failed, so nothing is read or written after it.
#include "mover.hpp"

#include <cinnabar/base/assert.hpp>

#include <utility>

namespace cinnabar::bulk {
namespace {

constexpr Microseconds retry_loaded_after{1'000};

}  // namespace

Mover::Impl::Posted Mover::Impl::post_far(ChunkOp& op, TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    FarStaging& staging = far_staging_[book.port_index];
    const bool may = staging.may_take(book.far_buffers);
    op.buffer = may ? staging.take(transports_[book.port_index]) : nullptr;
    if (!op.buffer) {
        chunks_.release(op);
        if (!may) return Posted::peer_full;  // a chunk of this peer is in flight
        fail(slot, Errc::out_of_memory);
        return Posted::failed;
    }
    ++book.far_buffers;
    op.staging_index = Staging::none;
    op.copy.end = {};
    fill(op, slot);
    if (op.kind == na::OpKind::get) {
        const Errc taken = post(op);
        if (taken != Errc::ok) {
            give_buffer(op);
            chunks_.release(op);
            if (taken == Errc::again) return Posted::stalled;
            fail(slot, taken, taken == Errc::closed ? Recall::no : Recall::yes);
            return Posted::failed;
        }
        set_in_flight(op, slot);
        return Posted::taken;
    }
    set_in_flight(op, slot);
    begin_copy(op);
    return Posted::taken;
}

void Mover::Impl::give_buffer(ChunkOp& op) noexcept {
    PeerBook& book = *op.transfer->book;
    far_staging_[book.port_index].give(*std::exchange(op.buffer, nullptr));
    --book.far_buffers;
}

void Mover::Impl::begin_copy(ChunkOp& op) noexcept {
    const Region& local = op.transfer->args.local;
    op.copy.region = &local;
    op.copy.offset = op.chunk.local_offset - local.offset();
    op.copy.bytes = op.chunk.bytes;
    op.copy.buffer = op.buffer;
    op.copy.shown = nullptr;
    op.copy.to_show = nullptr;
    op.copy.into_region = op.kind == na::OpKind::get;
    op.copy.may_pipe = !op.copy.into_region && !op.transfer->by_owner;  // the owner would read the buffer's memory
    op.copy.done.user = &op;
    op.copy.done.run = &on_copied;
    op.copy.begin(copies_);
}

void Mover::Impl::on_copied(Work& work) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(work.user);
    Impl& mover = *op.transfer->mover;
    op.copy.finished();
    op.result = op.copy.end.code;
    const bool loaded = op.result == Errc::ok && op.kind != na::OpKind::get;
    if (!loaded) return mover.chunk_done(op);
    if (op.transfer->error == Errc::ok) return mover.post_loaded(op);
    op.result = Errc::canceled;
    mover.chunk_done(op);
}

void Mover::Impl::post_loaded(ChunkOp& op) noexcept {
    if (op.buffer) op.local = &op.buffer->holder();
    const Errc taken = post(op);
    if (taken == Errc::ok) return;
    if (taken != Errc::again) {
        op.result = taken;
        return chunk_done(op);
    }
    loaded_.push_back(op);
    if (!loaded_retry_.armed()) context_.arm(loaded_retry_, after(context_.now_us(), retry_loaded_after));
}

// Tries each once: a chunk that finds no room again goes to the end.
void Mover::Impl::post_all_loaded() noexcept {
    std::size_t count = 0;
    for (ChunkOp* op = loaded_.front(); op; op = decltype(loaded_)::next(*op)) ++count;
    for (; count > 0 && !loaded_.empty(); --count) post_loaded(*loaded_.pop_front());
    pump();
}

// For a transfer that has failed.
void Mover::Impl::drop_loaded(TransferSlot& slot) noexcept {
    bool any = false;
    for (ChunkOp* op = slot.inflight.front(); op;) {
        ChunkOp* const next = decltype(slot.inflight)::next(*op);
        if (decltype(loaded_)::linked(*op)) {
            loaded_.remove(*op);
            retire(*op);
            any = true;
        }
        op = next;
    }
    if (!any) return;
    // Other transfers may use its buffer, also those of the same peer, but must not start from inside this function.
    PeerBook& book = *slot.book;
    if (!book.ready.empty() && !Ring::linked(book)) enter(book, PeerBook::Place::ring);
    context_.disarm(loaded_retry_);
    context_.arm(loaded_retry_, context_.now_us());
}

void Mover::Impl::begin_eager_copy(TransferSlot& slot) noexcept {
    const TransferArgs& args = slot.args;
    slot.phase = Phase::finishing;  // too short to be canceled
    slot.eager_copy.region = &args.local;
    slot.eager_copy.offset = 0;
    slot.eager_copy.bytes = args.bytes;
    slot.eager_copy.blocks = args.remote_blocks;
    slot.eager_copy.from = args.remote->eager();
    if (!args.remote_blocks) slot.eager_copy.from = slot.eager_copy.from.subspan(args.remote_offset, args.bytes);
    slot.eager_copy.into_region = true;
    slot.eager_copy.done.user = &slot;
    slot.eager_copy.done.run = &on_eager_copied;
    slot.eager_copy.begin(copies_);
}

void Mover::Impl::on_eager_copied(Work& work) noexcept {
    TransferSlot& slot = *static_cast<TransferSlot*>(work.user);
    const FarEnd end = slot.eager_copy.end;
    slot.eager_copy.finished();
    slot.error = end.code;
    slot.set_os_errno(end.os_errno);
    if (end.code == Errc::ok) {
        slot.add_moved(slot.args.bytes);
        if (slot.progress) slot.progress(slot, slot.moved(), slot.user);
    }
    slot.mover->finish(slot);
}

Errc Mover::Impl::post_by_owner(ChunkOp& op) noexcept {
    TransferSlot& slot = *op.transfer;
    const Region& local = slot.args.local;
    OwnerMove& move = op.by_owner;
    move.direction = slot.args.direction;
    move.peer = slot.book->peer;
    move.key = slot.key;
    move.offset = op.chunk.remote_offset;
    move.shown = slot.by_handle ? &op.handle : nullptr;
    move.bytes = op.chunk.bytes;
    if (op.buffer) {
        move.window = op.buffer->region.slice(0, op.chunk.bytes);
    } else if (!slot.by_handle) {
        move.window = local.slice(op.chunk.local_offset - local.offset(), op.chunk.bytes);
    }
    move.deadline = slot.args.deadline;
    move.user = &op;
    move.done = &on_owner_moved;
    return owner_moves_->begin(move);
}

void Mover::Impl::on_owner_moved(OwnerMove& move) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(move.user);
    move.window = {};
    op.result = move.result;
    on_chunk(op);
}

}  // namespace cinnabar::bulk
