// SPDX-License-Identifier: BSD-3-Clause
// One run: random actions on a mesh of processes, then quiet, then the check that nothing is left.
#pragma once

#include "mesh.hpp"

namespace cinnabar::seeds {

class Workload {
  public:
    Workload(std::uint64_t seed, sim::Profile profile) : mesh_(seed, profile), random_(mesh_.random()) {}
    Workload(std::uint64_t seed, support::NetworkKind real, bool liar)
        : mesh_(seed, real, liar), random_(mesh_.random()) {}

    void run();

    struct Outcome {
        std::uint64_t trace = 0;   // of the simulated world
        std::uint64_t digest = 0;  // of all endings
        Ledger::Tally tally;
        [[nodiscard]] bool same(const Outcome& other) const noexcept {
            return trace == other.trace && digest == other.digest;
        }
    };
    [[nodiscard]] Outcome outcome();
    [[nodiscard]] const Climate& climate() const noexcept { return mesh_.climate(); }

  private:
    void act();
    void call();
    void touch_a_call();
    void touch_a_server();
    void fault();
    void end_and_start(Process& process);
    void drain(Process& process);
    [[nodiscard]] TimeUs pause();
    [[nodiscard]] na::Addr any_addr(const Process& from);

    // Everything ends by itself once there are no more faults and handlers answer.
    void calm_down();
    void check_quiet();
    void check_quiet_over_real_network();
    void check_without_connections();
    void check_limits();

    Mesh mesh_;
    Random& random_;
};

}  // namespace cinnabar::seeds
