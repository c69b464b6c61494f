// SPDX-License-Identifier: BSD-3-Clause
// Drives the contexts of a test in turn, on one thread, until a condition holds. It never sleeps: on a virtual clock
// time advances when all contexts are idle; on the real clock contexts are polled until the limit has passed.
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
    // The time on the real clock after which a test counts as hung.
    static constexpr std::chrono::seconds limit_default{30};

    explicit Pump(sim::World* world = nullptr) : world_(world) {}
    Pump(std::initializer_list<na::Context*> contexts, sim::World* world = nullptr)
        : world_(world), contexts_(contexts) {}

    void add(na::Context& context) { contexts_.push_back(&context); }
    void remove(na::Context& context) { std::erase(contexts_, &context); }
    void clear() { contexts_.clear(); }

    // One progress and trigger of each context; returns the amount of work done. Never waits.
    unsigned round();
    // A round. If it did nothing and the clock is virtual, advances time. False if nothing more can happen.
    bool step();
    // Runs rounds until `done()`: true. False if `limit` has passed on the real clock, or if nothing can happen any
    // more.
    [[nodiscard]] bool until(const std::function<bool()>& done, std::chrono::milliseconds limit = limit_default);
    // Runs rounds until `span` has passed on the clock of the contexts.
    void run_for(Microseconds span);

  private:
    [[nodiscard]] bool move_time(TimeUs until);
    sim::World* world_;
    std::vector<na::Context*> contexts_;
};

}  // namespace cinnabar::support
