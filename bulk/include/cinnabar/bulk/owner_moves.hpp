// SPDX-License-Identifier: BSD-3-Clause
// OwnerMoves: asks the owner of lent far memory to move a chunk of that memory, since no transport can reach far
// memory. The rpc layer implements OwnerMoves with calls; a Mover uses it. Owner of the context only.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/bulk/transfer.hpp>

#include <cstdint>

namespace cinnabar::bulk {

class OwnerMoves;

// One chunk. Embedded in the operation that waits for it; must not move until `done`.
struct OwnerMove {
    Direction direction = Direction::pull;  // as seen from this side
    na::Peer* peer = nullptr;               // the owner; must stay referenced until `done`
    ConstBytes key;                         // of the lender (far_lender.hpp)
    std::uint64_t offset = 0;               // in the lent memory
    Region window;                          // local memory, lent to the owner during the move; not far
    // A handle of local memory, which the owner opens during the move and uses instead of the window; null: the window
    // is used. The handle is given only to a peer of the same user. The move ends with `unsupported` if the peer is of
    // another user, or cannot open the handle.
    const IpcHandle* shown = nullptr;
    std::uint64_t bytes = 0;  // size of the memory that `shown` refers to
    TimeUs deadline = time_never;
    void* user = nullptr;
    void (*done)(OwnerMove& move) noexcept = nullptr;  // once, as the owner of the context, never inside begin()
    Errc result = Errc::ok;
    bool let_go = true;  // false: the owner may still access the window, or the memory of `shown`

    // For the implementation:
    std::uint64_t call = 0;  // 0: not in progress
    OwnerMoves* by = nullptr;
    WorkItem over;
};

class OwnerMoves {
  public:
    // Starts a move. again: no room now, try later. Any other code: the move has failed, and `done` does not run.
    [[nodiscard]] virtual Errc begin(OwnerMove& move) noexcept = 0;
    // Asks the owner of the memory to end the move early. `done` still runs once: when the owner no longer uses the
    // window or the memory of `shown`; or, with `let_go` false, when the owner has not confirmed this in time. Does
    // nothing if the move is not in progress.
    virtual void cancel(OwnerMove& move) noexcept = 0;

  protected:
    ~OwnerMoves() = default;
};

}  // namespace cinnabar::bulk
