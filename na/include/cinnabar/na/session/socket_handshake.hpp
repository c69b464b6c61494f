// SPDX-License-Identifier: BSD-3-Clause
// The accepting side of a handshake over a socket. A handshake is a slot in a pool of its port (PendingHandshakes). The
// pools never free memory, so a late event of the kernel finds an object that ignores it. Owner of the context only.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/greeting.hpp>

namespace cinnabar::na {

// An incoming connection whose greeting has not arrived yet. The connection is dropped unless the guard (TLS) is
// established and the greeting is complete within the timeout.
class CINNABAR_API SocketHandshake : public PoolSlot, public FdEvents {
  public:
    void begin(PortHost& host, UniqueFd fd, std::size_t greeting_bytes, Microseconds timeout) noexcept;
    // Closes the socket and calls left().
    void drop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketHandshake() noexcept;
    ~SocketHandshake() = default;

  private:
    // Creates the guard of the connection, if the transport has one.
    [[nodiscard]] virtual Errc protect(Stream& stream) noexcept = 0;
    // Called when the greeting was received, after left(). The socket is closed unless the callee takes it.
    virtual void greeted(Stream& stream, ConstBytes greeting) noexcept = 0;
    // Called when the handshake is over; this object may then be reused.
    virtual void left() noexcept = 0;

    [[nodiscard]] Errc read() noexcept;
    void stop_watching() noexcept;

    PortHost* host_ = nullptr;  // null: this slot is free
    Stream stream_;
    std::uint32_t watched_ = 0;  // epoll events that its socket is watched for
    bool established_ = false;   // the guard is established, or there is none: the greeting can be read
    GreetingReader reader_;
    TimerOf<SocketHandshake> timer_;
};

}  // namespace cinnabar::na
