// SPDX-License-Identifier: BSD-3-Clause
// The socket of one lane of a session: what both lanes share. It lives in a pool of its port whose memory stays, so
// that an event which the kernel gave out before the socket was closed finds a closed object, which does nothing.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::tcp {

class TcpPeer;
class TcpPort;

class Connection : public PoolSlot, public na::FdEvents {
  public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] TcpPeer& peer() const noexcept { return *peer_; }

    void on_ready(std::uint32_t epoll_events) noexcept final;

    // Reads what is there, within a bound, and hands it out; returns how much it did.
    virtual unsigned receive() noexcept = 0;
    // Writes what waits, within a bound. Afterwards the connection is dirty again, blocked, or has nothing to send.
    // Requires: it is in no list of the port's.
    virtual void transmit() noexcept = 0;

    // Looked at and written before those that move much at a time.
    [[nodiscard]] virtual bool urgent() const noexcept = 0;

    // Whether the kernel tells when there is room to write.
    void watch_room(bool wanted) noexcept;

    // The port's books.
    ListLink<Connection> output_link;  // in the port's dirty or blocked list
    bool blocked = false;              // in the latter: the kernel had no room at the last write
    bool hot = false;                  // in the port's hot list
    std::uint16_t misses = 0;          // reads in a row that found nothing, while hot

  protected:
    ~Connection() = default;
    // False when the kernel refuses to watch it.
    [[nodiscard]] bool open(TcpPort& port, TcpPeer& peer, UniqueFd fd) noexcept;
    void close() noexcept;
    [[nodiscard]] TcpPort& port() const noexcept { return *port_; }
    // A read or write failed, or the bytes made no sense: the session ends once the stack has unwound.
    void fail(Errc why) noexcept;

  private:
    UniqueFd fd_;
    TcpPort* port_ = nullptr;
    TcpPeer* peer_ = nullptr;  // null: not open
    bool watching_room_ = false;
};

}  // namespace cinnabar::tcp
