// SPDX-License-Identifier: BSD-3-Clause
// The chunks of one session: takes them from the port's pool, keeps track of those that were posted to the fabric, and
// gives them back. Owner of the context only.
#pragma once

#include "transfer.hpp"

#include <cinnabar/base/clock.hpp>

#include <array>
#include <cstdint>

namespace cinnabar::ofi {

class Chunks {
  public:
    explicit Chunks(Session& session) noexcept : session_(session) {}

    // Null when all are taken.
    [[nodiscard]] Chunk* take() noexcept;
    // Allocates staging memory for a chunk. False: none is left; a peer that keeps much of it for long may be ended.
    [[nodiscard]] bool stage(Chunk& chunk) noexcept;
    void unstage(Chunk& chunk) noexcept;
    // Requires: the fabric does not have it.
    void give(Chunk& chunk) noexcept;

    // Call when the chunk was posted to the fabric; adds it to a list.
    void posted(Chunk& chunk, ChunkList& list) noexcept;
    void posted(Chunk& chunk) noexcept { posted(chunk, stray_); }
    void posted_send(Chunk& chunk) noexcept;
    void posted_receive(Chunk& chunk) noexcept;
    // Adds a chunk that the fabric has, and that no transfer or request waits for any more.
    void add_stray(Chunk& chunk) noexcept { stray_.push_back(chunk); }
    // Asks the fabric to return a chunk, or all chunks from number `from` on.
    void revoke(Chunk& chunk) noexcept;
    void revoke(ChunkList& chunks, std::uint64_t from) noexcept;

    // Since when the fabric has completed no send of a copy in staging memory; time_never: the fabric has no such send.
    // `served`: for copies that are sent for gets of the peer; otherwise for copies that are sent by puts of this side.
    [[nodiscard]] TimeUs copies_since(bool served) const noexcept {
        return copies_[served].count > 0 ? copies_[served].since : time_never;
    }
    // Frees the places of the copies among `chunks` in the staging pool, in a sealed session, so that other sessions
    // can use these places. Call when the session has ended, but the fabric does not complete the sends of the copies.
    void leave_copies(ChunkList& chunks) noexcept;
    void leave_strays() noexcept { leave_copies(stray_); }

    // Call when the endpoint was closed, so that the fabric no longer has any stray.
    void abandon_strays() noexcept;

  private:
    static void done(FabricOp& op, const Done& done) noexcept;
    void ended(Chunk& chunk, const Done& given) noexcept;
    void leave(Chunk& chunk) noexcept;

    Session& session_;
    // Chunks in staging memory that the fabric has to send.
    struct Copies {
        std::uint32_t count = 0;
        TimeUs since = 0;  // when the first was posted, or the last one was given back
    };
    std::array<Copies, 2> copies_;  // by Chunk::served
    ChunkList stray_;               // chunks that the fabric has and that nothing waits for
};

}  // namespace cinnabar::ofi
