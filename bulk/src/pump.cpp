// SPDX-License-Identifier: BSD-3-Clause
// Scheduling of chunks: budgets, turns, and ports without room.
#include "mover.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <limits>

namespace cinnabar::bulk {
namespace {

// Whether a result ends every transfer with the peer. Not all codes of Blast::peer do: `protocol` may be caused by one
// descriptor, forged by a third party.
bool connection_gone(Errc result) noexcept {
    return result == Errc::peer_lost || result == Errc::refused || result == Errc::unreachable;
}

std::size_t bucket_of(const na::Peer& peer) noexcept {
    return (reinterpret_cast<std::uintptr_t>(&peer) * 0x9e3779b97f4a7c15u) >> 56;
}

}  // namespace

PeerBook* Mover::Impl::find_book(const na::Peer& peer) const noexcept {
    PeerBook* book = table_[bucket_of(peer)];
    while (book && book->peer != &peer) book = book->next_in_bucket;
    return book;
}

PeerBook* Mover::Impl::join_book(TransferSlot& slot, na::Peer& peer, std::size_t port_index) noexcept {
    PeerBook* book = find_book(peer);
    if (!book) {
        book = books_.acquire();
        if (!book) return nullptr;
        const std::uint32_t chunks_max = transports_[port_index]->limits().rma_inflight_max;
        book->peer = &peer;
        book->port_index = port_index;
        book->chunks_max = chunks_max ? chunks_max : std::numeric_limits<std::uint32_t>::max();
        book->next_in_bucket = table_[bucket_of(peer)];
        table_[bucket_of(peer)] = book;
        peer.acquire();
    }
    book->members.push_back(slot);
    return book;
}

void Mover::Impl::leave_book(TransferSlot& slot) noexcept {
    PeerBook& book = *std::exchange(slot.book, nullptr);
    CINNABAR_DEBUG_ASSERT(!decltype(book.ready)::linked(slot) && slot.inflight_count == 0);
    book.members.remove(slot);
    if (!book.members.empty()) return;
    CINNABAR_DEBUG_ASSERT(book.bytes == 0 && book.chunks == 0 && !Ring::linked(book));
    PeerBook** at = &table_[bucket_of(*book.peer)];
    while (*at != &book) at = &(*at)->next_in_bucket;
    *at = book.next_in_bucket;
    na::Peer* peer = book.peer;
    books_.release(book);
    peer->release();
}

void Mover::Impl::make_ready(TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    const bool may_post = slot.error == Errc::ok && !slot.all_posted() && slot.inflight_count < options_.window;
    if (may_post && !decltype(book.ready)::linked(slot)) book.ready.push_back(slot);
    if (!book.ready.empty() && !Ring::linked(book)) enter(book, PeerBook::Place::ring);
}

void Mover::Impl::unready(TransferSlot& slot) noexcept {
    PeerBook& book = *slot.book;
    if (decltype(book.ready)::linked(slot)) book.ready.remove(slot);
    if (book.ready.empty() && Ring::linked(book)) leave(book);
}

void Mover::Impl::enter(PeerBook& book, PeerBook::Place place) noexcept {
    book.place = place;
    rings_[static_cast<std::size_t>(place)].push_back(book);
}

void Mover::Impl::leave(PeerBook& book) noexcept {
    rings_[static_cast<std::size_t>(book.place)].remove(book);
    if (book.place == PeerBook::Place::stalled && stalled_.empty()) context_.disarm(retry_);
}

void Mover::Impl::stall(PeerBook& book) noexcept {
    leave(book);
    enter(book, PeerBook::Place::stalled);
    if (retry_.armed()) return;
    context_.arm(retry_, after(context_.now_us(), retry_after_));
    retry_after_ = std::min(retry_after_ * 2, retry_after_max);
}

void Mover::Impl::on_retry(Timer& timer) noexcept {
    Impl& mover = TimerOf<Impl>::owner_of(timer);
    while (PeerBook* book = mover.stalled_.front()) {
        mover.leave(*book);
        mover.enter(*book, PeerBook::Place::ring);
    }
    mover.pump();
}

// Peers that wait for the context's budget come first. If the first of them does not fit, only peers with nothing in
// flight may overtake it.
void Mover::Impl::pump() noexcept {
    bool full = false;
    while (PeerBook* book = full || full_.empty() ? ring_.front() : full_.front()) {
        switch (full && book->chunks > 0 ? Posted::context_full : post_next(*book)) {
            case Posted::taken:
                leave(*book);
                if (!book->ready.empty()) enter(*book, PeerBook::Place::ring);
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
                if (book->place == PeerBook::Place::full) break;
                leave(*book);
                enter(*book, PeerBook::Place::full);
                break;
        }
    }
}

bool Mover::Impl::is_full(const PeerBook& book, std::uint64_t bytes) const noexcept {
    if (book.chunks == 0) return false;
    return chunks_.taken() >= options_.chunks_max ||
           bytes_inflight_.load(std::memory_order_relaxed) + bytes > options_.inflight_bytes_max;
}

Mover::Impl::Posted Mover::Impl::post_next(PeerBook& book) noexcept {
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
    bytes_inflight_.store(bytes_inflight_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
    slot.has_planned = false;
    book.ready.remove(slot);
    if (!slot.all_posted() && slot.inflight_count < options_.window) book.ready.push_back(slot);
    return posted;
}

Mover::Impl::Posted Mover::Impl::post_chunk(TransferSlot& slot) noexcept {
    ChunkOp* op = chunks_.acquire();
    if (!op) {
        fail(slot, Errc::out_of_memory);
        return Posted::failed;
    }
    if (slot.by_handle) return post_by_handle(*op, slot);
    if (slot.is_far()) return post_far(*op, slot);
    Staging& staging = staging_[slot.book->port_index];
    op->staging_index = slot.planned.staged ? staging.take() : Staging::none;
    if (slot.planned.staged && op->staging_index == Staging::none) {
        chunks_.release(*op);
        return Posted::stalled;
    }
    fill(*op, slot);
    const Errc taken = post(*op);
    if (taken == Errc::ok) {
        set_in_flight(*op, slot);
        return Posted::taken;
    }
    if (op->staging_index != Staging::none) staging.give(op->staging_index);
    chunks_.release(*op);
    if (taken == Errc::again) return Posted::stalled;
    fail(slot, taken, taken == Errc::closed ? Recall::no : Recall::yes);
    return Posted::failed;
}

void Mover::Impl::set_in_flight(ChunkOp& op, TransferSlot& slot) noexcept {
    slot.inflight.push_back(op);
    ++slot.inflight_count;
}

Errc Mover::Impl::post(ChunkOp& op) noexcept {
    return op.transfer->by_owner ? post_by_owner(op) : context_.post_owned(op);
}

void Mover::Impl::call_off(ChunkOp& op) noexcept {
    if (op.transfer->by_owner) return owner_moves_->cancel(op.by_owner);
    context_.cancel_owned(op);
}

void Mover::Impl::fill(ChunkOp& op, TransferSlot& slot) noexcept {
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

void Mover::Impl::on_chunk(na::Op& op) noexcept {
    auto& chunk = static_cast<ChunkOp&>(op);
    Impl& mover = *chunk.transfer->mover;
    if (!chunk.buffer || op.kind != na::OpKind::get || op.result != Errc::ok) return mover.chunk_done(chunk);
    // Bytes that arrived for far memory still have to be stored; after a failure nothing more is written.
    if (chunk.transfer->error == Errc::ok) return mover.begin_copy(chunk);
    op.result = Errc::canceled;
    mover.chunk_done(chunk);
}

void Mover::Impl::retire(ChunkOp& op) noexcept {
    TransferSlot& slot = *op.transfer;
    PeerBook& book = *slot.book;
    const std::uint64_t bytes = slot.weight(op.chunk);
    if (op.buffer) give_buffer(op);
    if (slot.by_handle) --book.by_handle;
    slot.inflight.remove(op);
    --slot.inflight_count;
    book.bytes -= bytes;
    --book.chunks;
    bytes_inflight_.store(bytes_inflight_.load(std::memory_order_relaxed) - bytes, std::memory_order_relaxed);
    chunks_.release(op);
}

void Mover::Impl::chunk_done(ChunkOp& op) noexcept {
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
    if (book.chunks == 0 && Ring::linked(book) && book.place == PeerBook::Place::full) leave(book);
    if (!book.ready.empty() && !Ring::linked(book)) enter(book, PeerBook::Place::ring);
    // A port has room again: one stalled peer may try again.
    if (PeerBook* peer = stalled_.front()) {
        leave(*peer);
        enter(*peer, PeerBook::Place::ring);
    }

    if (slot.error == Errc::ok) slot.set_os_errno(os_errno);
    if (result == Errc::ok) {
        retry_after_ = retry_after_min;
        slot.add_moved(bytes);
        if (slot.progress) slot.progress(slot, slot.moved(), slot.user);
    } else if (result == Errc::unsupported && slot.by_handle && slot.by_owner && slot.error == Errc::ok) {
        stage_instead(slot);
    } else if (connection_gone(result) && !slot.by_owner) {
        fail_peer(book, result);
    } else {
        fail(slot, result, result == Errc::canceled ? Recall::no : Recall::yes);
    }
    if (slot.phase == Phase::running) {
        make_ready(slot);
        if (slot.inflight_count == 0 && (slot.error != Errc::ok || slot.all_posted())) finish(slot);
    }
    pump();
}

}  // namespace cinnabar::bulk
