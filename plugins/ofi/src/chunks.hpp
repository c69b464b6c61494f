// SPDX-License-Identifier: BSD-3-Clause
// The chunks of one session, from the port's pool to the fabric and back. Owner of the context only.
#pragma once

#include "transfer.hpp"

namespace cinnabar::ofi {

class Chunks {
  public:
    explicit Chunks(Session& session) noexcept : session_(session) {}

    // Null when all are taken.
    [[nodiscard]] Chunk* take() noexcept;
    // Gives it staging memory. False: there is none.
    [[nodiscard]] bool stage(Chunk& chunk) noexcept;
    void unstage(Chunk& chunk) noexcept;
    // Requires: the fabric does not have it.
    void give(Chunk& chunk) noexcept;

    // The fabric has it. It is added to that list.
    void posted(Chunk& chunk, ChunkList& list) noexcept;
    void posted(Chunk& chunk) noexcept { posted(chunk, stray_); }
    void posted_send(Chunk& chunk) noexcept;
    // The fabric has it, and no transfer or request waits for it any more.
    void add_stray(Chunk& chunk) noexcept { stray_.push_back(chunk); }
    // Asks the fabric to give back a chunk, or those from number `from` on.
    void revoke(Chunk& chunk) noexcept;
    void revoke(ChunkList& chunks, std::uint64_t from) noexcept;

    // The endpoint is closed: the fabric has forgotten everything.
    void abandon_strays() noexcept;

  private:
    static void done(FabricOp& op, const Done& done) noexcept;
    void ended(Chunk& chunk, const Done& given) noexcept;

    Session& session_;
    ChunkList stray_;  // the fabric has them, nothing waits for them
};

}  // namespace cinnabar::ofi
