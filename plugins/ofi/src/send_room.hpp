// SPDX-License-Identifier: BSD-3-Clause
// A provider's room for sends (fi_tx_attr::size), shared by all sessions of a port. A session may have at most half as
// many frames pending as there is room left, so that sessions whose peers do not read cannot use up all of it. Owner of
// the context only.
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
    // Frames that one session may now have pending with the provider.
    [[nodiscard]] std::uint32_t for_session() const noexcept {
        return static_cast<std::uint32_t>(std::clamp<std::int64_t>(left_ / 2, 1, FrameSender::unconfirmed_max));
    }

  private:
    std::int64_t left_;
};

}  // namespace cinnabar::ofi
