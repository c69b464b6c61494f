// SPDX-License-Identifier: BSD-3-Clause
// Sockets on which both sides say a fixed number of bytes before anything else: those that this side dials and those
// that came in. Both live in pools of their port whose memory stays, so that a late event of the kernel finds an object
// that does nothing. Owner of the context only.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/own_dials.hpp>
#include <cinnabar/na/session/resolver.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/transport.hpp>

#include <array>
#include <span>
#include <vector>

namespace cinnabar::na {

// What either side says at most.
inline constexpr std::size_t greeting_bytes_max = 512;

// The bytes as they come in.
class CINNABAR_API GreetingReader {
  public:
    void expect(std::size_t bytes) noexcept;
    // again: not whole yet; ok: bytes() are all there; peer_lost. Never reads past them.
    [[nodiscard]] Errc read(int fd) noexcept;
    [[nodiscard]] ConstBytes bytes() const noexcept { return {bytes_.data(), have_}; }

  private:
    std::array<std::byte, greeting_bytes_max> bytes_;
    std::size_t have_ = 0;
    std::size_t need_ = 0;
};

// A greeting into a socket that has sent nothing yet; false when it is gone.
[[nodiscard]] CINNABAR_API bool send_greeting(int fd, ConstBytes greeting) noexcept;

// Connects to the first of several places that answers, greets, and reads the answer.
class CINNABAR_API SocketDial : public PoolSlot, public FdEvents {
  public:
    // The places, and then those that the names turn out to stand for. All of it and `source` (bound first where the
    // families agree; may be null) live until the outcome, which may come from inside this call when it is known at
    // once that there is no way. `own` lives longer. The timeout covers the look-up of the names.
    void begin(PortHost& host, OwnDials& own, std::span<const SocketAddress> places, std::span<const Uri> names,
               const SocketAddress* source, std::size_t answer_bytes, Microseconds timeout) noexcept;
    // Ends it without an outcome.
    void abandon() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketDial() noexcept;
    ~SocketDial() = default;

  private:
    // Writes what to say first; returns how much.
    [[nodiscard]] virtual std::size_t greet(Bytes room) noexcept = 0;
    // ok: it took the socket, and has abandoned this. Else whoever answers is not one of us, and the next is tried.
    [[nodiscard]] virtual Errc answered(UniqueFd& fd, ConstBytes answer) noexcept = 0;
    // Nobody answered. It abandons this.
    virtual void failed(Errc why) noexcept = 0;
    // The stack has unwound. Called after each of them.
    virtual void settle() noexcept = 0;

    void try_next(Errc why) noexcept;
    // The outcome, or, as long as there are names to look up, `again`.
    [[nodiscard]] Errc look_names_up(Errc why) noexcept;
    static void names_answered(NameQuestion& question, Errc why, std::vector<SocketAddress> found) noexcept;
    void connected() noexcept;
    void answer_is_there() noexcept;
    [[nodiscard]] bool watch(std::uint32_t events, int how) noexcept;
    void unwatch() noexcept;
    static void time_out(Timer& timer) noexcept;

    PortHost* host_ = nullptr;  // null: not in use
    std::span<const SocketAddress> places_;
    std::span<const Uri> names_;  // not looked up yet
    NameQuestion question_;
    std::vector<SocketAddress> found_;  // what they stand for
    const SocketAddress* source_ = nullptr;
    std::size_t answer_bytes_ = 0;
    UniqueFd fd_;
    OwnDials* own_ = nullptr;
    SocketAddress local_;  // of fd_, once it is connected
    SocketAddress remote_;
    std::size_t next_place_ = 0;
    bool connected_ = false;
    GreetingReader reader_;
    TimerOf<SocketDial> timer_;
};

// A socket that was accepted and has not said who it is.
class CINNABAR_API SocketNewcomer : public PoolSlot, public FdEvents {
  public:
    void begin(PortHost& host, UniqueFd fd, std::size_t greeting_bytes, Microseconds timeout) noexcept;
    // Closes the socket. Ends in left().
    void drop() noexcept;
    void on_ready(std::uint32_t epoll_events) noexcept final;

  protected:
    SocketNewcomer() noexcept;
    ~SocketNewcomer() = default;

  private:
    // It greeted; called after left(). The socket is closed unless it is taken.
    virtual void greeted(UniqueFd& fd, ConstBytes greeting) noexcept = 0;
    // It is not in use any more.
    virtual void left() noexcept = 0;

    void stop_watching() noexcept;
    static void time_out(Timer& timer) noexcept;

    PortHost* host_ = nullptr;  // null: not in use
    UniqueFd fd_;
    GreetingReader reader_;
    TimerOf<SocketNewcomer> timer_;
};

}  // namespace cinnabar::na
