// SPDX-License-Identifier: BSD-3-Clause
// OwnerMoves: what asks the owner of lent far memory to move a chunk of it, since no transport reaches it. The layer
// above, which has calls, implements it; a Mover uses it. Owner of the context.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <cstdint>

namespace cinnabar::bulk {

class OwnerMoves;

// One chunk. A part of what waits for it; stays where it is until `done`.
struct OwnerMove {
    Direction direction = Direction::pull;  // as this side sees it
    na::Peer* peer = nullptr;               // the owner; referenced until `done`
    ConstBytes key;                         // of the lender of far memory (far_lender.hpp)
    std::uint64_t offset = 0;               // in the lent memory
    Region window;                          // of this side, lent to the owner meanwhile; not far
    TimeUs deadline = time_never;
    void* user = nullptr;
    void (*done)(OwnerMove& move) noexcept = nullptr;  // once, as the owner of the context, never inside begin()
    Errc result = Errc::ok;

    // Of who implements it:
    std::uint64_t call = 0;  // 0: not under way
    OwnerMoves* by = nullptr;
    Work over;
};

class OwnerMoves {
  public:
    // again: no room now. Any other code: it has failed, and `done` does not run.
    [[nodiscard]] virtual Errc begin(OwnerMove& move) noexcept = 0;
    // Asks for an early end; `done` still runs, once, when the owner has let go of the window. Nothing where none is
    // under way.
    virtual void cancel(OwnerMove& move) noexcept = 0;

  protected:
    ~OwnerMoves() = default;
};

}  // namespace cinnabar::bulk
