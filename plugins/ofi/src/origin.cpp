// SPDX-License-Identifier: BSD-3-Clause
// This side's own operations on the peer's memory: from the peer's waiting list through admission to their answers.
#include "gather.hpp"
#include "port.hpp"
#include "session.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <cstring>

namespace cinnabar::ofi {
namespace {

std::uint64_t id_of(const Transfer& transfer) noexcept {
    return std::uint64_t{transfer.generation} << 32 | transfer.slot_index;
}

// Nobody who does not know it can send into what waits for it.
std::uint64_t secret_tag() noexcept {
    constexpr std::uint64_t tags = (std::uint64_t{1} << chunk_tag_bits) - 1;
    return secret_u64() & tags & ~std::uint64_t{chunks_max - 1};
}

bool is_get(const Transfer& transfer) noexcept { return transfer.posted->op->kind == na::OpKind::get; }

TransferBody body_of(const Transfer& transfer, std::uint32_t chunk_bytes) noexcept {
    const na::Op& op = *transfer.posted->op;
    TransferBody body;
    Reader reader(op.remote.key);
    body.key = na::LeaseKey::decode(reader);
    body.offset = op.remote_offset;
    body.bytes = op.bytes;
    body.tag = transfer.tag;
    body.operand = op.operand;
    body.compare = op.compare;
    body.notify = op.notify;
    body.chunk = transfer.chunks == 0 ? 0 : chunk_bytes;
    return body;
}

FrameKind frame_kind(na::OpKind kind) noexcept {
    switch (kind) {
        case na::OpKind::get:
            return FrameKind::get;
        case na::OpKind::fetch_add:
            return FrameKind::fetch_add;
        case na::OpKind::compare_swap:
            return FrameKind::compare_swap;
        default:
            return FrameKind::put;
    }
}

}  // namespace

// stalled: the port has no room for another one.
Session::Sent Session::admit_waiting() noexcept {
    const auto chunk_bytes = static_cast<std::uint32_t>(port_->provider().chunk_bytes);
    while (admitted_ < admitted_max && !peer_->rma.empty()) {
        Transfer* transfer = port_->take_transfer(*this);
        if (!transfer) return Sent::stalled;
        Posted& posted = *peer_->rma.pop_front();
        const na::Op& op = *posted.op;
        const bool moves = op.kind == na::OpKind::get || is_put(op.kind);
        transfer->posted = &posted;
        transfer->session = this;
        transfer->chunks = moves && op.bytes > small_bytes_max ? chunks_of(op.bytes, chunk_bytes) : 0;
        transfer->tag = transfer->chunks > 0 && op.kind == na::OpKind::get ? secret_tag() : 0;
        transfer->allowed = op.kind == na::OpKind::get ? transfer->chunks : 0;
        transfer->next = transfer->ended = transfer->touching = 0;
        transfer->asked = transfer->answered = transfer->awaits_answer = false;
        transfer->failed = Errc::ok;
        posted.transfer = transfer;
        posted.place = Place::admitted;
        transfers_.push_back(*transfer);
        to_post_.push_back(*transfer);
        ++admitted_;
    }
    return Sent::all;
}

Session::Sent Session::post_transfers() noexcept {
    Sent admitted = admit_waiting();
    while (Transfer* transfer = to_post_.front()) {
        const Sent sent = post_chunks(*transfer);
        if (sent != Sent::all) return sent;
        leave_posting(*transfer);
        if (peer_->ending) return Sent::all;
        admitted = admit_waiting();
    }
    return admitted;
}

// All chunks of a get before it is asked for: what comes finds its place. Of those that no peer knows of yet one alone
// takes what there is of chunks and receives: several could hold a part each, and wait for the rest for ever.
Session::Sent Session::post_chunks(Transfer& transfer) noexcept {
    const bool get = is_get(transfer);
    if (get && transfer.chunks > 0 && !port_->may_post_get(transfer)) return Sent::stalled;
    if (!get && !transfer.asked) ask(transfer);
    while (transfer.next < transfer.allowed) {
        if (!get && put_chunks_ >= put_chunks_max) return Sent::unconfirmed;  // goes on with the end of one
        Chunk* chunk = take_chunk();
        if (!chunk) return Sent::stalled;
        const Errc why = post_chunk(transfer, *chunk);
        if (why == Errc::ok) continue;
        give_chunk(*chunk);
        if (why == Errc::again) return Sent::stalled;
        fail(why);
        return Sent::all;
    }
    if (get && !transfer.asked) ask(transfer);
    return Sent::all;
}

// The next chunk of it; where that begins in the operation.
std::uint64_t Session::begin_chunk(const Transfer& transfer, Chunk& chunk) const noexcept {
    const std::uint64_t size = port_->provider().chunk_bytes;
    const std::uint64_t at = std::uint64_t{transfer.next} * size;
    chunk.number = transfer.next;
    chunk.bytes = static_cast<std::uint32_t>(std::min(size, transfer.posted->op->bytes - at));
    return at;
}

// The memory of an operation for a chunk that begins at `at`; or staging, where it is in more pieces than the provider
// takes, or the provider does not know it. 0: memory is short.
std::size_t Session::local_pieces(const na::Op& op, std::uint64_t at, Chunk& chunk,
                                  std::array<iovec, pieces_limit>& out) noexcept {
    const Endpoint& endpoint = port_->endpoint();
    const std::uint64_t begin = op.local_offset + at;
    const std::size_t count = endpoint.stages() ? 0 : gather(*op.local, begin, chunk.bytes, out, endpoint.pieces_max());
    if (count > 0) return count;
    if (!stage(chunk)) return 0;
    const Bytes staged{chunk.staging->bytes.get(), chunk.bytes};
    if (is_put(op.kind)) copy_out(*op.local, begin, staged);
    out[0] = {staged.data(), staged.size()};
    return 1;
}

Errc Session::post_chunk(Transfer& transfer, Chunk& chunk) noexcept {
    std::array<iovec, pieces_limit> pieces;
    const std::size_t count = local_pieces(*transfer.posted->op, begin_chunk(transfer, chunk), chunk, pieces);
    if (count == 0) return Errc::again;
    Endpoint& endpoint = port_->endpoint();
    const Registration& memory = memory_of(chunk);
    chunk.transfer = &transfer;
    const std::uint64_t tag = transfer.tag + chunk.number;
    const Errc why = is_get(transfer) ? endpoint.receive_tagged(pieces.data(), count, memory, tag, address_, chunk)
                                      : endpoint.send_tagged(pieces.data(), count, memory, tag, address_, chunk);
    if (why != Errc::ok) {
        chunk.transfer = nullptr;
        return why;
    }
    chunk_posted(chunk);
    ++transfer.next;
    if (!is_get(transfer)) {
        chunk_sent(chunk);
        ++put_chunks_;
    }
    if (!chunk.staging) ++transfer.touching;
    return Errc::ok;
}

void Session::ask(Transfer& transfer) noexcept {
    const na::Op& op = *transfer.posted->op;
    const auto chunk_bytes = static_cast<std::uint32_t>(port_->provider().chunk_bytes);
    const bool carries = is_put(op.kind) && transfer.chunks == 0;
    Frame frame;
    frame.kind = frame_kind(op.kind);
    frame.flags = op.kind == na::OpKind::put_notify ? flag_notify : std::uint8_t{0};
    frame.id = id_of(transfer);
    transfer.asked = true;
    const std::size_t data = carries ? op.bytes : 0;
    Buffer* buffer = make_note(frame, body_of(transfer, chunk_bytes), data);
    if (buffer && carries) {
        copy_out(*op.local, op.local_offset, {buffer->storage + head_bytes(frame.kind), data});
    }
}

// The operation that an answer names, if it is one of this session.
Transfer* Session::find(std::uint64_t id) noexcept {
    Transfer* transfer = port_->transfers().at(static_cast<std::uint32_t>(id));
    return transfer && transfer->session == this && id_of(*transfer) == id ? transfer : nullptr;
}

void Session::get_data_came(const Frame& frame, ConstBytes data) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer || !transfer->posted || transfer->failed != Errc::ok) return;
    const na::Op& op = *transfer->posted->op;
    if (op.kind != na::OpKind::get || transfer->chunks > 0 || data.size() != op.bytes) return fail(Errc::protocol);
    copy_in(*op.local, op.local_offset, data);
    transfer->answered = true;
    settle(*transfer);
}

