// SPDX-License-Identifier: BSD-3-Clause
// Scheduling of chunks: budgets, turns, and full ports.
#include "pump.hpp"

#include "far_chunks.hpp"
#include "mover.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>

namespace cinnabar::bulk {
namespace {

// Returns whether a chunk's result ends every transfer with the peer. Not every code of BlastRadius::peer does so: one
// descriptor, forged by a third party, can cause `protocol`.
bool connection_gone(Errc result) noexcept {
    return result == Errc::peer_lost || result == Errc::refused || result == Errc::unreachable;
}

}  // namespace

Pump::Pump(Mover::Impl& mover, na::Context& context, const std::vector<std::shared_ptr<na::Transport>>& transports,
           const MoverOptions& options)
    : mover_(mover),
      context_(context),
      options_(options),
      staging_(transports.size()),
      chunks_(ThreadUse::one, options.chunks_max + PeerBooks::peers_max) {
    retry_.owner = this;
    retry_.fire = &on_retry;
}

void Pump::make_ready(TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    const bool may_post = slot.error == Errc::ok && !slot.all_posted() && slot.inflight_count < options_.window;
    if (may_post && !decltype(book.ready)::linked(slot)) book.ready.push_back(slot);
    books_.enter_if_ready(book);
}

void Pump::unready(TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    if (decltype(book.ready)::linked(slot)) book.ready.remove(slot);
    if (book.ready.empty() && book.in_a_ring()) leave(book);
}

void Pump::leave(PeerBook& book) noexcept {
    books_.leave_ring(book);
    if (book.ring_kind == PeerBook::RingKind::stalled && !books_.first(PeerBook::RingKind::stalled))
        context_.disarm(retry_);
}

void Pump::stall(PeerBook& book) noexcept {
    leave(book);
    books_.enter(book, PeerBook::RingKind::stalled);
    if (retry_.armed()) return;
    context_.arm(retry_, after(context_.now_us(), retry_after_));
    retry_after_ = std::min(retry_after_ * 2, retry_after_max);
}

void Pump::on_retry(WheelTimer& timer) noexcept {
    Pump& pump = TimerOf<Pump>::owner_of(timer);
    while (PeerBook* book = pump.books_.first(PeerBook::RingKind::stalled)) {
        pump.leave(*book);
        pump.books_.enter(*book, PeerBook::RingKind::ring);
    }
    pump.run();
}

// Posts chunks as long as budgets and ports have room. Peers that wait for the context's budget come first. If the
// budget has no room for the first of these peers, only peers with nothing in flight may post before it.
void Pump::run() noexcept {
    bool full = false;
    while (true) {
        PeerBook* book = full ? nullptr : books_.first(PeerBook::RingKind::full);
        if (!book) book = books_.first(PeerBook::RingKind::ring);
        if (!book) return;
        switch (full && book->chunks > 0 ? Posted::context_full : post_next(*book)) {
            case Posted::taken:
                leave(*book);
                books_.enter_if_ready(*book);
                break;
            case Posted::failed:  // the transfer has left the ring
                break;
            case Posted::peer_full:
                leave(*book);
                break;
            case Posted::stalled:
                stall(*book);
                break;
            case Posted::context_full:
                full = true;
                if (book->ring_kind == PeerBook::RingKind::full) break;
                leave(*book);
                books_.enter(*book, PeerBook::RingKind::full);
                break;
        }
    }
}

bool Pump::is_full(const PeerBook& book, std::uint64_t bytes) const noexcept {
    if (book.chunks == 0) return false;
    return chunks_.taken() >= options_.chunks_max || bytes_inflight() + bytes > options_.inflight_bytes_max;
}

Posted Pump::post_next(PeerBook& book) noexcept {
    TransferSlot& slot = *book.ready.front();
    if (!slot.has_planned) slot.has_planned = slot.planner.next(slot.planned);
    if (slot.next_notifies() && slot.inflight_count > 0) {  // the notification waits until all other chunks are written
        book.ready.remove(slot);
        return Posted::taken;
    }
    const std::uint64_t bytes = slot.weight(slot.planned);
    if (is_full(book, bytes)) return Posted::context_full;
    if (book.bytes > 0 && book.bytes + bytes > options_.peer_inflight_bytes_max) return Posted::peer_full;
    if (book.chunks >= book.chunks_max) return Posted::peer_full;
    const Posted posted = post_chunk(slot);
    if (posted != Posted::taken) return posted;
    book.bytes += bytes;
    ++book.chunks;
    add_inflight(bytes);
    slot.has_planned = false;
    book.ready.remove(slot);
    if (!slot.all_posted() && slot.inflight_count < options_.window) book.ready.push_back(slot);
    return posted;
}

Posted Pump::post_chunk(TransferSlot& slot) noexcept {
    ChunkOp* op = chunks_.acquire();
    if (!op) {
        mover_.fail(slot, Errc::out_of_memory);
        return Posted::failed;
    }
    if (slot.by_handle) return mover_.far_.post_by_handle(*op, slot);
    if (slot.is_far()) return mover_.far_.post(*op, slot);
    Staging& staging = staging_[slot.book->port_index];
    op->staging_index = slot.planned.staged ? staging.take() : Staging::none;
    if (slot.planned.staged && op->staging_index == Staging::none) return give_up(*op, Posted::stalled);
    fill(*op, slot);
    const Errc taken = post(*op);
    if (taken == Errc::ok) {
        set_in_flight(*op, slot);
        return Posted::taken;
    }
    if (op->staging_index != Staging::none) staging.give(op->staging_index);
    return refused(*op, slot, taken);
}

Posted Pump::give_up(ChunkOp& op, Posted why) noexcept {
    chunks_.release(op);
    return why;
}

Posted Pump::refused(ChunkOp& op, TransferSlot& slot, Errc why) noexcept {
    chunks_.release(op);
    if (why == Errc::again) return Posted::stalled;
    mover_.fail(slot, why, why == Errc::closed ? Mover::Impl::Recall::no : Mover::Impl::Recall::yes);
    return Posted::failed;
}

void Pump::set_in_flight(ChunkOp& op, TransferSlot& slot) noexcept {
    slot.inflight.push_back(op);
    ++slot.inflight_count;
}

Errc Pump::post(ChunkOp& op) noexcept {
    return op.transfer->by_owner ? mover_.far_.post_by_owner(op) : context_.post_owned(op);
}

void Pump::call_off(ChunkOp& op) noexcept {
    if (op.transfer->by_owner) return mover_.owner_moves_->cancel(op.by_owner);
    context_.cancel_owned(op);
}

void Pump::fill(ChunkOp& op, TransferSlot& slot) noexcept {
    const bool pull = slot.args.direction == Direction::pull;
    op.transfer = &slot;
    op.chunk = slot.planned;
    op.complete = &on_chunk;
    op.kind = pull ? na::OpKind::get : na::OpKind::put;
    if (slot.next_notifies()) {
        op.kind = na::OpKind::put_notify;
        op.notify = *slot.args.notify;
    }
    op.peer = slot.book->peer;
    op.local = slot.memory;
    op.local_offset = op.chunk.local_offset;
    op.remote = {slot.key, slot.args.remote->bytes()};
    op.remote_offset = op.chunk.remote_offset;
    op.bytes = op.chunk.bytes;
    if (op.buffer) {
        op.local = op.buffer->memory;
        op.local_offset = 0;
    }
    if (op.staging_index == Staging::none) return;
    const Staging& staging = staging_[slot.book->port_index];
    op.local = &staging.memory();
    op.local_offset = Staging::offset(op.staging_index);
    if (pull) return;
    slot.args.local.copy_out(op.chunk.local_offset - slot.args.local.offset(),
                             staging.bytes(op.staging_index, op.bytes));
}

void Pump::on_chunk(na::Op& op) noexcept {
    auto& chunk = static_cast<ChunkOp&>(op);
    Mover::Impl& mover = *chunk.transfer->mover;
    if (!chunk.buffer || op.kind != na::OpKind::get || op.result != Errc::ok) return mover.pump_.chunk_done(chunk);
    // Bytes that arrived for far memory still have to be stored; after a failure nothing more is written.
    if (chunk.transfer->error == Errc::ok) return mover.far_.begin_copy(chunk);
    op.result = Errc::canceled;
    mover.pump_.chunk_done(chunk);
}

void Pump::retire(ChunkOp& op) noexcept {
    TransferSlot& slot = *op.transfer;
    PeerBook& book = *slot.book;
    const std::uint64_t bytes = slot.weight(op.chunk);
    if (op.buffer) mover_.far_.give_buffer(op);
    if (slot.by_handle) --book.by_handle;
    slot.inflight.remove(op);
    --slot.inflight_count;
    book.bytes -= bytes;
    --book.chunks;
    add_inflight(0 - bytes);
    chunks_.release(op);
}

void Pump::chunk_done(ChunkOp& op) noexcept {
    TransferSlot& slot = *op.transfer;
    PeerBook& book = *slot.book;
    const Errc result = op.result;
    const std::uint64_t bytes = op.chunk.bytes;
    const int os_errno = op.buffer ? op.copy.end.os_errno : 0;
    if (op.staging_index != Staging::none) {
        Staging& staging = staging_[book.port_index];
        if (result == Errc::ok && op.kind == na::OpKind::get) {
            slot.args.local.copy_in(op.chunk.local_offset - slot.args.local.offset(),
                                    staging.bytes(op.staging_index, bytes));
        }
        staging.give(op.staging_index);
    }
    retire(op);

    // A peer with nothing in flight may post one chunk although others wait for the budget.
    if (book.chunks == 0 && book.in_a_ring() && book.ring_kind == PeerBook::RingKind::full) leave(book);
    books_.enter_if_ready(book);
    // The port may have room again, so one stalled peer tries again.
    if (PeerBook* peer = books_.first(PeerBook::RingKind::stalled)) {
        leave(*peer);
        books_.enter(*peer, PeerBook::RingKind::ring);
    }

    if (slot.error == Errc::ok) slot.set_os_errno(os_errno);
    if (result == Errc::ok) {
        retry_after_ = retry_after_min;
        slot.add_moved(bytes);
        if (mover_.count_) mover_.count_(*book.peer, slot.args.direction, bytes);
        if (slot.progress) slot.progress(slot, slot.moved(), slot.user);
    } else if (result == Errc::unsupported && slot.by_handle && slot.by_owner && slot.error == Errc::ok) {
        mover_.stage_instead(slot);
    } else if (connection_gone(result) && !slot.by_owner) {
        mover_.fail_peer(book, result);
    } else {
        mover_.fail(slot, result, result == Errc::canceled ? Mover::Impl::Recall::no : Mover::Impl::Recall::yes);
    }
    if (slot.phase == Phase::running) {
        make_ready(slot);
        if (slot.inflight_count == 0 && (slot.error != Errc::ok || slot.all_posted())) mover_.finish(slot);
    }
    run();
}

}  // namespace cinnabar::bulk
