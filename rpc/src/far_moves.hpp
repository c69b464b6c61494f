// SPDX-License-Identifier: BSD-3-Clause
// Moves far memory that a peer has lent, by calls of `cinnabar.far.move` to that peer, one per chunk. The peer pulls
// from or pushes to a window of memory of this side, or copies from or to memory that it opens by a handle
// (docs/wire-format-bulk.md, "Far memory").
#pragma once

#include "context_base.hpp"

#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/bulk/owner_moves.hpp>
#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <memory>

namespace cinnabar::rpc {

class Call;
class Origin;
class Request;

inline constexpr const char* far_move_name = "cinnabar.far.move";
inline constexpr RpcId far_move_id = rpc_id(far_move_name);

// The requesting side.
class FarMoves final : public bulk::OwnerMoves {
  public:
    FarMoves(ContextBase& base, Origin& origin) noexcept : base_(base), origin_(origin) {}
    [[nodiscard]] Errc begin(bulk::OwnerMove& move) noexcept override;
    void cancel(bulk::OwnerMove& move) noexcept override;
    // The peer that sent the request; null: it is gone.
    [[nodiscard]] static const na::Peer* peer_of(const Request& request) noexcept;

  private:
    [[nodiscard]] static Errc write(Call& call, const bulk::OwnerMove& move, std::size_t& bytes) noexcept;
    static void on_done(Call& call, void* user) noexcept;

    ContextBase& base_;
    Origin& origin_;
};

// The serving side.
[[nodiscard]] Handler far_move_handler(std::shared_ptr<bulk::FarLender> lender);

}  // namespace cinnabar::rpc
