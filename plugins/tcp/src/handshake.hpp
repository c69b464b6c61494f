// SPDX-License-Identifier: BSD-3-Clause
// Sockets whose Hello is not done: those that this side dials and those that came in. Both live in pools of the port
// whose memory stays (see Connection). Owner of the context only.
#pragma once

#include "address.hpp"
#include "framing.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/hello.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>

namespace cinnabar::tcp {

class TcpPeer;
class TcpPort;

// The 48 bytes as they come in.
class HelloReader {
  public:
    // again: not whole yet; ok: `out` is filled; protocol; peer_lost. Never reads past the Hello.
    [[nodiscard]] Errc read(int fd, na::Hello& out) noexcept;
    void reset() noexcept { have_ = 0; }

  private:
    std::array<std::byte, na::hello_bytes> bytes_{};
    std::uint8_t have_ = 0;
};

// 48 bytes into a socket that has sent nothing yet; false when it is gone.
[[nodiscard]] bool send_hello(int fd, const na::Hello& hello) noexcept;

// One lane of a session in the making, towards one peer; tries the peer's candidates in turn.
class Dial final : public PoolSlot, public na::FdEvents {
  public:
    // The outcome goes to TcpPort::dial_done or TcpPort::dial_failed, never from inside this call.
    // `separate`: a session beside one that exists is meant.
    void start(TcpPort& port, TcpPeer& peer, Lane lane, bool separate) noexcept;
    void abandon() noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

    [[nodiscard]] Lane lane() const noexcept { return lane_; }
    [[nodiscard]] TcpPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] bool separate() const noexcept { return separate_; }
    // Whether the address that is tried now is on that host.
    [[nodiscard]] bool towards(const SocketAddress& host) const noexcept { return target_.same_host(host); }

  private:
    void try_next(Errc why) noexcept;
    void connected() noexcept;
    void fail(Errc why) noexcept;
    [[nodiscard]] bool watch(std::uint32_t events, int how) noexcept;
    void unwatch() noexcept;
    static void time_out(Timer& timer) noexcept;

    TcpPort* port_ = nullptr;
    TcpPeer* peer_ = nullptr;  // null: not in use
    UniqueFd fd_;
    SocketAddress target_;
    std::size_t next_candidate_ = 0;
    Lane lane_ = Lane::messages;
    bool separate_ = false;
    bool connected_ = false;
    HelloReader reader_;
    TimerOf<Dial> timer_;
};

// A socket that was accepted and has not said who it is.
class Newcomer final : public PoolSlot, public na::FdEvents {
  public:
    void start(TcpPort& port, UniqueFd fd) noexcept;
    void drop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept override;

    ListLink<Newcomer> link;  // in the port's list, oldest first

  private:
    void stop_watching() noexcept;
    static void time_out(Timer& timer) noexcept;

    TcpPort* port_ = nullptr;  // null: not in use
    UniqueFd fd_;
    HelloReader reader_;
    TimerOf<Newcomer> timer_;
};

}  // namespace cinnabar::tcp
