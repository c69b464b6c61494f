// SPDX-License-Identifier: BSD-3-Clause
// Measures how long an honest client's calls take next to hostile peers: at most twice as long as next to peers that
// are just as busy but honest. Also checks that nothing of the hostile peers is left when they are gone.
//
// - The baseline (*calm*) is not idle. Three honest peers that ask for as much as they are allowed get their share of
//   the server, and calls wait for their turn; three hostile peers must not get more. Without other peers a call takes
//   a few microseconds, and any work for others is more than twice that.
// - One thread drives everybody in turns, and the clock is its processor time without that of the other peers; on a
//   virtual network it is the network's own. The other peers get as much processor time as client and server together,
//   as if they ran in parallel. So a busy machine measures the same, and a server that spins or serves others for too
//   long is found.
// - The 99th percentile is only judged above a few milliseconds: a kernel may process the packets of a flood, and the
//   resets that answer it, within the next system call of anybody, for up to 2 ms at once
//   (net.core.netdev_budget_usecs). The median is judged above a fraction of a millisecond.
// - Next to peers that lend memory only the median is judged: a server that can reach that memory moves many times the
//   bytes, and a call now and then waits for that. Over a device whose transfers all take this machine's processor,
//   calls wait for nothing else: there the busy peers lend as much as they are allowed.
// - Over `tcps`, too, only the median is judged, and three times the baseline is allowed: a handshake takes the server
//   some milliseconds, also those of peers that keep dialling, and each small frame of a flood is decrypted.
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

struct Times {
    double p50 = 0;
    double p99 = 0;
    [[nodiscard]] bool in_bounds(const Times& calm, double times_calm) const;
};

// In microseconds, of each kind of call.
struct Pace {
    Times echo;
    Times pulled;
    Times large;
    void forget_p99() { echo.p99 = pulled.p99 = large.p99 = 0; }
    [[nodiscard]] bool in_bounds(const Pace& calm, double times_calm) const {
        return echo.in_bounds(calm.echo, times_calm) && pulled.in_bounds(calm.pulled, times_calm) &&
               large.in_bounds(calm.large, times_calm);
    }
};

std::ostream& operator<<(std::ostream& out, const Times& times);
std::ostream& operator<<(std::ostream& out, const Pace& pace);

class PaceTest : public HostileTest {
  protected:
    using MakeOthers = std::function<std::unique_ptr<hostile::Others>()>;
    // Beside peers of that behaviour.
    void keep_pace(const char* behaviour);
    // Beside those that are made anew for each measurement.
    void keep_pace(const MakeOthers& make_hostile, bool lends = false);

  private:
    // The honest client's and the server's own.
    [[nodiscard]] double now_us();
    void give_others_their_turn(hostile::Others& others);
    [[nodiscard]] bool drive(hostile::Others& others, const std::function<bool()>& done);
    [[nodiscard]] double time(void (PaceTest::*call)(Ending&), hostile::Others& others);
    [[nodiscard]] Pace window(hostile::Others& others);
    [[nodiscard]] Pace beside(hostile::Others& others, bool lends);
    void wait_until_all_is_gone();

    std::vector<hostile::Crowd::Place> places_;
    double began_us_ = 0;
    double others_us_ = 0;  // the processor time of the others since then
};

}  // namespace cinnabar::rpc
