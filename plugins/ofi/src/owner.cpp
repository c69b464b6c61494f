// SPDX-License-Identifier: BSD-3-Clause
// Queues the requests of the peer, serves gets and grants puts while chunks are free, and copies the data of puts into
// the leased memory.
#include "owner.hpp"

#include "port.hpp"
#include "session.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/na/session/remote_access.hpp>

#include <algorithm>

namespace cinnabar::ofi {

na::LeaseTable::Pin Owner::pin_lease(const na::LeaseKey& key, std::uint64_t offset, std::uint64_t bytes,
                                     na::Access access) noexcept {
    return session_.port().transport().leases().pin(key, offset, bytes, access, &session_.peer());
}

void Owner::answer(FrameKind kind, std::uint64_t id, Errc status, std::uint64_t chunks) noexcept {
    session_.sender().queue_control({.kind = kind, .status = status, .id = id}, {.bytes = chunks});
}

// Null: the peer has too many requests pending, and the session ends.
PeerRequest* Owner::add(const Frame& frame, const TransferBody& body) noexcept {
    PeerRequest* request = requests_count_ < requests_max ? session_.port().pools().take_request(session_) : nullptr;
    if (!request) {
        session_.fail(Errc::overloaded);
        return nullptr;
    }
    ++requests_count_;
    request->is_put = frame.kind == FrameKind::put;
    request->notify_wanted = (frame.flags & flag_notify) != 0;
    request->failed = request->stopped = false;
    request->notify = body.notify;
    request->id = frame.id;
    request->key = body.key;
    request->offset = body.offset;
    request->bytes = body.bytes;
    request->tag = body.tag;
    request->chunk = body.chunk;
    request->chunks = chunks_of(body.bytes, body.chunk);
    request->next = request->placed = 0;
    requests_.push_back(*request);
    to_serve_.push_back(*request);
    session_.port().output().add(session_);
    return request;
}

void Owner::release(PeerRequest& request) noexcept {
    while (Chunk* chunk = request.with_fabric.pop_front()) {
        chunk->request = nullptr;
        --granted_;
        session_.chunks().add_stray(*chunk);
        if (!session_.port().closed()) session_.chunks().revoke(*chunk);
    }
    if (WorkQueue::linked(request)) to_serve_.remove(request);
    requests_.remove(request);
    --requests_count_;
    session_.port().pools().requests.release(request);
}

void Owner::end() noexcept {
    while (PeerRequest* request = requests_.front()) release(*request);
}

void Owner::get(const Frame& frame, const TransferBody& body) noexcept {
    const auto pin = pin_lease(body.key, body.offset, body.bytes, na::Access::read);
    const bool fits = body.chunk <= session_.port().provider().chunk_bytes;
    if (!pin.ok() || !fits) return answer(FrameKind::get_ended, frame.id, fits ? pin.why() : Errc::too_large);
    if (body.chunk > 0) return (void)add(frame, body);
    const Frame data{.kind = FrameKind::get_data, .id = frame.id};
    if (Buffer* buffer = session_.sender().queue_control(data, {}, body.bytes)) {
        pin.memory().copy_out(pin.offset(), {buffer->storage + head_bytes(data.kind), body.bytes});
    }
}

void Owner::put(const Frame& frame, const TransferBody& body, ConstBytes data) noexcept {
    // Checks the operation as a whole, so that an operation that does not fit writes nothing.
    const auto pin = pin_lease(body.key, body.offset, body.bytes, na::Access::write);
    const bool fits = body.chunk <= session_.port().provider().chunk_bytes;
    if (!pin.ok() || !fits) return answer(FrameKind::put_done, frame.id, fits ? pin.why() : Errc::too_large);
    if (body.chunk > 0) {
        if (PeerRequest* request = add(frame, body)) request->tag = secret_u64() & 0xffff'ffff'ff00;
        return;
    }
    pin.memory().copy_in(pin.offset(), data);
    answer(FrameKind::put_done, frame.id, Errc::ok);
    if ((frame.flags & flag_notify) != 0) session_.port().host().receiver().on_notify(session_.peer(), body.notify);
}

void Owner::atomic(const Frame& frame, const TransferBody& body) noexcept {
    const auto pin = pin_lease(body.key, body.offset, sizeof(std::uint64_t), na::Access::read_write);
    const auto kind = frame.kind == FrameKind::fetch_add ? na::OpKind::fetch_add : na::OpKind::compare_swap;
    Frame done{.kind = FrameKind::atomic_done, .id = frame.id};
    TransferBody result;
    done.status = na::run_atomic(pin, kind, body.operand, body.compare, result.operand);
    session_.sender().queue_control(done, result);
}

void Owner::stop(const Frame& frame, const TransferBody& body) noexcept {
    PeerRequest* request = requests_.front();
    while (request && request->id != frame.id) request = Requests::next(*request);
    // The request is gone because all chunks of the get were sent.
    if (!request) return answer(FrameKind::get_ended, frame.id, Errc::canceled, chunks_max);
    if (!request->is_put) {
        answer(FrameKind::get_ended, frame.id, Errc::canceled, request->next);
        return release(*request);
    }
    if (WorkQueue::linked(*request)) to_serve_.remove(*request);
    request->failed = request->stopped = true;
    session_.chunks().revoke(request->with_fabric, body.bytes);
    if (request->with_fabric.empty()) release(*request);
}

Sent Owner::serve() noexcept {
    while (served_ < served_max) {
        PeerRequest* request = to_serve_.pop_front();
        if (!request) break;
        const bool is_put = request->is_put;
        const Sent sent = is_put ? grant_put(*request) : serve_get(*request);
        if (sent == Sent::blocked) {
            if (is_put) session_.port().pools().end_silent_writer(session_);
            return sent;
        }
        if (!session_.live()) break;
    }
    return Sent::all;
}

// The next chunk of a request; null: no chunk is free.
Chunk* Owner::next_chunk(const PeerRequest& request) noexcept {
    Chunk* chunk = session_.chunks().take();
    if (!chunk) return nullptr;
    chunk->served = true;
    ++served_;
    chunk->number = request.next;
    chunk->bytes = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(request.chunk, request.bytes - std::uint64_t{request.next} * request.chunk));
    return chunk;
}

