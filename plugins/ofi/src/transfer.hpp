// SPDX-License-Identifier: BSD-3-Clause
// The state of puts and gets on both sides, and the chunks in which large ones are sent.
// Large get: the origin posts receives for all chunks into its memory and sends the request; the owner sends each chunk
// directly from the leased memory, which stays pinned until the chunk is sent (decision 0017), or from a copy in
// staging memory.
// Large put: the owner posts receives into staging memory and grants them to the origin, which sends the chunks
// directly from its memory; the owner then copies the chunks into place.
// Owner of the context only.
#pragma once

#include "endpoint.hpp"
#include "frame.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/lease_table.hpp>
#include <cinnabar/na/session/posted.hpp>

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace cinnabar::ofi {

class Session;
struct PeerRequest;
struct Transfer;

// The plugin's state of an op, from its post to its completion.
struct Posted : na::PostedOp {
    Transfer* transfer = nullptr;  // set while admitted
};

// The maximum number of pieces of memory in one message of the fabric.
inline constexpr std::size_t pieces_limit = 8;

// Gathers the pieces of [offset, offset + bytes); returns how many, or 0 if there are more than `most`.
[[nodiscard]] inline std::size_t gather(const na::Memory& memory, std::uint64_t offset, std::uint64_t bytes,
                                        std::array<iovec, pieces_limit>& out, std::size_t most) noexcept {
    std::uint64_t covered = 0;
    const std::size_t count = memory.gather(offset, bytes, out.data(), std::min(most, out.size()), covered);
    return covered == bytes ? count : 0;
}

// Memory for one chunk, allocated when it is first taken.
struct Staging final : PoolSlot {
    SlotPool<Staging>* pool = nullptr;
    std::unique_ptr<std::byte[]> bytes;
    Registration memory;  // set if the provider needs it
};

// One chunk of a large operation that the fabric has.
struct Chunk final : FabricOp, PoolSlot {
    ListLink<Chunk> link;          // in the list of its transfer or request
    Transfer* transfer = nullptr;  // set for an operation of this side
    // Set for a put of the peer; null for a get of the peer, or if nothing waits for the chunk.
    PeerRequest* request = nullptr;
    Session* session = nullptr;
    Staging* staging = nullptr;              // null: the chunk is in the memory of an op or a lease
    std::unique_ptr<std::byte[]> left;       // staging memory that the fabric has kept longer than its session lived
    std::optional<na::LeaseTable::Pin> pin;  // of the lease from whose memory the chunk is sent
    std::uint32_t number = 0;
    std::uint32_t bytes = 0;
    bool discard = false;   // the get has ended, and the data are dropped
    bool served = false;    // it belongs to an operation of the peer
    bool sends = false;     // was posted as a send
    bool receives = false;  // was posted as a receive
    bool revoked = false;   // the fabric was asked to give it back
};
// The registration of the chunk's memory, if there is one.
[[nodiscard]] inline const Registration& memory_of(const Chunk& chunk) noexcept {
    static const Registration none;
    return chunk.staging ? chunk.staging->memory : none;
}
using ChunkList = IntrusiveList<Chunk, &Chunk::link>;

// An admitted operation of this side. Its id in frames is generation << 32 | slot index.
struct Transfer final : PoolSlot {
    ListLink<Transfer> link;       // in its session's list of all transfers
    ListLink<Transfer> post_link;  // in its session's list of transfers with chunks to post
    Posted* posted = nullptr;      // null: the op has ended, but the transfer has not
    Session* session = nullptr;
    std::uint32_t generation = 1;
    std::uint64_t tag = 0;       // the tag of chunk 0
    std::uint32_t chunks = 0;    // 0: a small operation, whose data are in the frames
    std::uint32_t allowed = 0;   // chunks that may be posted: all chunks of a get, the granted ones of a put
    std::uint32_t next = 0;      // the first chunk that was not posted
    std::uint32_t ended = 0;     // chunks that were received or sent
    std::uint32_t touching = 0;  // chunks that the fabric has and that use the op's memory
    std::uint32_t sent = 0;      // get: chunks that the owner may have sent; get_ended says how many it did
    bool get = false;
    bool asked = false;     // the request was sent
    bool answered = false;  // the owner has sent get_data, get_ended or put_done
    // A get that has ended early awaits its owner while the owner has not yet sent get_ended, or has not sent all the
    // chunks that it claims in get_ended.
    bool awaits_owner = false;
    TimeUs awaits_since = 0;  // since when it awaits its owner, or when the last of those chunks was received
    Errc failed = Errc::ok;
    ChunkList with_fabric;
};

// A large get or put of the peer that is in progress.
struct PeerRequest final : PoolSlot {
    ListLink<PeerRequest> link;       // in its session's list of all requests
    ListLink<PeerRequest> work_link;  // in its session's list of requests with chunks to send or grant
    bool is_put = false;
    bool notify_wanted = false;
    bool failed = false;   // put: the origin was told, and will send stop
    bool stopped = false;  // the origin has sent stop
    std::uint32_t notify = 0;
    std::uint64_t id = 0;
    na::LeaseKey key;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tag = 0;
    std::uint32_t chunk = 0;
    std::uint32_t chunks = 0;
    std::uint32_t next = 0;    // the first chunk that was not posted
    std::uint32_t placed = 0;  // put: chunks that are in place
    ChunkList with_fabric;     // used by a put
};

}  // namespace cinnabar::ofi
