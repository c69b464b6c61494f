// SPDX-License-Identifier: BSD-3-Clause
// Chunks of far memory. A chunk holds a staging buffer from beginning to end. A push loads the buffer from the far
// memory, then posts the buffer; a pull receives into the buffer, then stores it to the far memory. The completion
// waits for each copy that has started, even if the transfer failed, so nothing is read or written after the
// completion.
#include "far_chunks.hpp"

#include "mover.hpp"

#include <cinnabar/base/assert.hpp>

#include <utility>

namespace cinnabar::bulk {
namespace {

constexpr Microseconds retry_loaded_after{1'000};

}  // namespace

FarChunks::FarChunks(Mover::Impl& mover, na::Context& context,
                     const std::vector<std::shared_ptr<na::Transport>>& transports)
    : mover_(mover), context_(context), transports_(transports), staging_(transports.size()), copies_(context) {
    retry_.bind<&FarChunks::post_all_loaded>(*this);
}

FarChunks::~FarChunks() {
    CINNABAR_ASSERT(loaded_.empty());
    context_.disarm(retry_);
}

Posted FarChunks::post(ChunkOp& op, TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    FarStaging& staging = staging_[book.port_index];
    if (!staging.may_take(book.far_buffers))
        return mover_.pump_.give_up(op, Posted::peer_full);  // a chunk of this peer is in flight
    op.buffer = staging.take(transports_[book.port_index]);
    if (!op.buffer) return mover_.pump_.refused(op, slot, Errc::out_of_memory);
    ++book.far_buffers;
    op.staging_index = Staging::none;
    op.copy.end = {};
    mover_.pump_.fill(op, slot);
    if (op.kind != na::OpKind::get) {
        mover_.pump_.set_in_flight(op, slot);
        begin_copy(op);
        return Posted::taken;
    }
    const Errc taken = mover_.pump_.post(op);
    if (taken != Errc::ok) {
        give_buffer(op);
        return mover_.pump_.refused(op, slot, taken);
    }
    mover_.pump_.set_in_flight(op, slot);
    return Posted::taken;
}

void FarChunks::give_buffer(ChunkOp& op) noexcept {
    PeerBook& book = *op.transfer->book;
    staging_[book.port_index].give(*std::exchange(op.buffer, nullptr));
    --book.far_buffers;
}

void FarChunks::begin_copy(ChunkOp& op) noexcept {
    const Region& local = op.transfer->args.local;
    op.copy.region = &local;
    op.copy.offset = op.chunk.local_offset - local.offset();
    op.copy.bytes = op.chunk.bytes;
    op.copy.buffer = op.buffer;
    op.copy.shown = nullptr;
    op.copy.to_show = nullptr;
    op.copy.into_region = op.kind == na::OpKind::get;
    op.copy.may_pipe = !op.copy.into_region && !op.transfer->by_owner;  // the owner reads the buffer, not a pipe
    op.copy.done.user = &op;
    op.copy.done.run = &on_copied;
    op.copy.begin(copies_);
}

void FarChunks::on_copied(WorkItem& work) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(work.user);
    Mover::Impl& mover = *op.transfer->mover;
    op.copy.finished();
    op.result = op.copy.end.code;
    const bool loaded = op.result == Errc::ok && op.kind != na::OpKind::get;
    if (!loaded) return mover.pump_.chunk_done(op);
    if (op.transfer->error == Errc::ok) return mover.far_.post_loaded(op);
    op.result = Errc::canceled;
    mover.pump_.chunk_done(op);
}

void FarChunks::post_loaded(ChunkOp& op) noexcept {
    if (op.buffer) op.local = &op.buffer->holder();
    const Errc taken = mover_.pump_.post(op);
    if (taken == Errc::ok) return;
    if (taken != Errc::again) {
        op.result = taken;
        return mover_.pump_.chunk_done(op);
    }
    loaded_.push_back(op);
    if (!retry_.armed()) context_.arm(retry_, after(context_.now_us(), retry_loaded_after));
}

// Tries each chunk once; one that finds no room again goes to the end of the list.
void FarChunks::post_all_loaded() noexcept {
    std::size_t count = 0;
    for (ChunkOp* op = loaded_.front(); op; op = decltype(loaded_)::next(*op)) ++count;
    for (; count > 0 && !loaded_.empty(); --count) post_loaded(*loaded_.pop_front());
    mover_.pump_.run();
}

void FarChunks::drop_loaded(TransferSlot& slot) noexcept {
    bool any = false;
    for (ChunkOp* op = slot.inflight.front(); op;) {
        ChunkOp* const next = decltype(slot.inflight)::next(*op);
        if (decltype(loaded_)::linked(*op)) {
            loaded_.remove(*op);
            mover_.pump_.retire(*op);
            any = true;
        }
        op = next;
    }
    if (!any) return;
    // Other transfers, including those of the same peer, may use the buffer, but must not start inside this function.
    mover_.pump_.books().enter_if_ready(*slot.book);
    context_.disarm(retry_);
    context_.arm(retry_, context_.now_us());
}

void FarChunks::begin_eager_copy(TransferSlot& slot) noexcept {
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

void FarChunks::on_eager_copied(WorkItem& work) noexcept {
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

Errc FarChunks::post_by_owner(ChunkOp& op) noexcept {
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
    move.let_go = true;
    return mover_.owner_moves_->begin(move);
}

void FarChunks::on_owner_moved(OwnerMove& move) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(move.user);
    move.window = {};
    if (move.shown && !move.let_go) op.transfer->args.local.quarantine_for_good();
    // An owner that still uses the memory cannot have finished, so its success is not trusted.
    op.result = move.let_go || move.result != Errc::ok ? move.result : Errc::timed_out;
    Pump::on_chunk(op);
}

}  // namespace cinnabar::bulk
