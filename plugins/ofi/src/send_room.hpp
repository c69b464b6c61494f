// SPDX-License-Identifier: BSD-3-Clause
// The room for sends of a provider (fi_tx_attr::size), which all sessions of a port share. Each may have half of what
// the others leave, so that sessions whose peers do not read cannot take all of it. Owner of the context only.
#pragma once

#include "frame_sender.hpp"

#include <algorithm>
#include <cstdint>

namespace cinnabar::ofi {

class SendRoom {
  public:
    explicit SendRoom(std::size_t sends_max) noexcept : left_(static_cast<std::int64_t>(sends_max)) {}
    void take() noexcept { --left_; }
    void give() noexcept { ++left_; }
    // Frames that one session may have with the provider now.
    [[nodiscard]] std::uint32_t for_session() const noexcept {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ / 2, 1, FrameSender::unconfirmed_max));
    }

  private:
    std::int64_t left_;
};

}  // namespace cinnabar::ofi
