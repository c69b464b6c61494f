// SPDX-License-Identifier: BSD-3-Clause
// Drives the contexts of a test in turn, in one thread, until something is so. It never sleeps by itself: on a virtual
// clock time moves when all is idle; on the machine's clock contexts are polled until the limit has passed.
#pragma once

#include <cinnabar/na/context.hpp>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <vector>

namespace cinnabar::sim {
class World;
}

namespace cinnabar::support {

class Pump {
  public:
    // How long the machine's clock may run before a test counts as hung.
    static constexpr std::chrono::seconds limit_default{30};

    explicit Pump(sim::World* world = nullptr) : world_(world) {}
    Pump(std::initializer_list<na::Context*> contexts, sim::World* world = nullptr)
        : world_(world), contexts_(contexts) {}

    void add(na::Context& context) { contexts_.push_back(&context); }
    void remove(na::Context& context) { std::erase(contexts_, &context); }
    void clear() { contexts_.clear(); }

    // One progress and trigger of each; returns how much was done. Never waits.
    unsigned round();
    // A round; where nothing was done and the clock is virtual, time moves. False when nothing will ever happen.
    bool step();
    // Rounds until `done()`: true. False when `limit` has passed on the machine's clock, or when the world stands still
    // for good.
    [[nodiscard]] bool until(const std::function<bool()>& done, std::chrono::milliseconds limit = limit_default);
    // Rounds until `span` has passed on the contexts' clock.
    void run_for(Microseconds span);

  private:
    [[nodiscard]] bool move_time(TimeUs until);
    sim::World* world_;
    std::vector<na::Context*> contexts_;
};

}  // namespace cinnabar::support
