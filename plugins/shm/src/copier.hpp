// SPDX-License-Identifier: BSD-3-Clause
// Puts and gets that this side carries out by copying across address spaces. One call copies only a part (a window), so
// that other work is done in between. Owner of the context only.
#pragma once

#include "channel.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <atomic>

namespace cinnabar::shm {

class Session;

class Copier {
  public:
    Copier(Session& session, Channel& channel) noexcept : session_(session), channel_(channel) {}

    // Whether this side can copy the memory that the op refers to.
    [[nodiscard]] bool takes(const na::Op& op) const noexcept;
    void add(na::PostedOp& posted) noexcept;
    // Whether the copier has begun the operation and not ended it.
    [[nodiscard]] static bool has(const na::PostedOp& posted) noexcept {
        return posted.stage == na::OpStage::copying || posted.stage == na::OpStage::notifies;
    }
    void cancel(na::PostedOp& posted) noexcept;
    // Ends all its operations with `why`.
    void end(Errc why) noexcept;
    [[nodiscard]] bool copies() const noexcept { return !copying_.empty(); }
    // Puts whose bytes are in place, and whose notification the session has to send.
    [[nodiscard]] na::PostedOps& notifies() noexcept { return notifies_; }
    // Copies the next window of the first operation, at most `bytes_max`; returns the number of bytes.
    [[nodiscard]] std::uint64_t copy_next(std::uint64_t bytes_max) noexcept;

  private:
    struct Window;
    [[nodiscard]] Errc find_window(const na::Op& op, std::uint64_t moved, std::uint64_t bytes_max,
                                   const BoardView::Pinned& pinned, Window& out) noexcept;
    [[nodiscard]] Errc find_pieces(const BoardView::Pinned& pinned, std::uint64_t position, std::uint64_t bytes,
                                   Window& out) noexcept;
    [[nodiscard]] Errc copy_across(na::PostedOp& posted, std::uint64_t bytes_max, const BoardView::Pinned& pinned,
                                   std::uint64_t& copied) noexcept;
    [[nodiscard]] Errc copy_mapped(na::PostedOp& posted, std::uint64_t bytes_max, const BoardView::Pinned& pinned,
                                   std::uint64_t& copied) noexcept;
    [[nodiscard]] Errc copy_window(na::PostedOp& posted, std::uint64_t bytes_max, std::uint64_t& copied) noexcept;

    void copied(na::PostedOp& posted, Errc result) noexcept;

    Session& session_;
    Channel& channel_;
    na::PostedOps copying_;
    na::PostedOps notifies_;
};

}  // namespace cinnabar::shm
