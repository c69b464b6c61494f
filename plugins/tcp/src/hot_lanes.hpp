// SPDX-License-Identifier: BSD-3-Clause
// The few hot lanes of a port, which are read in every round without asking epoll first. Owner of the context
// only.
#pragma once

#include "lane.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace cinnabar::tcp {

class HotLanes {
  public:
    explicit HotLanes(const na::PortHost& host) noexcept : host_(host) {}

    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    // Call when data have arrived on a lane: if the context spins, the lane is then hot for a while. If more lanes are
    // active than can be hot, none is hot for some rounds.
    void add(Lane& lane) noexcept;
    void remove(Lane& lane) noexcept;
    // Reads each hot lane once. Returns the amount of work done.
    unsigned receive() noexcept;

  private:
    static constexpr std::size_t count_max = 4;
    void cool(std::size_t index) noexcept;

    const na::PortHost& host_;
    std::array<Lane*, count_max> hot_{};
    std::size_t count_ = 0;
    std::uint32_t rounds_off_ = 0;  // rounds in which none becomes hot
};

}  // namespace cinnabar::tcp
