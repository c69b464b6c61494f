// SPDX-License-Identifier: BSD-3-Clause
// What the peer asks of this side's memory. Every access goes through a lease's key, bounds and permission.
#include "gather.hpp"
#include "port.hpp"
#include "session.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>
#include <atomic>

namespace cinnabar::ofi {

void Session::answer(FrameKind kind, std::uint64_t id, Errc status, std::uint64_t chunks) noexcept {
    Frame frame;
    frame.kind = kind;
    frame.status = status;
    frame.id = id;
    TransferBody body;
    body.bytes = chunks;
    note(frame, body);
}

// A large transfer to serve; null when the peer has more owed to it than it may, which ends the session.
Owed* Session::owe(const Frame& frame, const TransferBody& body) noexcept {
    Owed* owed = owed_ < owed_max ? port_->take_owed(*this) : nullptr;
    if (!owed) {
        fail(Errc::overloaded);
        return nullptr;
    }
    ++owed_;
    owed->is_put = frame.kind == FrameKind::put;
    owed->notify_wanted = (frame.flags & flag_notify) != 0;
    owed->failed = owed->stopped = false;
    owed->notify = body.notify;
    owed->id = frame.id;
    owed->key = body.key;
    owed->offset = body.offset;
    owed->bytes = body.bytes;
    owed->tag = body.tag;
    owed->chunk = body.chunk;
    owed->chunks = chunks_of(body.bytes, body.chunk);
    owed->next = owed->placed = 0;
    owing_.push_back(*owed);
    to_serve_.push_back(*owed);
    port_->dirty(*this);
    return owed;
}

// Its chunks that are with the fabric are waited for by nobody.
void Session::release(Owed& owed) noexcept {
    while (Chunk* chunk = owed.with_fabric.pop_front()) {
        chunk->owed = nullptr;
        --granted_;
        stray_.push_back(*chunk);
        if (!port_->closed()) take_back(*chunk);
    }
    if (WorkQueue::linked(owed)) to_serve_.remove(owed);
    owing_.remove(owed);
    --owed_;
    port_->owed().release(owed);
}

void Session::get_asked(const Frame& frame, const TransferBody& body) noexcept {
    const auto pin = port_->transport().leases().pin(body.key, body.offset, body.bytes, na::Access::read);
    const bool fits = body.chunk <= port_->provider().chunk_bytes;
    if (!pin.ok() || !fits) return answer(FrameKind::get_ended, frame.id, fits ? pin.why() : Errc::too_large, 0);
    if (body.chunk > 0) return (void)owe(frame, body);
    Frame data;
    data.kind = FrameKind::get_data;
    data.id = frame.id;
    if (Buffer* buffer = make_note(data, {}, body.bytes)) {
        copy_out(pin.memory(), pin.offset(), {buffer->storage + head_bytes(data.kind), body.bytes});
    }
}

void Session::put_asked(const Frame& frame, const TransferBody& body, ConstBytes data) noexcept {
    // The whole operation is checked, so that one which does not fit writes nothing at all.
    const auto pin = port_->transport().leases().pin(body.key, body.offset, body.bytes, na::Access::write);
    const bool fits = body.chunk <= port_->provider().chunk_bytes;
    if (!pin.ok() || !fits) return answer(FrameKind::put_done, frame.id, fits ? pin.why() : Errc::too_large, 0);
    if (body.chunk > 0) {
        if (Owed* owed = owe(frame, body)) owed->tag = secret_u64() & 0xffff'ffff'ff00;
        return;
    }
    copy_in(pin.memory(), pin.offset(), data);
    answer(FrameKind::put_done, frame.id, Errc::ok, 0);
    if ((frame.flags & flag_notify) != 0) port_->host().receiver().on_notify(*peer_, body.notify);
}

void Session::atomic_asked(const Frame& frame, const TransferBody& body) noexcept {
    auto pin = port_->transport().leases().pin(body.key, body.offset, sizeof(std::uint64_t), na::Access::read_write);
    Frame done;
    done.kind = FrameKind::atomic_done;
    done.status = pin.why();
    done.id = frame.id;
    TransferBody result;
    if (pin.ok()) {
        iovec piece{};
        std::uint64_t covered = 0;
        (void)pin.memory().gather(pin.offset(), sizeof(std::uint64_t), &piece, 1, covered);
        if (covered != sizeof(std::uint64_t) ||
            reinterpret_cast<std::uintptr_t>(piece.iov_base) % sizeof(std::uint64_t) != 0) {
            done.status = Errc::invalid_argument;
        } else {
            const std::atomic_ref<std::uint64_t> cell(*static_cast<std::uint64_t*>(piece.iov_base));
            if (frame.kind == FrameKind::fetch_add) {
                result.operand = cell.fetch_add(body.operand);
            } else {
                result.operand = body.compare;
                (void)cell.compare_exchange_strong(result.operand, body.operand);
            }
        }
    }
    note(done, result);
}

void Session::stop_asked(const Frame& frame, const TransferBody& body) noexcept {
    Owed* owed = owing_.front();
    while (owed && owed->id != frame.id) owed = Owing::next(*owed);
    // All of a get that is not known any more is on its way.
    if (!owed) return answer(FrameKind::get_ended, frame.id, Errc::canceled, chunks_max);
    if (!owed->is_put) {
        answer(FrameKind::get_ended, frame.id, Errc::canceled, owed->next);
        return release(*owed);
    }
    if (WorkQueue::linked(*owed)) to_serve_.remove(*owed);
    owed->failed = owed->stopped = true;
    cancel_chunks(owed->with_fabric, body.bytes);
    if (owed->with_fabric.empty()) release(*owed);
}

// A chunk of each in turn, while there are not too many with the fabric and the provider has room.
Session::Sent Session::serve() noexcept {
    while (served_ < served_max) {
        Owed* owed = to_serve_.pop_front();
        if (!owed) break;
        const Sent sent = owed->is_put ? grant_put(*owed) : serve_get(*owed);
        if (sent == Sent::stalled) return sent;
        if (peer_->ending) break;
    }
    return Sent::all;
}

// The next chunk of it; null when there is none to be had.
Chunk* Session::next_chunk(const Owed& owed) noexcept {
    Chunk* chunk = take_chunk();
    if (!chunk) return nullptr;
    chunk->served = true;
    ++served_;
    chunk->number = owed.next;
    chunk->bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(owed.chunk, owed.bytes - std::uint64_t{owed.next} * owed.chunk));
    return chunk;
}