void Session::get_ended(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer) return;
    if (transfer->posted && !is_get(*transfer)) return fail(Errc::protocol);
    answered(*transfer);
    if (transfer->failed == Errc::ok) transfer->failed = frame.status == Errc::ok ? Errc::protocol : frame.status;
    cancel_chunks(transfer->with_fabric, body.bytes);
    settle(*transfer);
}

void Session::put_granted(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer || !transfer->posted || transfer->failed != Errc::ok) return;
    const bool fits = is_put(transfer->posted->op->kind) && !transfer->answered && body.bytes <= transfer->chunks &&
                      (body.tag & (chunks_max - 1)) == 0;
    if (!fits) return fail(Errc::protocol);
    transfer->tag = body.tag;
    transfer->allowed = std::max(transfer->allowed, static_cast<std::uint32_t>(body.bytes));
    if (!PostQueue::linked(*transfer)) to_post_.push_back(*transfer);
    port_->dirty(*this);
}

void Session::put_ended(const Frame& frame) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer || !transfer->posted || transfer->failed != Errc::ok) return;
    if (!is_put(transfer->posted->op->kind)) return fail(Errc::protocol);
    // An owner that says "placed" before it has everything is not to be believed.
    const bool early = frame.status == Errc::ok && transfer->next < transfer->chunks;
    transfer->answered = true;
    if (early || frame.status != Errc::ok) return stop(*transfer, early ? Errc::protocol : frame.status);
    settle(*transfer);
}

