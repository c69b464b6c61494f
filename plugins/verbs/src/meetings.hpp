// SPDX-License-Identifier: BSD-3-Clause
// Two contexts that dial each other at once end with one session. A request that came in while this side dials the same
// host may be of the same pair, which only the answer to the own dial can tell. Until then (and for a bounded time) it
// is kept here: the side with the smaller identity answers it and leaves what comes over it unread, the side with the
// larger one leaves it without an answer. So the connection that the larger one dialled stays, and no message is ever
// on the other. Owner of the context only.
#pragma once

#include "connection.hpp"
#include "peer.hpp"

#include <cinnabar/base/timer_of.hpp>

#include <vector>

namespace cinnabar::verbs {

class VerbsPort;

class Meetings {
  public:
    explicit Meetings(VerbsPort& port) noexcept;
    void close() noexcept;

    // Takes a request for a session, if it may be one that is being dialled from here.
    [[nodiscard]] bool take(Incoming& incoming);
    [[nodiscard]] bool holds(const Connection& connection) const noexcept;
    // It broke, or its dialler never showed up.
    void forget(const Connection& connection) noexcept;
    // The own dial reached `identity`: those who wait and are the same are superfluous. Others go on.
    void dial_succeeded(const na::Identity& identity);
    // The own dial was answered by `identity` with "we have met": gives `peer` the connection that was kept; false when
    // there is none.
    [[nodiscard]] bool met(VerbsPeer& peer, const na::Identity& identity);
    // A dial ended: whoever waited for that is let in.
    void dial_ended();

  private:
    struct Waiting {
        Incoming incoming;                 // not answered
        Connection* connection = nullptr;  // answered
        na::Identity who;
        SocketAddress host;
        TimeUs until = 0;
    };
    [[nodiscard]] bool may_be_dialled(const na::Identity& identity, const SocketAddress& host) const noexcept;
    template <typename Predicate>
    void let_in_if(Predicate predicate);
    static void time_out(Timer& timer) noexcept;

    VerbsPort& port_;
    std::vector<Waiting> waiting_;
    TimerOf<Meetings> alarm_;
};

}  // namespace cinnabar::verbs
