// SPDX-License-Identifier: BSD-3-Clause
// The provider's room for sends and for receives, which all sessions of a port share. A session whose peer does not
// read, or sends nothing, cannot use up all of that room. Owner of the context only.
#pragma once

#include "frame_sender.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

// Room for sends (fi_tx_attr::size). A session may have at most half as many frames pending as there is room left.
class SendRoom {
  public:
    explicit SendRoom(std::size_t sends_max) noexcept : left_(static_cast<std::int64_t>(sends_max)) {}
    void take() noexcept { --left_; }
    void give() noexcept { ++left_; }
    // How many frames one session may now have pending with the provider.
    [[nodiscard]] std::uint32_t for_session() const noexcept {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ / 2, 1, FrameSender::unconfirmed_max));
    }

  private:
    std::int64_t left_;
};

// Room for receives of chunks. A session that holds receives begins another get only if it then holds at most half of
// the receives that no other session holds.
class ReceiveRoom {
  public:
    explicit ReceiveRoom(std::size_t receives_max) noexcept : left_(static_cast<std::int64_t>(receives_max)) {}
    void take() noexcept { --left_; }
    void give() noexcept { ++left_; }
    // Whether a session that holds `held` receives for its gets may begin another get of `chunks`. A session that holds
    // no receive always may.
    [[nodiscard]] bool admits(std::uint32_t held, std::uint32_t chunks) const noexcept {
        return held == 0 || 2 * (std::int64_t{held} + chunks) <= left_ + held;
    }

  private:
    std::int64_t left_;
};

}  // namespace cinnabar::ofi