void Session::atomic_ended(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer || !transfer->posted || transfer->failed != Errc::ok) return;
    na::Op& op = *transfer->posted->op;
    if (op.kind != na::OpKind::fetch_add && op.kind != na::OpKind::compare_swap) return fail(Errc::protocol);
    op.fetched = body.operand;
    transfer->answered = true;
    transfer->failed = frame.status;
    settle(*transfer);
}

void Session::transfer_chunk_ended(Chunk& chunk, const Done& done) noexcept {
    Transfer& transfer = *chunk.transfer;
    transfer.with_fabric.remove(chunk);
    if (chunk.discard) {
        give_chunk(chunk);
        return settle(transfer);
    }
    if (!chunk.staging) --transfer.touching;
    const bool get = transfer.posted && is_get(transfer);
    if (done.result == Errc::ok) {
        ++transfer.ended;
        if (get && done.bytes != chunk.bytes) {
            transfer.failed = Errc::protocol;
        } else if (get && chunk.staging && transfer.failed == Errc::ok) {
            const na::Op& op = *transfer.posted->op;
            const std::uint64_t at = std::uint64_t{chunk.number} * port_->provider().chunk_bytes;
            copy_in(*op.local, op.local_offset + at, {chunk.staging->bytes.get(), chunk.bytes});
        }
        give_chunk(chunk);
        return settle(transfer);
    }
    const Errc why = done.result == Errc::canceled ? Errc::peer_lost : reason(done);
    if (transfer.failed == Errc::ok) transfer.failed = why;
    // It is with nobody now, but what was on its way to it may still come.
    if (done.result == Errc::canceled && transfer.awaits_answer && peer_) {
        discard(chunk);
    } else {
        give_chunk(chunk);
        if (done.result != Errc::canceled) fail(why);
    }
    settle(transfer);
}

