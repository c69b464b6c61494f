// SPDX-License-Identifier: BSD-3-Clause
// A provider's room for receives of chunks, shared by all sessions of a port. A session begins a get only if it then
// has at most half of what the others leave, so that peers that send nothing cannot use up all of it. Owner of the
// context only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cinnabar::ofi {

class ReceiveRoom {
  public:
    explicit ReceiveRoom(std::size_t receives_max) noexcept : left_(static_cast<std::int64_t>(receives_max)) {}
    void take() noexcept { --left_; }
    void give() noexcept { ++left_; }
    // Whether a session whose gets have `held` receives may begin a get of `chunks` more. A session without receives
    // may always begin one.
    [[nodiscard]] bool admits(std::uint32_t held, std::uint32_t chunks) const noexcept {
        return held == 0 || 2 * (std::int64_t{held} + chunks) <= left_ + held;
    }

  private:
    std::int64_t left_;
};

}  // namespace cinnabar::ofi
