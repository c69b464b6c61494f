// SPDX-License-Identifier: BSD-3-Clause
#include "chunks.hpp"

#include "port.hpp"
#include "session.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

namespace cinnabar::ofi {
namespace {

// Gives whole pages back to the system; they read as zeros then.
void drop_pages(Bytes memory) noexcept {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t end = (begin + memory.size()) / page * page;
    if (first < end) (void)::madvise(memory.data() + (first - begin), end - first, MADV_DONTNEED);
}

}  // namespace

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
    Pools& pools = session_.port().pools();
    chunk.staging = pools.take_staging(chunk.served);
    if (!chunk.staging) pools.end_silent_stager(session_, chunk.served);
    return chunk.staging != nullptr;
}

void Chunks::unstage(Chunk& chunk) noexcept {
    if (!chunk.staging) return;
    if (chunk.sends) {
        --copies_[chunk.served].count;
        copies_[chunk.served].since = session_.port().host().now_us();
    }
    session_.port().pools().give_staging(*std::exchange(chunk.staging, nullptr));
}

void Chunks::give(Chunk& chunk) noexcept {
    unstage(chunk);
    chunk.left.reset();
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
    if (!chunk.staging) return;
    Copies& copies = copies_[chunk.served];
    if (copies.count++ == 0) copies.since = session_.port().host().now_us();
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

void Chunks::leave_copies(ChunkList& chunks) noexcept {
    for (Chunk* chunk = chunks.front(); chunk; chunk = ChunkList::next(*chunk)) leave(*chunk);
}

// Frees the place of a copy in the staging pool. The memory of the copy stays with the fabric, and is zeroed. Only for
// sealed sessions, because a peer cannot open zeros as a sealed chunk, but would take zeros in an unsealed chunk for
// data. Does nothing for registered memory, which cannot be zeroed like this.
void Chunks::leave(Chunk& chunk) noexcept {
    if (!session_.seals() || !chunk.sends || !chunk.staging || chunk.staging->memory) return;
    chunk.left = std::move(chunk.staging->bytes);
    drop_pages({chunk.left.get(), session_.port().pools().staging_bytes()});
    unstage(chunk);
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
