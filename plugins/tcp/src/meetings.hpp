// SPDX-License-Identifier: BSD-3-Clause
// Two contexts that dial each other at once end with one session. A socket that came in while this side dials the same
// host may be the same pair, which only the answer to the own dial can tell. Until then (and for a bounded time) the
// newcomer is kept here: the side with the smaller identity accepts it and leaves it unread, the side with the larger
// one leaves it without an answer. So the connection that the larger one dialled stays, and no message is ever on the
// other. docs/wire-format-tcp.md, "Simultaneous connects". Owner of the context only.
#pragma once

#include "peer.hpp"

#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/session/socket_address.hpp>

#include <vector>

namespace cinnabar::tcp {

class TcpPort;

class Meetings {
  public:
    explicit Meetings(TcpPort& port) noexcept;
    void close() noexcept;

    // Takes a newcomer that asks for a session, if it may be one that is being dialled from here.
    [[nodiscard]] bool take(UniqueFd& fd, const na::Hello& hello, std::uint32_t token);
    // The own dial to `peer` reached `identity`: those who wait and are the same are superfluous. Others go on.
    void dial_succeeded(const Identity& identity);
    // The own dial was answered by `identity` with "we have met": gives `peer` the session that was kept; false when
    // there is none.
    [[nodiscard]] bool met(TcpPeer& peer, const Identity& identity);
    // A dial ended: whoever waited for that is let in.
    void dial_ended();

  private:
    struct Waiting {
        UniqueFd fd;
        na::Hello hello;
        SocketAddress host;
        std::uint32_t token = 0;
        bool accepted = false;
        TimeUs until = 0;
    };
    [[nodiscard]] bool may_be_dialled(const Identity& identity, const SocketAddress& host) const noexcept;
    template <typename Predicate>
    void let_in_if(Predicate predicate);
    static void time_out(Timer& timer) noexcept;

    TcpPort& port_;
    std::vector<Waiting> waiting_;
    TimerOf<Meetings> alarm_;
};

}  // namespace cinnabar::tcp
