// SPDX-License-Identifier: BSD-3-Clause
// Operations on memory as the state of both sides, and the chunks in which the data of large ones go over the fabric. A
// large get: the origin posts receives for all chunks, straight into its memory, and asks; the owner sends each chunk
// straight from the leased memory, which stays pinned until it has left (decision 0017), or copies it into staging
// under a pin, and sends that. A large put: the owner posts receives into staging and grants them; the origin sends
// straight from its memory; the owner copies the chunks into place under a pin. Owner of the context only.
#pragma once

#include "endpoint.hpp"
#include "frame.hpp"
#include "posted.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/lease_table.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace cinnabar::ofi {

class Session;
struct PeerRequest;
struct Transfer;

// Pieces of memory in one message of the fabric.
inline constexpr std::size_t pieces_limit = 8;

// The pieces of [offset, offset + bytes), how many; 0 when they are more than `most`.
[[nodiscard]] inline std::size_t gather(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes,
                                        std::array<iovec, pieces_limit>& out, std::size_t most) noexcept {
    std::uint64_t covered = 0;
    const std::size_t count = memory.gather(offset, bytes, out.data(), std::min(most, out.size()), covered);
    return covered == bytes ? count : 0;
}

// Room for one chunk, allocated when first taken.
struct Staging final : PoolSlot {
    SlotPool<Staging>* pool = nullptr;
    std::unique_ptr<std::byte[]> bytes;
    Registration memory;  // where the provider wants it
};

// One message of a large operation that is with the fabric.
struct Chunk final : FabricOp, PoolSlot {
    ListLink<Chunk> link;            // in the list of its transfer or request
    Transfer* transfer = nullptr;    // of this side; else
    PeerRequest* request = nullptr;  // a put of the peer; null: a get of the peer, or nothing waits for it any more
    Session* session = nullptr;
    Staging* staging = nullptr;              // null: it goes straight into or out of the memory of an op or a lease
    std::optional<na::LeaseTable::Pin> pin;  // of that lease
    std::uint32_t number = 0;
    std::uint32_t bytes = 0;
    bool discard = false;  // of a get that has ended: what comes is dropped
    bool served = false;   // of what the peer asked for
    bool sends = false;    // it is a send, not a receive
    bool revoked = false;  // the fabric was asked to give it back
};
// What the provider must know of the memory that it goes from or to.
[[nodiscard]] inline const Registration& memory_of(const Chunk& chunk) noexcept {
    static const Registration none;
    return chunk.staging ? chunk.staging->memory : none;
}
using ChunkList = IntrusiveList<Chunk, &Chunk::link>;

// An operation of this side that the peer carries out. Its id in frames is generation << 32 | slot index.
struct Transfer final : PoolSlot {
    ListLink<Transfer> link;       // in its session's list of all
    ListLink<Transfer> post_link;  // in its session's list of those that have chunks to post
    Posted* posted = nullptr;      // null: its op has ended, the peer has not answered
    Session* session = nullptr;
    std::uint32_t generation = 1;
    std::uint64_t tag = 0;       // of chunk 0
    std::uint32_t chunks = 0;    // 0: small, the data go in the frames
    std::uint32_t allowed = 0;   // chunks that may be posted: all of a get, those granted of a put
    std::uint32_t next = 0;      // the first that is not posted
    std::uint32_t ended = 0;     // that have come, or are sent
    std::uint32_t touching = 0;  // that the fabric may still move from or into the op's memory
    bool asked = false;          // the peer knows of it
    bool answered = false;       // a put: the owner has said how it ended
    bool awaits_answer = false;  // a get that was stopped: the owner has not said how many chunks it sent
    Errc failed = Errc::ok;
    ChunkList with_fabric;
};

// A large get or put that the peer asked for and that is not done yet.
struct PeerRequest final : PoolSlot {
    ListLink<PeerRequest> link;       // in its session's list of all
    ListLink<PeerRequest> work_link;  // in its session's list of those that can go on
    bool is_put = false;
    bool notify_wanted = false;
    bool failed = false;   // a put: the origin was told, and will say how many chunks it sent
    bool stopped = false;  // it has said so
    std::uint32_t notify = 0;
    std::uint64_t id = 0;
    na::LeaseKey key;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 0;
    std::uint32_t next = 0;    // the first chunk that is not posted
    std::uint32_t placed = 0;  // chunks of a put that are in place
    ChunkList with_fabric;     // of a put
};

}  // namespace cinnabar::ofi