// The provider did not take a chunk.
Session::Sent Session::not_taken(Owed& owed, Chunk& chunk, Errc why) noexcept {
    give_chunk(chunk);
    to_serve_.push_front(owed);
    if (why == Errc::again) return Sent::stalled;
    fail(why);
    return Sent::all;
}

Session::Sent Session::serve_get(Owed& owed) noexcept {
    const std::uint64_t at = owed.offset + std::uint64_t{owed.next} * owed.chunk;
    Chunk* chunk = next_chunk(owed);
    if (!chunk) {
        to_serve_.push_front(owed);
        return Sent::stalled;
    }
    auto pin = port_->transport().leases().pin(owed.key, at, chunk->bytes, na::Access::read);
    if (!pin.ok()) {
        give_chunk(*chunk);
        answer(FrameKind::get_ended, owed.id, pin.why(), owed.next);
        release(owed);
        return Sent::all;
    }
    const Errc why = send_leased(owed, *chunk, std::move(pin));
    if (why != Errc::ok) return not_taken(owed, *chunk, why);
    chunk_posted(*chunk);
    chunk_sent(*chunk);
    if (++owed.next < owed.chunks) {
        to_serve_.push_back(owed);
    } else {
        release(owed);
    }
    return Sent::all;
}

// Straight from the memory, whose lease stays pinned until the fabric has sent it; or a copy, and the pin ends here.
Errc Session::send_leased(const Owed& owed, Chunk& chunk, na::LeaseTable::Pin pin) noexcept {
    Endpoint& endpoint = port_->endpoint();
    std::array<iovec, pieces_limit> pieces;
    std::size_t count = 0;
    if (endpoint.sends_leased()) count = gather(pin.memory(), pin.offset(), chunk.bytes, pieces, endpoint.pieces_max());
    if (count > 0) {
        chunk.pin.emplace(std::move(pin));
    } else {
        if (!stage(chunk)) return Errc::again;
        const Bytes staged{chunk.staging->bytes.get(), chunk.bytes};
        copy_out(pin.memory(), pin.offset(), staged);
        pieces[0] = {staged.data(), staged.size()};
        count = 1;
    }
    return endpoint.send_tagged(pieces.data(), count, memory_of(chunk), owed.tag + chunk.number, address_, chunk);
}

