// SPDX-License-Identifier: BSD-3-Clause
// Some peers of one behaviour that never stop: one that has done so much, or was cut off, goes and comes back as
// another.
#pragma once

#include "behaviours.hpp"
#include "rude_peer.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::hostile {

class Crowd {
  public:
    struct Place {
        std::shared_ptr<na::Transport> transport;
        na::ContextId context = 0;
    };
    Crowd(std::vector<Place> places, na::Addr target, const Behaviour& behaviour);
    // The next one of them does its worst once.
    void step();
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_.load(std::memory_order_relaxed); }

  private:
    struct Member {
        Place place;
        std::unique_ptr<RudePeer> peer = nullptr;
        unsigned steps = 0;  // of its behaviour, in this life
        unsigned looks = 0;  // for a connection
    };
    void step(Member& member);
    void come(Member& member) const;
    std::vector<Member> members_;
    std::size_t next_ = 0;
    na::Addr target_;
    const Behaviour& behaviour_;
    std::atomic<std::uint64_t> steps_{0};
};

// Has a crowd step, as fast as it can, in a thread of its own.
class CrowdThread {
  public:
    explicit CrowdThread(Crowd& crowd)
        : thread_([&crowd](const std::stop_token& stop) {
              while (!stop.stop_requested()) crowd.step();
          }) {}

  private:
    std::jthread thread_;
};

}  // namespace cinnabar::hostile