void Session::discard(Chunk& chunk) noexcept {
    Transfer& transfer = *chunk.transfer;
    unstage(chunk);
    Staging* sink = port_->sink();
    const iovec piece{sink ? sink->bytes.get() : nullptr, port_->provider().chunk_bytes};
    chunk.discard = true;
    chunk.revoked = false;
    if (!sink || port_->endpoint().receive_tagged(&piece, 1, sink->memory, transfer.tag + chunk.number, address_,
                                                  chunk) != Errc::ok) {
        give_chunk(chunk);
        return fail(Errc::overloaded);
    }
    chunk_posted(chunk);
}

// Chunks from that number on will not come, or are not wanted.
void Session::cancel_chunks(ChunkList& chunks, std::uint64_t from) noexcept {
    for (Chunk* chunk = chunks.front(); chunk; chunk = ChunkList::next(*chunk)) {
        if (chunk->number >= from) take_back(*chunk);
    }
}

void Session::take_back(Chunk& chunk) noexcept {
    chunk.revoked = true;
    port_->endpoint().cancel(chunk);
}

void Session::cancel(Posted& posted) noexcept { stop(*posted.transfer, Errc::canceled); }

// Ends it as soon as the fabric touches the op's memory no more.
void Session::stop(Transfer& transfer, Errc why) noexcept {
    leave_posting(transfer);
    const bool first = transfer.failed == Errc::ok && transfer.posted;
    if (transfer.failed == Errc::ok) transfer.failed = why;
    const bool over = !peer_ || peer_->ending || draining_;
    if (over) answered(transfer);
    if (first && !over && transfer.asked && transfer.chunks > 0) {
        Frame frame;
        frame.kind = FrameKind::stop;
        frame.id = id_of(transfer);
        TransferBody body;
        body.bytes = transfer.next;
        note(frame, body);
        if (is_get(transfer)) await_answer(transfer);
    }
    // Sends go to their end; receives can be taken back.
    if (over || (transfer.posted && is_get(transfer))) cancel_chunks(transfer.with_fabric, 0);
    settle(transfer);
}

// Its slot and its chunks stay until the peer has said what it sent.
void Session::await_answer(Transfer& transfer) noexcept {
    transfer.awaits_answer = true;
    if (++unanswered_ > unanswered_max) fail(Errc::timed_out);
}

void Session::answered(Transfer& transfer) noexcept {
    if (std::exchange(transfer.awaits_answer, false)) --unanswered_;
}

void Session::end_op(Transfer& transfer) noexcept {
    Posted& posted = *std::exchange(transfer.posted, nullptr);
    posted.transfer = nullptr;
    port_->end(posted, transfer.failed);
    --admitted_;
}

// It has nothing to post, or posts no more.
void Session::leave_posting(Transfer& transfer) noexcept {
    if (PostQueue::linked(transfer)) to_post_.remove(transfer);
    port_->posted_get(transfer);
}

// Completes the op, and gives the slot back, as soon as both may be.
void Session::settle(Transfer& transfer) noexcept {
    if (transfer.posted && transfer.touching == 0) {
        const bool moved = transfer.chunks > 0 && is_get(transfer) ? transfer.ended == transfer.chunks  //
                                                                   : transfer.answered;
        if (moved || transfer.failed != Errc::ok) {
            leave_posting(transfer);
            end_op(transfer);
            if (peer_ && !peer_->rma.empty()) port_->dirty(*this);
        }
    }
    if (transfer.posted || transfer.awaits_answer || !transfer.with_fabric.empty()) return;
    transfers_.remove(transfer);
    transfer.session = nullptr;
    ++transfer.generation;
    port_->transfers().release(transfer);
}

}  // namespace cinnabar::ofi
