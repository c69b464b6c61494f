// SPDX-License-Identifier: BSD-3-Clause
// The reader's side of reads by the fabric.
#include "direct_reads.hpp"

#include "gather.hpp"
#include "port.hpp"
#include "session.hpp"

#include <cinnabar/base/log.hpp>

#include <cstring>

namespace cinnabar::ofi {
namespace {

// What is smaller is not worth it.
constexpr std::uint64_t get_bytes_min = 64 * 1024;

}  // namespace

// An operation on that lease begins: may it use the keys?
void Session::join_opening(Transfer& transfer) noexcept {
    transfer.opening = nullptr;
    transfer.direct = false;
    const na::Op& op = *transfer.posted->op;
    const Endpoint& endpoint = port_->endpoint();
    if (!endpoint.reads() || op.kind != na::OpKind::get || op.bytes < get_bytes_min) return;
    Reader reader(op.remote.key);
    const na::LeaseKey key = na::LeaseKey::decode(reader);
    Opening* opening = openings_.front();
    while (opening && opening->key != key) opening = Openings::next(*opening);
    if (!opening) {
        opening = openings_count_ < openings_max ? port_->openings().acquire() : nullptr;
        if (!opening) return;
        ++openings_count_;
        opening->state = Opening::State::seen;
        opening->wanted_back = false;
        opening->key = key;
        opening->users = opening->readers = opening->parts_count = 0;
        openings_.push_back(*opening);
    }
    transfer.opening = opening;
    if (++opening->users > 1 && opening->state == Opening::State::seen) {
        opening->state = Opening::State::asked;
        Frame frame;
        frame.kind = FrameKind::open;
        frame.id = opening->id();
        TransferBody body;
        body.key = key;
        note(frame, body);
    }
    Opening::Parts parts;
    if (opening->state != Opening::State::open || opening->wanted_back ||
        opening->gather(op.remote_offset, op.bytes, parts, endpoint.remote_pieces_max()) == 0) {
        return;
    }
    transfer.direct = true;
    ++opening->readers;
}

// It has ended.
void Session::leave_opening(Transfer& transfer) noexcept {
    Opening* const opening = std::exchange(transfer.opening, nullptr);
    if (!opening) return;
    --opening->users;
    if (transfer.direct) --opening->readers;
    look_at(*opening);
}

// Closes it, or forgets it, when it is time.
void Session::look_at(Opening& opening) noexcept {
    const bool over = !peer_ || peer_->ending || draining_;
    const bool unused = opening.wanted_back ? opening.readers == 0 : opening.users == 0;
    if (opening.state == Opening::State::open && unused) {
        forget(opening);
        opening.state = Opening::State::closed;
        Frame frame;
        frame.kind = FrameKind::closed;
        frame.id = opening.id();
        if (!over) note(frame, {});
    }
    // What was asked for comes, unless nothing does any more.
    if (opening.users > 0 || (opening.state == Opening::State::asked && !over)) return;
    openings_.remove(opening);
    --openings_count_;
    ++opening.generation;
    port_->openings().release(opening);
}

void Session::forget(Opening& opening) noexcept {
    for (std::uint32_t i = 0; i < opening.parts_count; ++i) {
        port_->endpoint().registrar().forget(opening.parts[i].at);
    }
    opening.parts_count = 0;
}

// The session is over: those that nobody uses go, the others with their last user.
void Session::leave_openings() noexcept {
    for (Opening* opening = openings_.front(); opening;) {
        Opening& now = *std::exchange(opening, Openings::next(*opening));
        look_at(now);
    }
}

Opening* Session::find_opening(std::uint64_t id) noexcept {
    Opening* opening = openings_.front();
    while (opening && opening->id() != id) opening = Openings::next(*opening);
    return opening;
}

void Session::opened(const Frame& frame, ConstBytes payload) noexcept {
    Opening* const opening = find_opening(frame.id);
    if (!opening || opening->state != Opening::State::asked) return fail(Errc::protocol);
    const Registrar& registrar = port_->endpoint().registrar();
    std::uint64_t begin = 0;
    Reader reader(payload);
    Piece piece;
    Errc why = frame.status == Errc::ok || payload.empty() ? Errc::ok : Errc::protocol;
    while (why == Errc::ok && reader.left() > 0) {
        RemoteKey at;
        const bool fits = opening->parts_count < exposed_pieces_max && Piece::decode(reader, piece) &&
                          begin + piece.bytes > begin;  // and they do not wrap
        why = fits ? registrar.learn(piece.name, at) : Errc::protocol;
        if (why != Errc::ok) break;
        opening->parts[opening->parts_count++] = {begin, piece.bytes, at};
        begin += piece.bytes;
    }
    if (why != Errc::ok) forget(*opening);
    opening->state = opening->parts_count > 0 ? Opening::State::open : Opening::State::closed;
    if (why != Errc::ok) return fail(why);
    if (opening->state == Opening::State::open) {
        log(LogLevel::debug, "ofi: %s reads by itself from memory of %u pieces", port_->provider().name,
            opening->parts_count);
    }
    look_at(*opening);
}

// Those that are under way come to their end; one that has not begun to all of its chunks has lost its lease.
void Session::close_asked(const Frame& frame) noexcept {
    Opening* const opening = find_opening(frame.id);
    if (!opening || opening->state != Opening::State::open || opening->wanted_back) return;  // it was closed already
    opening->wanted_back = true;
    ++opening->users;  // it stays until all have been told
    for (Transfer* transfer = to_read_.front(); transfer;) {
        Transfer& now = *std::exchange(transfer, PostQueue::next(*transfer));
        if (now.opening == opening) stop(now, Errc::permission);
    }
    --opening->users;
    look_at(*opening);
}

// As many chunks as the fabric may be busy with for this side's operations, and no more before all of them have come:
// the owner's provider answers before it sends messages, which would wait for as long as anything is left to answer.
Session::Sent Session::post_reads() noexcept {
    if (reading_ > 0) return Sent::all;
    while (Transfer* transfer = to_read_.front()) {
        if (reading_ >= reading_max) return Sent::all;
        Chunk* chunk = take_chunk();
        if (!chunk) return Sent::stalled;
        const Errc why = post_read(*transfer, *chunk);
        if (why != Errc::ok) {
            give_chunk(*chunk);
            if (why == Errc::again) return Sent::stalled;
            fail(why);
            return Sent::all;
        }
        if (transfer->next == transfer->chunks) to_read_.remove(*transfer);
    }
    return Sent::all;
}

Errc Session::post_read(Transfer& transfer, Chunk& chunk) noexcept {
    const na::Op& op = *transfer.posted->op;
    const std::uint64_t at = begin_chunk(transfer, chunk);
    std::array<iovec, pieces_limit> pieces;
    const std::size_t count = local_pieces(op, at, chunk, pieces);
    if (count == 0) return Errc::again;
    // Fewer bytes may come than were asked for, and nobody says so: none that somebody else got are left in between.
    if (chunk.staging) std::memset(chunk.staging->bytes.get(), 0, chunk.bytes);
    Endpoint& endpoint = port_->endpoint();
    Opening::Parts parts;
    const std::size_t parts_count =
        transfer.opening->gather(op.remote_offset + at, chunk.bytes, parts, endpoint.remote_pieces_max());
    chunk.transfer = &transfer;
    const Errc why =
        endpoint.read({pieces.data(), count}, memory_of(chunk), {parts.data(), parts_count}, address_, chunk);
    if (why != Errc::ok) {
        chunk.transfer = nullptr;
        return why;
    }
    chunk.reads = true;
    ++reading_;
    chunk_posted(chunk);
    ++transfer.next;
    if (!chunk.staging) ++transfer.touching;
    return Errc::ok;
}

}  // namespace cinnabar::ofi
