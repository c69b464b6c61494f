// SPDX-License-Identifier: BSD-3-Clause
// Pending handshakes: dials and incoming connections. Both live in pools whose memory lives as long as the port,
// because epoll may report an event after the socket was closed; a closed object ignores the event. Owner of the
// context only.
#pragma once

#include "flags.hpp"
#include "transport.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::shm {

class ShmPeer;
class ShmPort;

class Dial final : public PoolSlot, public na::FdEvents {
  public:
    // Reports the outcome to ShmPort::dial_done or ShmPort::dial_failed, never inside this call.
    void start(ShmPort& port, ShmPeer& peer) noexcept;
    void abandon() noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

    [[nodiscard]] ShmPeer& peer() const noexcept { return *peer_; }

  private:
    [[nodiscard]] Errc start_connecting() noexcept;
    void continue_dial() noexcept;
    void fail(Errc why) noexcept;
    void unwatch() noexcept;
    void time_out() noexcept;

    ShmPort* port_ = nullptr;
    ShmPeer* peer_ = nullptr;  // null: this slot is free
    PeerFd fd_;
    Segment incoming_ring_;
    UniqueFd ring_fd_;
    OwnFlag flag_;
    bool watched_ = false;
    Errc failed_ = Errc::ok;  // start() failed; the timer reports it
    enum class Stage : std::uint8_t { connecting, greeted } stage_ = Stage::connecting;
    TimeUs until_ = 0;
    TimerOf<Dial> timer_;
};

// An incoming connection whose greeting has not arrived.
class IncomingHandshake final : public PoolSlot, public na::FdEvents {
  public:
    void start(ShmPort& port, UniqueFd fd) noexcept;
    void drop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

    ListLink<IncomingHandshake> link;  // oldest first

  private:
    void stop_watching() noexcept;

    ShmPort* port_ = nullptr;  // null: this slot is free
    PeerFd fd_;
    TimerOf<IncomingHandshake> timer_;
};

}  // namespace cinnabar::shm
