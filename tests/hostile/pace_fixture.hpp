// SPDX-License-Identifier: BSD-3-Clause
// How long an honest client's calls take while others do their worst: at most twice what they take beside peers that
// are as busy and honest; and that nothing of the others stays when they are gone.
//
// - *Calm* is not idle. Three honest peers that ask for as much as they are let have their share of the server, and a
//   call waits for theirs; three hostile ones may not take more. Beside nobody a call takes a few microseconds, and
//   any work at all for others is more than twice that.
// - All are driven by one thread, in turns, and the clock is its processor time without that of the others; on a
//   virtual network the network's own. The others have as much of the processor as the client and the server have
//   together, as if they ran beside them. So a machine whose cores are taken measures the same, and a server that spins
//   or serves others too long shows.
// - The 99th percentile is judged above some milliseconds only: a kernel may take the packets of a flood, and the
//   resets that answer it, in the time of whoever makes the next system call, for 2 ms in one go
//   (net.core.netdev_budget_usecs). The median is judged above a fraction of one.
// - Beside peers that lend only the median is judged: a server that can get at what they lend moves many times the
//   bytes that the busy ones make it move, and a call waits for that now and then. Over a device whose every byte takes
//   the processor of this machine, the calls wait for nothing else: there the busy ones lend as much as they are let.
// - Over `tcps` the median alone is judged, too, and three times the calm is allowed: a handshake takes the server some
//   milliseconds, also of those who dial again and again, and each small frame of a flood is decrypted.
// - Windows of both kinds take turns, and one pair in bounds is enough: noise only ever adds.
// - `self` is left out: who is in the process needs no network to stand in its way.
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