// Handles a chunk that the provider did not take.
Sent Owner::not_taken(PeerRequest& request, Chunk& chunk, Errc why) noexcept {
    session_.chunks().give(chunk);
    to_serve_.push_front(request);
    if (why == Errc::again) return Sent::blocked;
    session_.fail(why);
    return Sent::all;
}

Sent Owner::serve_get(PeerRequest& request) noexcept {
    const std::uint64_t at = request.offset + std::uint64_t{request.next} * request.chunk;
    Chunk* chunk = next_chunk(request);
    if (!chunk) {
        to_serve_.push_front(request);
        return Sent::blocked;
    }
    auto pin = pin_lease(request.key, at, chunk->bytes, na::Access::read);
    if (!pin.ok()) {
        session_.chunks().give(*chunk);
        answer(FrameKind::get_ended, request.id, pin.why(), request.next);
        release(request);
        return Sent::all;
    }
    const Errc why = send_leased(request, *chunk, std::move(pin));
    if (why != Errc::ok) return not_taken(request, *chunk, why);
    session_.chunks().posted(*chunk);
    session_.chunks().posted_send(*chunk);
    if (++request.next < request.chunks) {
        to_serve_.push_back(request);
    } else {
        release(request);
    }
    return Sent::all;
}

// Sends a chunk directly from the leased memory, which stays pinned until the fabric has sent the chunk. If that is not
// possible, sends a copy, and unpins the memory before this function returns.
Errc Owner::send_leased(const PeerRequest& request, Chunk& chunk, na::LeaseTable::Pin pin) noexcept {
    Endpoint& endpoint = session_.port().endpoint();
    std::array<iovec, pieces_limit> pieces;
    std::size_t count = 0;
    const std::uint64_t tag = request.tag + chunk.number;
    if (endpoint.sends_leased() && !session_.seals())
        count = gather(pin.memory(), pin.offset(), chunk.bytes, pieces, endpoint.pieces_max());
    if (count > 0) {
        chunk.pin.emplace(std::move(pin));
    } else {
        if (!session_.chunks().stage(chunk)) return Errc::again;
        const Bytes staged{chunk.staging->bytes.get(), chunk.bytes};
        pin.memory().copy_out(pin.offset(), staged);
        if (session_.seals() && !session_.seal_chunk({false, request.id, tag}, *chunk.staging, chunk.bytes))
            return Errc::out_of_memory;
        pieces[0] = {staged.data(), staged.size() + session_.trailer_bytes()};
        count = 1;
    }
    return endpoint.send_tagged(pieces.data(), count, memory_of(chunk), tag, session_.fabric_address(), chunk);
}

