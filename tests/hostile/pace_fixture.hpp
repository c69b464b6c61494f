// SPDX-License-Identifier: BSD-3-Clause
// Measures how long an honest client's calls take next to hostile peers: their 99th percentile is at most twice that
// next to peers that are just as busy but honest. Also checks that nothing of the hostile peers is left when they are
// gone.
//
// - The baseline (*calm*) is not idle. Three honest peers that ask for as much as they are allowed get their share of
//   the server, and calls wait for their turn; three hostile peers must not get more. Without other peers a call takes
//   a few microseconds, and any work for others is more than twice that.
// - One thread drives all the peers in turns, and the clock is its processor time without that of the other peers; on a
//   virtual network it is the network's own clock. The other peers get as much processor time as client and server
//   together, as if they ran in parallel. So a busy machine measures the same, and a server that spins or serves others
//   for too long is found.
// - The long plan measures long enough to compare 99th percentiles: they count above 0.3 ms. Medians may be three times
//   the baseline, and count above 20 us.
// - The short plan measures a few dozen transfers, whose 99th percentile is the slowest. A kernel may process the
//   packets of a flood, and the resets that answer it, within the next system call of any process, for up to 2 ms at
//   once (net.core.netdev_budget_usecs). So percentiles count above 3 ms and medians above 0.1 ms. Next to peers that
//   lend memory, of which a server reads many times as much, only medians count. The same holds over `tcps`, where a
//   handshake takes milliseconds, and there medians may be three times the baseline.
// - Over `ofis` only medians count, in both plans, and they may be four times the baseline: each of the many small
//   messages of a peer that cancels is opened for itself, where busy peers send fewer and larger ones.
// - On devices and on virtual networks the long plan judges like the short one.
// - If memory is read without its owner, lent memory costs the server the same, no matter which peer lends it. Over
//   devices the busy peers also lend as much as they are allowed; over shared memory honest calls would then reach
//   their deadlines on a busy host, so the long plan judges lenders like the short one, and a median may be as many
//   times the baseline as peers take turns, or 1.5 ms: the server clears and copies 4 MiB for each call of a lender.
// - Measurements of both kinds alternate, and one pair within the bounds is enough: noise only adds time.
// - `self` is left out: code within the process can disturb it without any network.
#pragma once

#include "crowd.hpp"
#include "hostile_fixture.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <ostream>
#include <vector>

namespace cinnabar::rpc {

// How many times the baseline a quantile may be if it is above the floor.
struct Bound {
    double times_calm = 0;
    double floor_us = 0;
    [[nodiscard]] bool allow(double us, double calm_us) const { return us <= floor_us || us <= times_calm * calm_us; }
};

struct Bounds {
    double window_us = 0;  // how long a measurement takes
    Bound p50;
    Bound p99;
};

struct Times {
    double p50 = 0;
    double p99 = 0;
    [[nodiscard]] bool in_bounds(const Times& calm, const Bounds& bounds) const;
};

// In microseconds, for each kind of call.
struct Pace {
    Times echo;
    Times pulled;
    Times large;
    [[nodiscard]] bool in_bounds(const Pace& calm, const Bounds& bounds) const {
        return echo.in_bounds(calm.echo, bounds) && pulled.in_bounds(calm.pulled, bounds) &&
               large.in_bounds(calm.large, bounds);
    }
};

std::ostream& operator<<(std::ostream& out, const Times& times);
std::ostream& operator<<(std::ostream& out, const Pace& pace);

class PaceTest : public HostileTest {
  protected:
    using MakeOthers = std::function<std::unique_ptr<hostile::Others>()>;
    // Measures beside peers of that behaviour.
    void keep_pace(const char* behaviour);
    // Measures beside peers that are made anew for each measurement.
    void keep_pace(const MakeOthers& make_hostile, bool lends = false);

  private:
    // The time of the honest client and the server only.
    [[nodiscard]] double now_us();
    void give_others_their_turn(hostile::Others& others);
    [[nodiscard]] bool drive(hostile::Others& others, const std::function<bool()>& done);
    [[nodiscard]] double time(void (PaceTest::*call)(Ending&), hostile::Others& others);
    [[nodiscard]] Pace window(hostile::Others& others);
    [[nodiscard]] Pace beside(hostile::Others& others, bool lends);
    void wait_until_all_is_gone();
    [[nodiscard]] const Bounds& bounds(bool lends) const;

    Bounds bounds_;
    std::vector<hostile::Crowd::Seat> seats_;
    double began_us_ = 0;
    double others_us_ = 0;  // the processor time of the other peers since then
};

}  // namespace cinnabar::rpc
