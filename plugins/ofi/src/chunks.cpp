// SPDX-License-Identifier: BSD-3-Clause
#include "chunks.hpp"

#include "port.hpp"
#include "session.hpp"

#include <utility>

namespace cinnabar::ofi {

Chunk* Chunks::take() noexcept {
    Chunk* chunk = session_.port().pools().chunks.acquire();
    if (!chunk) return nullptr;
    chunk->session = &session_;
    chunk->transfer = nullptr;
    chunk->request = nullptr;
    chunk->discard = false;
    chunk->served = false;
    chunk->sends = chunk->receives = false;
    chunk->revoked = false;
    chunk->done = &Chunks::done;
    return chunk;
}

bool Chunks::stage(Chunk& chunk) noexcept {
    chunk.staging = session_.port().pools().take_staging(chunk.served);
    return chunk.staging != nullptr;
}

void Chunks::unstage(Chunk& chunk) noexcept {
    if (chunk.staging) session_.port().pools().give_staging(*std::exchange(chunk.staging, nullptr));
}

void Chunks::give(Chunk& chunk) noexcept {
    unstage(chunk);
    chunk.pin.reset();
    if (chunk.sends) session_.port().send_room().give();
    if (chunk.receives) session_.port().pools().receive_room.give();
    if (chunk.served) {
        session_.owner().chunk_given();
    } else if (chunk.sends) {
        session_.origin().put_chunk_given();
    } else if (chunk.receives) {
        session_.origin().get_chunk_given();
    }
    session_.port().pools().chunks.release(chunk);
}

void Chunks::posted(Chunk& chunk, ChunkList& list) noexcept {
    session_.taken();
    list.push_back(chunk);
}

void Chunks::posted_send(Chunk& chunk) noexcept {
    chunk.sends = true;
    session_.port().send_room().take();
}

void Chunks::posted_receive(Chunk& chunk) noexcept {
    chunk.receives = true;
    session_.port().pools().receive_room.take();
}

void Chunks::revoke(Chunk& chunk) noexcept {
    chunk.revoked = true;
    session_.port().endpoint().cancel(chunk);
}

void Chunks::revoke(ChunkList& chunks, std::uint64_t from) noexcept {
    for (Chunk* chunk = chunks.front(); chunk; chunk = ChunkList::next(*chunk)) {
        if (chunk->number >= from) revoke(*chunk);
    }
}

void Chunks::abandon_strays() noexcept {
    while (Chunk* chunk = stray_.pop_front()) give(*chunk);
}

void Chunks::done(FabricOp& op, const Done& done) noexcept {
    auto& chunk = static_cast<Chunk&>(op);
    chunk.session->chunks().ended(chunk, done);
}

void Chunks::ended(Chunk& chunk, const Done& given) noexcept {
    Done done = given;
    // Canceled, but not by revoke(): the provider's connection broke.
    if (done.result == Errc::canceled && !chunk.revoked) done.result = Errc::peer_lost;
    if (chunk.transfer) {
        session_.origin().chunk_ended(chunk, done);
    } else if (chunk.request) {
        session_.owner().chunk_ended(chunk, done);
    } else {
        stray_.remove(chunk);
        give(chunk);
        if (done.result != Errc::ok && done.result != Errc::canceled) session_.fail(session_.reason(done));
    }
    session_.go_on();
    session_.given_back();
}

}  // namespace cinnabar::ofi
