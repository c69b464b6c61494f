// SPDX-License-Identifier: BSD-3-Clause
// Some peers of one behaviour that never stop: a peer that has sent enough, has been silent for long, or whose session
// was ended, disappears and comes back as another one.
#pragma once

#include "behaviours.hpp"
#include "rude_peer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::hostile {

// Peers that do something to the target, step by step.
class Others {
  public:
    Others() = default;
    virtual ~Others() = default;
    Others(const Others&) = delete;
    Others& operator=(const Others&) = delete;
    // Lets the next peer do one step.
    virtual void step() = 0;
    // Each peer has connected to the target and has done something.
    [[nodiscard]] virtual bool began() const noexcept = 0;
};

class Crowd final : public Others {
  public:
    struct Seat {
        std::shared_ptr<na::Transport> transport;
        na::ContextId context = 0;
    };
    Crowd(std::vector<Seat> seats, na::Addr target, const Behaviour& behaviour);
    void step() override;
    [[nodiscard]] bool began() const noexcept override {
        return began_.load(std::memory_order_relaxed) == members_.size();
    }

  private:
    struct Member {
        Seat seat;
        std::unique_ptr<RudePeer> peer = nullptr;
        bool began = false;
        // Since the peer last came back.
        unsigned steps = 0;  // steps of its behaviour
        std::uint64_t frames = 0;
        unsigned looks = 0;  // in a row, during which it sent nothing or had no connection
    };
    void step(Member& member);
    void come(Member& member) const;
    std::vector<Member> members_;
    std::size_t next_ = 0;
    na::Addr target_;
    const Behaviour& behaviour_;
    std::atomic<std::size_t> began_{0};
};

// Executes the steps as fast as possible, on a thread of its own.
class CrowdThread {
  public:
    explicit CrowdThread(Others& others)
        : thread_([&others](const std::stop_token& stop) {
              while (!stop.stop_requested()) others.step();
          }) {}

  private:
    std::jthread thread_;
};

}  // namespace cinnabar::hostile
