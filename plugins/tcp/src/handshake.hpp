// SPDX-License-Identifier: BSD-3-Clause
// Sockets whose Hello is not done: those that this side dials and those that came in. Owner of the context only.
#pragma once

#include "framing.hpp"
#include "greeting.hpp"

#include <cinnabar/na/session/greeting.hpp>

namespace cinnabar::tcp {

class TcpPeer;
class TcpPort;

// Into a socket that has sent nothing yet; false when it is gone.
[[nodiscard]] bool send_greeting(int fd, const Greeting& greeting) noexcept;

// One lane of a session in the making, towards one peer; tries the peer's candidates in turn. The outcome goes to
// TcpPort::dial_done or TcpPort::dial_failed.
class Dial final : public na::SocketDial {
  public:
    void start(TcpPort& port, TcpPeer& peer, Lane lane) noexcept;

    [[nodiscard]] Lane lane() const noexcept { return lane_; }
    [[nodiscard]] TcpPeer& peer() const noexcept { return *peer_; }

  private:
    [[nodiscard]] std::size_t greet(Bytes room) noexcept override;
    [[nodiscard]] Errc answered(UniqueFd& fd, ConstBytes answer) noexcept override;
    void failed(Errc why) noexcept override;
    void settle() noexcept override;

    TcpPort* port_ = nullptr;
    TcpPeer* peer_ = nullptr;
    na::SocketAddress first_lane_;  // a further lane goes where the first one went
    Lane lane_ = Lane::messages;
};

// A socket that was accepted and has not said who it is.
class Newcomer final : public na::SocketNewcomer {
  public:
    void start(TcpPort& port, UniqueFd fd) noexcept;

    ListLink<Newcomer> link;  // in the port's list, oldest first

  private:
    void greeted(UniqueFd& fd, ConstBytes greeting) noexcept override;
    void left() noexcept override;

    TcpPort* port_ = nullptr;
};

}  // namespace cinnabar::tcp
