// SPDX-License-Identifier: BSD-3-Clause
// Operations that this side copies across address spaces by itself, window by window, so that progress goes on in
// between. Owner of the context only.
#pragma once

#include "channel.hpp"

#include <cinnabar/na/session/posted.hpp>

#include <atomic>

namespace cinnabar::shm {

class Session;

class Copier {
  public:
    Copier(Session& session, Channel& channel) noexcept : session_(session), channel_(channel) {}

    // Whether the peer's memory that the op names can be copied from here.
    [[nodiscard]] bool takes(const na::Op& op) const noexcept;
    void add(na::PostedOp& posted) noexcept;
    void remove(na::PostedOp& posted) noexcept { copying_.remove(posted); }
    [[nodiscard]] na::PostedOp* pop() noexcept { return copying_.pop_front(); }
    [[nodiscard]] bool any() const noexcept { return !copying_.empty(); }
    // The next window of the first operation, at most `bytes_max`. Returns the bytes.
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

    Session& session_;
    Channel& channel_;
    na::PostedOps copying_;
};

}  // namespace cinnabar::shm
