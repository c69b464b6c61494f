// SPDX-License-Identifier: BSD-3-Clause
// The dialling side of a handshake over a socket. A dial is a slot in a pool of its port. The pools never free memory,
// so a late event of the kernel finds an object that ignores it. Owner of the context only.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/greeting.hpp>
#include <cinnabar/na/session/self_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/target_walk.hpp>

#include <span>

namespace cinnabar::na {

// One dial: connects to the first of several addresses that answers, establishes the guard (TLS) if the transport has
// one, sends the greeting, and reads the answer.
class CINNABAR_API SocketDial : public PoolSlot, public FdEvents {
  public:
    // Tries `targets`, then the addresses that `names` resolve to. The socket is bound to `source`, unless `source` is
    // null or has another address family. All arguments must live until the outcome; `self_dials` must live as long as
    // this object, because abandon() uses it. The outcome may be reported inside this call if the peer is known to be
    // unreachable. The timeout includes the look-up of names.
    void begin(PortHost& host, SelfDials& self_dials, std::span<const SocketAddress> targets,
               std::span<const Uri> names, const SocketAddress* source, std::size_t answer_bytes,
               Microseconds timeout) noexcept;
    // For failed(why): returns why the guard of the connection failed, in the form of Peer::lost_because. Null: the
    // guard did not fail with this code, or gave no reason.
    [[nodiscard]] const char* failed_because(Errc why) const noexcept {
        return why == guard_failed_ ? because_ : nullptr;
    }
    // Stops the dial without reporting an outcome.
    void abandon() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketDial() noexcept;
    ~SocketDial() = default;

  private:
    // Creates the guard of a new connection, if the transport has one.
    [[nodiscard]] virtual Errc protect(Stream& stream) noexcept = 0;
    // Writes the greeting to `room`; returns its size.
    [[nodiscard]] virtual std::size_t greet(Bytes room) noexcept = 0;
    // Called when the answer was received. ok: the callee has taken the socket and called abandon(). Any other result:
    // the other side is no Cinnabar peer, and the next address is tried.
    [[nodiscard]] virtual Errc answered(Stream& stream, ConstBytes answer) noexcept = 0;
    // Called when no address has answered. The callee calls abandon().
    virtual void failed(Errc why) noexcept = 0;
    // Called after each of the three functions above, at the end of the event: the port may run what it deferred.
    virtual void settle() noexcept = 0;

    void try_next(Errc why) noexcept;
    static void names_answered(void* self, Errc why) noexcept;
    void connected() noexcept;
    void establish() noexcept;
    void greet_now() noexcept;
    void answer_is_there() noexcept;
    void unwatch() noexcept;
    void time_out() noexcept;

    PortHost* host_ = nullptr;  // null: this slot is free
    TargetWalk targets_{&SocketDial::names_answered, this};
    const SocketAddress* source_ = nullptr;
    std::size_t answer_bytes_ = 0;
    Stream stream_;
    std::uint32_t watched_ = 0;  // epoll events that its socket is watched for
    SelfDials* self_dials_ = nullptr;
    SocketAddress local_;  // the socket's own address, once connected
    SocketAddress remote_;
    bool connected_ = false;
    bool greeted_ = false;
    Errc guard_failed_ = Errc::ok;  // the error code of the last guard that gave a reason
    const char* because_ = nullptr;
    GreetingReader reader_;
    TimerOf<SocketDial> timer_;
};

}  // namespace cinnabar::na
