// SPDX-License-Identifier: BSD-3-Clause
// Sockets that have not greeted: those that this side dials and those that came in. Owner of the context only.
#pragma once

#include "card.hpp"
#include "peer.hpp"

#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/na/session/greeting.hpp>

namespace cinnabar::ofi {

// A card into a socket that has sent nothing yet; false when it is gone.
[[nodiscard]] bool send_card(int fd, const Card& card) noexcept;

// A session in the making, towards one peer. The outcome goes to OfiPort::dial_done or OfiPort::dial_failed.
class Dial final : public na::SocketDial {
  public:
    // `session` is named in the card, so that the peer can answer on the fabric.
    void start(OfiPort& port, OfiPeer& peer, Session& session) noexcept;
    void give_up() noexcept;

    [[nodiscard]] OfiPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] Session& session() const noexcept { return *session_; }

  private:
    [[nodiscard]] std::size_t greet(Bytes room) noexcept override;
    [[nodiscard]] Errc answered(UniqueFd& fd, ConstBytes answer) noexcept override;
    void failed(Errc why) noexcept override;
    void settle() noexcept override;

    OfiPort* port_ = nullptr;
    OfiPeer* peer_ = nullptr;  // null: not in use
    Session* session_ = nullptr;
};

// A socket that was accepted and has not said who it is.
class Newcomer final : public na::SocketNewcomer {
  public:
    void start(OfiPort& port, UniqueFd fd) noexcept;

    ListLink<Newcomer> link;  // in the port's list, oldest first

  private:
    void greeted(UniqueFd& fd, ConstBytes greeting) noexcept override;
    void left() noexcept override;

    OfiPort* port_ = nullptr;
};

}  // namespace cinnabar::ofi
