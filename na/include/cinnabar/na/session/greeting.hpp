// SPDX-License-Identifier: BSD-3-Clause
// Sockets on which both sides send a greeting of a fixed size before anything else: dials and incoming connections.
// Both live in pools of their port whose memory stays, so that a late event of the kernel finds an object that does
// nothing. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/own_dials.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/session/target_walk.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>
#include <span>

namespace cinnabar::na {

// Of either side, at most.
inline constexpr std::size_t greeting_bytes_max = 512;

// Collects a greeting.
class CINNABAR_API GreetingReader {
  public:
    void expect(std::size_t bytes) noexcept;
    // again: not whole yet; ok: bytes() are all there; peer_lost, or why Stream::receive fails. Never reads past them.
    [[nodiscard]] Errc read(Stream& stream) noexcept;
    [[nodiscard]] ConstBytes bytes() const noexcept { return {bytes_.data(), have_}; }

  private:
    std::array<std::byte, greeting_bytes_max> bytes_;
    std::size_t have_ = 0;
    std::size_t need_ = 0;
};

// A greeting into a socket that has sent nothing yet; false when it is gone.
[[nodiscard]] CINNABAR_API bool send_greeting(Stream& stream, ConstBytes greeting) noexcept;

// Connects to the first of several addresses that answers, has the connection protected where the transport does that,
// greets, and reads the answer.
class CINNABAR_API SocketDial : public PoolSlot, public FdEvents {
  public:
    // The addresses, and then those that the names turn out to stand for. All of it and `source` (bound first where the
    // families agree; may be null) live until the outcome, which may come from inside this call when it is known at
    // once that the peer cannot be reached. `own` lives longer. The timeout covers the look-up of the names.
    void begin(PortHost& host, OwnDials& own, std::span<const SocketAddress> targets, std::span<const Uri> names,
               const SocketAddress* source, std::size_t answer_bytes, Microseconds timeout) noexcept;
    // Ends it without an outcome.
    void abandon() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketDial() noexcept;
    ~SocketDial() = default;

  private:
    // Gives a new connection its guard, if it has any.
    [[nodiscard]] virtual Errc protect(Stream& stream) noexcept = 0;
    // Writes the greeting; returns its size.
    [[nodiscard]] virtual std::size_t greet(Bytes room) noexcept = 0;
    // ok: it took the socket, and has abandoned this. Else this is not a Cinnabar peer, and the next address is tried.
    [[nodiscard]] virtual Errc answered(Stream& stream, ConstBytes answer) noexcept = 0;
    // No address answered. It abandons this.
    virtual void failed(Errc why) noexcept = 0;
    // The stack has unwound. Called after each of the last three.
    virtual void settle() noexcept = 0;

    void try_next(Errc why) noexcept;
    static void names_answered(void* self, Errc why) noexcept;
    void connected() noexcept;
    void establish() noexcept;
    void greet_now() noexcept;
    void answer_is_there() noexcept;
    void unwatch() noexcept;
    static void time_out(Timer& timer) noexcept;

    PortHost* host_ = nullptr;  // null: not in use
    TargetWalk targets_{&SocketDial::names_answered, this};
    const SocketAddress* source_ = nullptr;
    std::size_t answer_bytes_ = 0;
    Stream stream_;
    std::uint32_t watched_ = 0;  // epoll events of its socket
    OwnDials* own_ = nullptr;
    SocketAddress local_;  // of the socket, once it is connected
    SocketAddress remote_;
    bool connected_ = false;
    bool greeted_ = false;
    GreetingReader reader_;
    TimerOf<SocketDial> timer_;
};

// An incoming connection that has not greeted.
class CINNABAR_API SocketHandshake : public PoolSlot, public FdEvents {
  public:
    void begin(PortHost& host, UniqueFd fd, std::size_t greeting_bytes, Microseconds timeout) noexcept;
    // Closes the socket. Ends in left().
    void drop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketHandshake() noexcept;
    ~SocketHandshake() = default;

  private:
    // Gives the connection its guard, if it has any.
    [[nodiscard]] virtual Errc protect(Stream& stream) noexcept = 0;
    // It greeted; called after left(). The socket is closed unless it is taken.
    virtual void greeted(Stream& stream, ConstBytes greeting) noexcept = 0;
    // It is not in use any more.
    virtual void left() noexcept = 0;

    [[nodiscard]] Errc read() noexcept;
    void stop_watching() noexcept;
    static void time_out(Timer& timer) noexcept;

    PortHost* host_ = nullptr;  // null: not in use
    Stream stream_;
    std::uint32_t watched_ = 0;  // epoll events of its socket
    bool established_ = false;   // greetings may come
    GreetingReader reader_;
    TimerOf<SocketHandshake> timer_;
};

}  // namespace cinnabar::na
