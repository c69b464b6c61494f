// SPDX-License-Identifier: BSD-3-Clause
// What may happen in the run of a seed: the number of processes, their faults, and how tight their limits are.
#pragma once

#include <cinnabar/base/random.hpp>
#include <cinnabar/plugins/sim.hpp>
#include <cinnabar/rpc/options.hpp>

#include <string>

namespace cinnabar::seeds {

struct Climate {
    Climate(std::uint64_t seed, sim::Profile profile);

    [[nodiscard]] bool strict() const noexcept { return world.profile == sim::Profile::rdma_strict; }
    // Whether connections may be lost at all. A process that is stopped while it is asked to disconnect loses its
    // connection, too.
    [[nodiscard]] bool stormy() const noexcept {
        return kills || drains || partitions || resets || ((rogues || stops || short_grace()) && strict()) ||
               (stops && few_connections()) || world.reset_one_in != 0;
    }
    // Whether revoking a lease that a peer still reads ends the connection.
    [[nodiscard]] bool short_grace() const noexcept { return rpc.fence_grace < Microseconds(100'000); }
    // Whether a dial may run into its timeout.
    [[nodiscard]] bool slow_dials() const noexcept { return partitions || stops || world.dial_lost_one_in != 0; }

    [[nodiscard]] bool few_connections() const noexcept { return transport.connections_max < 1'000; }

    [[nodiscard]] std::string describe() const;

    // For real networks, which have no faults to order and whose time cannot be advanced: what remains are calls that
    // must end well, cancels, deadlines, transfers and the liar.
    void be_real();

    sim::WorldOptions world;
    na::TransportOptions transport;  // of each process, except its message size
    rpc::Options rpc;
    unsigned processes = 2;
    unsigned actions = 200;
    bool kills = false;       // processes die and come back
    bool drains = false;      // processes drain, close and come back
    bool partitions = false;  // the network is partitioned
    bool resets = false;      // connections break
    bool stops = false;       // processes are stopped and resumed
    bool rogues = false;      // handlers continue transfers after their calls have ended
    bool tight = false;       // calls reach limits
    bool liar = false;        // a hostile peer calls all processes
    bool on_arrival = false;  // handlers run on arrival
};

}  // namespace cinnabar::seeds
