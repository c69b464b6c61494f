// SPDX-License-Identifier: BSD-3-Clause
// Posts the chunks of puts and gets, sends requests to the owner of the memory, matches the owner's answers and the
// fabric's completions to transfers, and ends a transfer only when the fabric no longer uses the transfer's memory.
#include "origin.hpp"

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

// Random, so that a peer that was not told the tag cannot send data for it.
std::uint64_t secret_tag() noexcept {
    constexpr std::uint64_t tags = (std::uint64_t{1} << chunk_tag_bits) - 1;
    return secret_u64() & tags & ~std::uint64_t{chunks_max - 1};
}

TransferBody body_of(const Transfer& transfer, std::uint32_t chunk_bytes) noexcept {
    const na::Op& op = *transfer.posted->op;
    TransferBody body;
    ByteReader reader(op.remote.key);
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

// blocked: the port has no room for another transfer.
Sent Origin::admit_waiting() noexcept {
    const auto chunk_bytes = static_cast<std::uint32_t>(session_.port().provider().chunk_bytes);
    while (admitted_ < admitted_max && !session_.peer().rma.empty()) {
        Transfer* transfer = session_.port().pools().take_transfer(session_);
        if (!transfer) return Sent::blocked;
        auto& posted = static_cast<Posted&>(*session_.peer().rma.pop_front());
        const na::Op& op = *posted.op;
        const bool moves = op.kind == na::OpKind::get || na::is_put(op.kind);
        transfer->posted = &posted;
        transfer->session = &session_;
        transfer->get = op.kind == na::OpKind::get;
        transfer->chunks = moves && op.bytes > small_bytes_max ? chunks_of(op.bytes, chunk_bytes) : 0;
        transfer->tag = transfer->chunks > 0 && transfer->get ? secret_tag() : 0;
        transfer->allowed = transfer->sent = transfer->get ? transfer->chunks : 0;
        transfer->next = transfer->ended = transfer->touching = 0;
        transfer->asked = transfer->answered = transfer->awaits_owner = false;
        transfer->failed = Errc::ok;
        posted.transfer = transfer;
        posted.stage = na::OpStage::awaiting;
        transfers_.push_back(*transfer);
        to_post_.push_back(*transfer);
        ++admitted_;
    }
    return Sent::all;
}

Sent Origin::post_transfers() noexcept {
    Sent admitted = admit_waiting();
    while (Transfer* transfer = to_post_.front()) {
        const Sent sent = post_chunks(*transfer);
        if (sent == Sent::blocked && transfer->get) session_.port().pools().end_silent_lender(session_);
        if (sent != Sent::all) return sent;
        leave_posting(*transfer);
        if (session_.peer().ending()) return Sent::all;
        admitted = admit_waiting();
    }
    return admitted;
}

// Whether a get may post its chunks now. Only one get of the port at a time posts its chunks, because two gets could
// each take a part of the pool, and then wait for each other for ever. blocked: another get is posting. unconfirmed:
// this session has its share of the receives, and goes on when one has completed.
Sent Origin::may_post_get(Transfer& transfer) noexcept {
    Pools& pools = session_.port().pools();
    if (!pools.posts_get(transfer) && !pools.receive_room.admits(get_chunks_, transfer.chunks)) {
        return Sent::unconfirmed;
    }
    return pools.may_post_get(transfer) ? Sent::all : Sent::blocked;
}

// Posts all chunks of a get before its request is sent.
Sent Origin::post_chunks(Transfer& transfer) noexcept {
    const bool get = transfer.get;
    if (get && transfer.chunks > 0) {
        if (const Sent may = may_post_get(transfer); may != Sent::all) return may;
    }
    if (!get && !transfer.asked) ask(transfer);
    while (transfer.next < transfer.allowed) {
        if (!get && put_chunks_ >= put_chunks_max) return Sent::unconfirmed;  // resumes when one has completed
        Chunk* chunk = session_.chunks().take();
        if (!chunk) return Sent::blocked;
        const Errc why = post_chunk(transfer, *chunk);
        if (why == Errc::ok) continue;
        session_.chunks().give(*chunk);
        if (why == Errc::again) return Sent::blocked;
        session_.fail(why);
        return Sent::all;
    }
    if (get && !transfer.asked) ask(transfer);
    return Sent::all;
}

// Initializes the next chunk; returns its offset in the operation.
std::uint64_t Origin::begin_chunk(const Transfer& transfer, Chunk& chunk) const noexcept {
    const std::uint64_t size = session_.port().provider().chunk_bytes;
    const std::uint64_t at = std::uint64_t{transfer.next} * size;
    chunk.number = transfer.next;
    chunk.bytes = static_cast<std::uint32_t>(std::min(size, transfer.posted->op->bytes - at));
    return at;
}

// Finds the memory for the chunk at offset `at`, and returns the number of pieces in `out`: pieces of the operation's
// memory, or one piece of staging memory if there are more pieces than the provider takes, if the provider needs
// staging (Endpoint::stages), or if chunks are sealed. 0: no staging memory is left.
std::size_t Origin::local_pieces(const na::Op& op, std::uint64_t at, Chunk& chunk,
                                 std::array<iovec, pieces_limit>& out) noexcept {
    const Endpoint& endpoint = session_.port().endpoint();
    const std::uint64_t begin = op.local_offset + at;
    const bool stages = endpoint.stages() || session_.seals();
    const std::size_t count = stages ? 0 : gather(*op.local, begin, chunk.bytes, out, endpoint.pieces_max());
    if (count > 0) return count;
    if (!session_.chunks().stage(chunk)) return 0;
    const Bytes staged{chunk.staging->bytes.get(), chunk.bytes};
    if (na::is_put(op.kind)) op.local->copy_out(begin, staged);
    out[0] = {staged.data(), staged.size()};
    return 1;
}

Errc Origin::post_chunk(Transfer& transfer, Chunk& chunk) noexcept {
    std::array<iovec, pieces_limit> pieces;
    const std::size_t count = local_pieces(*transfer.posted->op, begin_chunk(transfer, chunk), chunk, pieces);
    if (count == 0) return Errc::again;
    Endpoint& endpoint = session_.port().endpoint();
    const Registration& memory = memory_of(chunk);
    chunk.transfer = &transfer;
    const std::uint64_t tag = transfer.tag + chunk.number;
    if (session_.seals()) {
        if (!transfer.get && !session_.seal_chunk({true, id_of(transfer), tag}, *chunk.staging, chunk.bytes))
            return Errc::out_of_memory;
        pieces[0].iov_len += session_.trailer_bytes();
    }
    const Errc why = transfer.get
                         ? endpoint.receive_tagged(pieces.data(), count, memory, tag, session_.fabric_address(), chunk)
                         : endpoint.send_tagged(pieces.data(), count, memory, tag, session_.fabric_address(), chunk);
    if (why != Errc::ok) {
        chunk.transfer = nullptr;
        return why;
    }
    session_.chunks().posted(chunk, transfer.with_fabric);
    ++transfer.next;
    if (transfer.get) {
        session_.chunks().posted_receive(chunk);
        ++get_chunks_;
    } else {
        session_.chunks().posted_send(chunk);
        ++put_chunks_;
    }
    if (!chunk.staging) ++transfer.touching;
    return Errc::ok;
}

void Origin::ask(Transfer& transfer) noexcept {
    const na::Op& op = *transfer.posted->op;
    const auto chunk_bytes = static_cast<std::uint32_t>(session_.port().provider().chunk_bytes);
    const bool carries = na::is_put(op.kind) && transfer.chunks == 0;
    const Frame frame{.kind = frame_kind(op.kind),
                      .flags = op.kind == na::OpKind::put_notify ? flag_notify : std::uint8_t{0},
                      .id = id_of(transfer)};
    transfer.asked = true;
    const std::size_t data = carries ? op.bytes : 0;
    Buffer* buffer = session_.sender().queue_control(frame, body_of(transfer, chunk_bytes), data);
    if (buffer && carries) {
        op.local->copy_out(op.local_offset, {buffer->storage + head_bytes(frame.kind), data});
    }
}

// The transfer that an answer belongs to; null: this session has no such transfer.
Transfer* Origin::find(std::uint64_t id) noexcept {
    Transfer* transfer = session_.port().pools().transfers.at(static_cast<std::uint32_t>(id));
    return transfer && transfer->session == &session_ && id_of(*transfer) == id ? transfer : nullptr;
}

// As find(), but null if its op has ended.
Transfer* Origin::find_wanted(std::uint64_t id) noexcept {
    Transfer* transfer = find(id);
    return transfer && transfer->posted && transfer->failed == Errc::ok ? transfer : nullptr;
}

void Origin::get_data(const Frame& frame, ConstBytes data) noexcept {
    Transfer* transfer = find_wanted(frame.id);
    if (!transfer) return;
    const na::Op& op = *transfer->posted->op;
    if (op.kind != na::OpKind::get || transfer->chunks > 0 || data.size() != op.bytes)
        return session_.fail(Errc::protocol);
    op.local->copy_in(op.local_offset, data);
    transfer->answered = true;
    settle(*transfer);
}

// Handles the frame by which the owner ends a get and says how many chunks it has sent. Takes back the receives of the
// chunks that were not sent, and waits for the chunks that the owner claims to have sent.
void Origin::get_ended(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find(frame.id);
    if (!transfer) return;
    if (!transfer->get) {
        if (transfer->posted) session_.fail(Errc::protocol);
        return;
    }
    transfer->answered = true;
    // The number never grows: an owner that has refused a get answers a later stop as if it had sent all chunks.
    transfer->sent = static_cast<std::uint32_t>(std::min<std::uint64_t>(body.bytes, transfer->sent));
    if (transfer->failed == Errc::ok) transfer->failed = frame.status == Errc::ok ? Errc::protocol : frame.status;
    session_.chunks().revoke(transfer->with_fabric, transfer->sent);
    if (!transfer->with_fabric.empty()) await_owner(*transfer);
    settle(*transfer);
}

void Origin::put_go(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find_wanted(frame.id);
    if (!transfer) return;
    const bool fits = na::is_put(transfer->posted->op->kind) && !transfer->answered && body.bytes <= transfer->chunks &&
                      is_first_tag(body.tag);
    if (!fits) return session_.fail(Errc::protocol);
    transfer->tag = body.tag;
    transfer->allowed = std::max(transfer->allowed, static_cast<std::uint32_t>(body.bytes));
    if (!PostQueue::linked(*transfer)) to_post_.push_back(*transfer);
    session_.port().output().add(session_);
}

void Origin::put_done(const Frame& frame) noexcept {
    Transfer* transfer = find_wanted(frame.id);
    if (!transfer) return;
    if (!na::is_put(transfer->posted->op->kind)) return session_.fail(Errc::protocol);
    // An owner must not report success before it has all chunks.
    const bool early = frame.status == Errc::ok && transfer->next < transfer->chunks;
    transfer->answered = true;
    if (early || frame.status != Errc::ok) return stop(*transfer, early ? Errc::protocol : frame.status);
    settle(*transfer);
}

void Origin::atomic_done(const Frame& frame, const TransferBody& body) noexcept {
    Transfer* transfer = find_wanted(frame.id);
    if (!transfer) return;
    na::Op& op = *transfer->posted->op;
    if (op.kind != na::OpKind::fetch_add && op.kind != na::OpKind::compare_swap) return session_.fail(Errc::protocol);
    op.fetched = body.operand;
    transfer->answered = true;
    transfer->failed = frame.status;
    settle(*transfer);
}

void Origin::chunk_ended(Chunk& chunk, const Done& done) noexcept {
    Transfer& transfer = *chunk.transfer;
    transfer.with_fabric.remove(chunk);
    if (done.result == Errc::ok && transfer.awaits_owner) transfer.awaits_since = session_.port().host().now_us();
    if (chunk.discard) {
        session_.chunks().give(chunk);
        return settle(transfer);
    }
    if (!chunk.staging && !chunk.left) --transfer.touching;
    if (done.result == Errc::ok) {
        chunk_moved(transfer, chunk, done);
    } else {
        chunk_failed(transfer, chunk, done);
    }
    settle(transfer);
}

void Origin::chunk_moved(Transfer& transfer, Chunk& chunk, const Done& done) noexcept {
    ++transfer.ended;
    if (transfer.posted && transfer.get) {
        if (done.bytes != chunk.bytes + session_.trailer_bytes()) {
            transfer.failed = Errc::protocol;
        } else if (chunk.staging && transfer.failed == Errc::ok) {
            place(transfer, chunk);
        }
    }
    session_.chunks().give(chunk);
}

void Origin::chunk_failed(Transfer& transfer, Chunk& chunk, const Done& done) noexcept {
    const Errc why = done.result == Errc::canceled ? Errc::peer_lost : session_.reason(done);
    if (transfer.failed == Errc::ok) transfer.failed = why;
    // The fabric returned the receive, but the peer may still send the chunk: another receive takes and drops it.
    const bool may_come = transfer.awaits_owner && chunk.number < transfer.sent;
    if (done.result == Errc::canceled && may_come && session_.has_peer()) return discard(chunk);
    session_.chunks().give(chunk);
    if (done.result != Errc::canceled) session_.fail(why);
}

// Copies the data of a get from staging memory into place.
void Origin::place(Transfer& transfer, Chunk& chunk) noexcept {
    const ChunkId id{false, id_of(transfer), transfer.tag + chunk.number};
    if (session_.seals() && !session_.open_chunk(id, *chunk.staging, chunk.bytes)) {
        transfer.failed = Errc::protocol;
        return;
    }
    const na::Op& op = *transfer.posted->op;
    const std::uint64_t at = std::uint64_t{chunk.number} * session_.port().provider().chunk_bytes;
    op.local->copy_in(op.local_offset + at, {chunk.staging->bytes.get(), chunk.bytes});
}

void Origin::discard(Chunk& chunk) noexcept {
    Transfer& transfer = *chunk.transfer;
    session_.chunks().unstage(chunk);
    Staging* sink = session_.port().pools().sink();
    const iovec piece{sink ? sink->bytes.get() : nullptr, session_.port().pools().staging_bytes()};
    chunk.discard = true;
    chunk.revoked = false;
    if (!sink || session_.port().endpoint().receive_tagged(&piece, 1, sink->memory, transfer.tag + chunk.number,
                                                           session_.fabric_address(), chunk) != Errc::ok) {
        session_.chunks().give(chunk);
        return session_.fail(Errc::overloaded);
    }
    session_.chunks().posted(chunk, transfer.with_fabric);
}

// Ends the operation as soon as the fabric no longer uses its memory.
void Origin::stop(Transfer& transfer, Errc why) noexcept {
    leave_posting(transfer);
    const bool first = transfer.failed == Errc::ok && transfer.posted;
    if (transfer.failed == Errc::ok) transfer.failed = why;
    const bool over = !session_.live();
    if (over) end_await(transfer);
    if (first && !over && transfer.asked && transfer.chunks > 0) {
        session_.sender().queue_control({.kind = FrameKind::stop, .id = id_of(transfer)}, {.bytes = transfer.next});
        if (transfer.get) await_owner(transfer);
    }
    // Receives can be canceled; sends must complete.
    if (over || (transfer.posted && transfer.get)) take_back(transfer);
    settle(transfer);
}

// Takes the receives of a transfer back from the fabric. With a provider that stages, the receives stay posted until
// the peer has answered, and their data are dropped. If they were taken back, discard() would have to post receives for
// chunks that may already have arrived, which meets an error of rxd 1.17 (rxd_progress_unexp_msg): if another message
// is half received at that moment, rxd writes the rest of that message to a receive that rxd has freed.
void Origin::take_back(Transfer& transfer) noexcept {
    if (!transfer.awaits_owner || !session_.port().endpoint().stages()) {
        return session_.chunks().revoke(transfer.with_fabric, 0);
    }
    for (Chunk* chunk = transfer.with_fabric.front(); chunk; chunk = ChunkList::next(*chunk)) chunk->discard = true;
}

// Keeps the slot and the chunks until the peer has said how many chunks it sent, and those were received.
void Origin::await_owner(Transfer& transfer) noexcept {
    if (std::exchange(transfer.awaits_owner, true)) return;
    transfer.awaits_since = session_.port().host().now_us();
    if (++unanswered_ > unanswered_max) session_.fail(Errc::timed_out);
}

void Origin::end_await(Transfer& transfer) noexcept {
    if (std::exchange(transfer.awaits_owner, false)) --unanswered_;
}

// Each transfer is timed separately, so that a peer that answers some of them gains no time for the others.
TimeUs Origin::unanswered_since() const noexcept {
    TimeUs since = time_never;
    const Transfer* transfer = unanswered_ > 0 ? transfers_.front() : nullptr;
    for (; transfer; transfer = Transfers::next(*transfer)) {
        if (transfer->awaits_owner) since = std::min(since, transfer->awaits_since);
    }
    return since;
}

void Origin::end_op(Transfer& transfer) noexcept {
    Posted& posted = *std::exchange(transfer.posted, nullptr);
    posted.transfer = nullptr;
    session_.port().end(posted, transfer.failed);
    --admitted_;
}

// Call when the transfer has nothing more to post.
void Origin::leave_posting(Transfer& transfer) noexcept {
    if (PostQueue::linked(transfer)) to_post_.remove(transfer);
    session_.port().pools().posted_get(transfer);
}

// Completes the op and frees the slot, each as soon as possible.
void Origin::settle(Transfer& transfer) noexcept {
    if (transfer.posted && transfer.touching == 0) {
        const bool moved = transfer.chunks > 0 && transfer.get ? transfer.ended == transfer.chunks  //
                                                               : transfer.answered;
        if (moved || transfer.failed != Errc::ok) {
            leave_posting(transfer);
            end_op(transfer);
            if (session_.has_peer() && !session_.peer().rma.empty()) session_.port().output().add(session_);
        }
    }
    if (!transfer.with_fabric.empty()) return;
    if (transfer.answered) end_await(transfer);
    if (transfer.posted || transfer.awaits_owner) return;
    transfers_.remove(transfer);
    transfer.session = nullptr;
    ++transfer.generation;
    session_.port().pools().transfers.release(transfer);
}

void Origin::end(Errc why) noexcept {
    for (Transfer* transfer = transfers_.front(); transfer;) {
        Transfer& now = *std::exchange(transfer, Transfers::next(*transfer));
        stop(now, why);
    }
}

void Origin::force_end() noexcept {
    for (Transfer* transfer = transfers_.front(); transfer; transfer = Transfers::next(*transfer)) {
        if (transfer->posted) end_op(*transfer);
    }
}

void Origin::leave_copies() noexcept {
    for (Transfer* transfer = transfers_.front(); transfer; transfer = Transfers::next(*transfer)) {
        session_.chunks().leave_copies(transfer->with_fabric);
    }
}

void Origin::abandon() noexcept {
    while (Transfer* transfer = transfers_.front()) {
        while (Chunk* chunk = transfer->with_fabric.pop_front()) session_.chunks().give(*chunk);
        transfer->touching = 0;
        end_await(*transfer);
        if (transfer->failed == Errc::ok) transfer->failed = Errc::canceled;
        settle(*transfer);
    }
}

}  // namespace cinnabar::ofi
