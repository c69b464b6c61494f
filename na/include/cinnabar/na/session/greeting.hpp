// SPDX-License-Identifier: BSD-3-Clause
// Handshakes over sockets on which each side first sends a greeting of a fixed size: the dialling side (SocketDial) and
// the accepting side (SocketHandshake). Both are slots in pools of their port. The pools never free memory, so a late
// event of the kernel finds an object that ignores it. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/self_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/session/target_walk.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>
#include <span>

namespace cinnabar::na {

// The largest greeting of any transport.
inline constexpr std::size_t greeting_bytes_max = 512;

// Collects the bytes of a greeting.
class CINNABAR_API GreetingReader {
  public:
    void expect(std::size_t bytes) noexcept;
    // again: not complete yet; ok: bytes() is complete; peer_lost, or an error of Stream::receive. Never reads beyond
    // the greeting.
    [[nodiscard]] Errc read(Stream& stream) noexcept;
    [[nodiscard]] ConstBytes bytes() const noexcept { return {bytes_.data(), have_}; }

  private:
    std::array<std::byte, greeting_bytes_max> bytes_;
    std::size_t have_ = 0;
    std::size_t need_ = 0;
};

// Sends a greeting as the first bytes of a socket; false: the connection is gone.
[[nodiscard]] CINNABAR_API bool send_greeting(Stream& stream, ConstBytes greeting) noexcept;

// Dials: connects to the first of several addresses that answers, establishes the guard (TLS) if the transport has one,
// sends the greeting, and reads the answer.
class CINNABAR_API SocketDial : public PoolSlot, public FdEvents {
  public:
    // Tries `targets`, then the addresses that `names` resolve to. `source` may be null; the socket is bound to it if
    // the families agree. All arguments must live until the outcome; `self_dials` must live as long as this object,
    // because abandon() uses it. The outcome may be reported inside this call if the peer is known to be unreachable.
    // The timeout includes the look-up of names.
    void begin(PortHost& host, SelfDials& self_dials, std::span<const SocketAddress> targets,
               std::span<const Uri> names, const SocketAddress* source, std::size_t answer_bytes,
               Microseconds timeout) noexcept;
    // For failed(why): why the guard of the connection failed, in the form of Peer::lost_because. Null: it was not the
    // guard that failed with this code, or the guard gave no reason.
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

// An incoming connection whose greeting has not arrived yet.
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