Session::Sent Session::grant_put(Owed& owed) noexcept {
    Chunk* chunk = next_chunk(owed);
    if (!chunk || !stage(*chunk)) {
        if (chunk) give_chunk(*chunk);
        port_->end_silent_writer(*this);
        to_serve_.push_front(owed);
        return Sent::stalled;
    }
    const iovec piece{chunk->staging->bytes.get(), chunk->bytes};
    const Errc why =
        port_->endpoint().receive_tagged(&piece, 1, chunk->staging->memory, owed.tag + chunk->number, address_, *chunk);
    if (why != Errc::ok) return not_taken(owed, *chunk, why);
    chunk->owed = &owed;
    chunk_posted(*chunk);
    if (granted_++ == 0) granted_since_ = port_->host().now_us();
    ++owed.next;
    Frame frame;
    frame.kind = FrameKind::put_go;
    frame.id = owed.id;
    TransferBody body;
    body.tag = owed.tag;
    body.bytes = owed.next;
    note(frame, body);
    if (owed.next < owed.chunks) to_serve_.push_back(owed);
    return Sent::all;
}

void Session::owed_chunk_ended(Chunk& chunk, const Done& done) noexcept {
    Owed& owed = *chunk.owed;
    owed.with_fabric.remove(chunk);
    chunk.owed = nullptr;
    --granted_;
    granted_since_ = port_->host().now_us();
    if (done.result == Errc::ok && !owed.failed) {
        if (done.bytes == chunk.bytes) {
            place(owed, chunk);
        } else {
            fail(Errc::protocol);
        }
    } else if (done.result != Errc::ok && done.result != Errc::canceled) {
        fail(reason(done));
    }
    give_chunk(chunk);
    if (owed.placed == owed.chunks) {
        answer(FrameKind::put_done, owed.id, Errc::ok, 0);
        const bool tells = owed.notify_wanted && peer_ && !peer_->ending;
        const std::uint32_t value = owed.notify;
        release(owed);
        if (tells) port_->host().receiver().on_notify(*peer_, value);
    } else if (owed.stopped && owed.with_fabric.empty()) {
        release(owed);
    }
}

// The data of a put that came are copied to where they belong, or the origin is told why not.
void Session::place(Owed& owed, const Chunk& chunk) noexcept {
    const std::uint64_t at = std::uint64_t{chunk.number} * owed.chunk;
    const auto pin = port_->transport().leases().pin(owed.key, owed.offset + at, chunk.bytes, na::Access::write);
    if (pin.ok()) {
        copy_in(pin.memory(), pin.offset(), {chunk.staging->bytes.get(), chunk.bytes});
        ++owed.placed;
        return;
    }
    owed.failed = true;
    if (WorkQueue::linked(owed)) to_serve_.remove(owed);
    answer(FrameKind::put_done, owed.id, pin.why(), 0);
}

}  // namespace cinnabar::ofi
