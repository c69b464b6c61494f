// SPDX-License-Identifier: BSD-3-Clause
// Direct transfers between device memory of two processes of one user on one host (decision 94). Each transfer is one
// chunk. On the side that pulls from or pushes to the owner, a thread makes a handle of the local bytes, and sends it
// to the owner with the request to copy. On the owner's side, a thread opens the handle, copies, and closes the handle,
// while it uses the lease that the owner granted. The completion waits for each step.
#include "far_chunks.hpp"
#include "far_ipc.hpp"
#include "mover.hpp"

namespace cinnabar::bulk {
namespace {

// The maximum number of copies per peer that a context makes or requests at once. The copies of all peers share a few
// threads.
constexpr std::uint32_t peer_copies_max = 2;

}  // namespace

bool FarChunks::may_go_by_handle(const TransferSlot& slot, const na::Peer& peer) const noexcept {
    const TransferArgs& args = slot.args;
    if (!slot.by_owner || !slot.is_far() || !peer.of_own_user()) return false;
    if (args.remote_blocks || args.bytes < mover_.options_.ipc_bytes_min) return false;
    return device_segment(args.local, 0, args.bytes).memory != nullptr;
}

Posted FarChunks::post_by_handle(ChunkOp& op, TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    if (book.by_handle >= peer_copies_max) return mover_.pump_.give_up(op, Posted::peer_full);
    ++book.by_handle;
    op.transfer = &slot;
    op.chunk = slot.planned;
    op.kind = slot.args.direction == Direction::pull ? na::OpKind::get : na::OpKind::put;
    op.buffer = nullptr;
    op.staging_index = Staging::none;
    op.copy.region = &slot.args.local;
    op.copy.offset = 0;
    op.copy.bytes = op.chunk.bytes;
    op.copy.buffer = nullptr;
    op.copy.shown = slot.args.shown;
    op.copy.to_show = slot.args.shown ? nullptr : &op.handle;
    op.copy.into_region = slot.args.direction == Direction::pull;
    op.copy.done.user = &op;
    op.copy.done.run = slot.args.shown ? &on_copied_by_device : &on_shown;
    mover_.pump_.set_in_flight(op, slot);
    op.copy.begin(copies_);
    return Posted::taken;
}

void FarChunks::on_shown(WorkItem& work) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(work.user);
    Mover::Impl& mover = *op.transfer->mover;
    op.copy.finished();
    op.result = op.copy.end.code;
    if (op.result == Errc::ok && op.transfer->error == Errc::ok) return mover.far_.post_loaded(op);
    if (op.result == Errc::ok) op.result = Errc::canceled;
    mover.pump_.chunk_done(op);
}

void FarChunks::on_copied_by_device(WorkItem& work) noexcept {
    ChunkOp& op = *static_cast<ChunkOp*>(work.user);
    op.copy.finished();
    op.result = op.copy.end.code;
    op.transfer->mover->pump_.chunk_done(op);
}

}  // namespace cinnabar::bulk