Sent Owner::grant_put(PeerRequest& request) noexcept {
    Chunk* chunk = next_chunk(request);
    if (!chunk || !session_.chunks().stage(*chunk)) {
        if (chunk) session_.chunks().give(*chunk);
        to_serve_.push_front(request);
        return Sent::blocked;
    }
    const iovec piece{chunk->staging->bytes.get(), chunk->bytes + session_.trailer_bytes()};
    const Errc why = session_.port().endpoint().receive_tagged(
        &piece, 1, chunk->staging->memory, request.tag + chunk->number, session_.fabric_address(), *chunk);
    if (why != Errc::ok) return not_taken(request, *chunk, why);
    chunk->request = &request;
    session_.chunks().posted(*chunk, request.with_fabric);
    session_.chunks().posted_receive(*chunk);
    if (granted_++ == 0) granted_since_ = session_.port().host().now_us();
    ++request.next;
    session_.sender().queue_control({.kind = FrameKind::put_go, .id = request.id},
                                    {.bytes = request.next, .tag = request.tag});
    if (request.next < request.chunks) to_serve_.push_back(request);
    return Sent::all;
}

void Owner::chunk_ended(Chunk& chunk, const Done& done) noexcept {
    PeerRequest& request = *chunk.request;
    request.with_fabric.remove(chunk);
    chunk.request = nullptr;
    --granted_;
    granted_since_ = session_.port().host().now_us();
    if (done.result == Errc::ok && !request.failed) {
        if (done.bytes == chunk.bytes + session_.trailer_bytes()) {
            place(request, chunk);
        } else {
            session_.fail(Errc::protocol);
        }
    } else if (done.result != Errc::ok && done.result != Errc::canceled) {
        session_.fail(session_.reason(done));
    }
    session_.chunks().give(chunk);
    if (request.placed == request.chunks) {
        answer(FrameKind::put_done, request.id, Errc::ok);
        const bool tells = request.notify_wanted && session_.live();
        const std::uint32_t value = request.notify;
        release(request);
        if (tells) session_.port().host().receiver().on_notify(session_.peer(), value);
    } else if (request.stopped && request.with_fabric.empty()) {
        release(request);
    }
}

// Copies the data of a put into place, or tells the origin why not.
void Owner::place(PeerRequest& request, Chunk& chunk) noexcept {
    const ChunkId id{true, request.id, request.tag + chunk.number};
    if (session_.seals() && !session_.open_chunk(id, *chunk.staging, chunk.bytes)) return;
    const std::uint64_t at = std::uint64_t{chunk.number} * request.chunk;
    const auto pin = pin_lease(request.key, request.offset + at, chunk.bytes, na::Access::write);
    if (pin.ok()) {
        pin.memory().copy_in(pin.offset(), {chunk.staging->bytes.get(), chunk.bytes});
        ++request.placed;
        return;
    }
    request.failed = true;
    if (WorkQueue::linked(request)) to_serve_.remove(request);
    answer(FrameKind::put_done, request.id, pin.why());
}

}  // namespace cinnabar::ofi
