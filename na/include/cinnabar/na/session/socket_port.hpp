// SPDX-License-Identifier: BSD-3-Clause
// The base of ports that connect over sockets. A SocketPort has the listening socket, pending handshakes, connections
// that another context accepted for this one, and receive blocks. Owner of the context only, except the inbox.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/log.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/dial_targets.hpp>
#include <cinnabar/na/session/inbox.hpp>
#include <cinnabar/na/session/pending_handshakes.hpp>
#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/session/reflected_dial.hpp>
#include <cinnabar/na/session/session_port.hpp>
#include <cinnabar/na/session/socket_dial.hpp>
#include <cinnabar/na/session/socket_handshake.hpp>
#include <cinnabar/na/session/stream_guards.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::na {

// `Connection`, an incoming connection, has a `stream` and a `greeting` with a `hello`. `Own` has accept(Connection),
// reject(Connection&, Errc), and transport(), whose ports() returns a PortTable. Where connections begin with an
// IncomingHandshake or OutgoingHandshake, transport() also has guards(), which returns a StreamGuards or null.
template <typename Own, typename Handshake, typename Connection>
class SocketPort : public SessionPort {
  public:
    using Incoming = Connection;

    // Overrides of na::Port.
    [[nodiscard]] Errc keep(Arrival& arrival, Kept& out) noexcept final {
        if (blocks_.full()) blocks_.allow(receive_slots_for(own().transport().limits(), session_count()));
        return blocks_.keep(arrival, *this, out);
    }
    [[nodiscard]] Errc detach(Kept& kept) noexcept final { return blocks_.detach(kept, closed()); }
    void release(Kept& kept) noexcept final {
        CINNABAR_ASSERT(kept.port == this);
        blocks_.release(kept);
    }

    [[nodiscard]] ReceiveBlocks& blocks() noexcept { return blocks_; }
    [[nodiscard]] Inbox<Incoming>& inbox() noexcept { return inbox_; }
    [[nodiscard]] PendingHandshakes<Own, Handshake>& handshakes() noexcept { return handshakes_; }

    // Whether connections may be accepted now. A port that cannot always accept hides this function with its own.
    [[nodiscard]] bool may_accept() const noexcept { return true; }
    // protect_accepted() and protect_dialled() create the guard of a new connection, if the transport protects its
    // connections. IncomingHandshake and OutgoingHandshake call them.
    [[nodiscard]] Errc protect_accepted(Stream& stream) noexcept {
        const StreamGuards* const guards = own().transport().guards();
        return guards ? guards->protect_accepted(stream) : Errc::ok;
    }
    [[nodiscard]] Errc protect_dialled(Stream& stream, const SocketPeer& peer) noexcept {
        const StreamGuards* const guards = own().transport().guards();
        return guards ? guards->protect_dialled(stream, peer.addr()) : Errc::ok;
    }
    // These functions are for an incoming connection that has a stream and a greeting. is_self_dial(): whether this
    // process dialled the connection. is_reflected(): whether the connection is a dial of this process that an attacker
    // has led back to this process; such a dial is logged, and the connection must be rejected (permission).
    // sender_addr(): returns the address of the new peer, and may throw bad_alloc.
    [[nodiscard]] bool is_self_dial(const Incoming& incoming) noexcept {
        return own().transport().self_dials().has(incoming.stream.fd());
    }
    [[nodiscard]] bool is_reflected(const Incoming& incoming, bool self_dial) noexcept {
        const Transport& transport = own().transport();
        const bool is = !self_dial &&
                        na::is_reflected(incoming.greeting.hello, incoming.stream.identity(), transport.incarnation());
        if (is) log_reflected(transport.scheme(), incoming.stream.fd());
        return is;
    }
    [[nodiscard]] Addr sender_addr(const Incoming& incoming, bool self_dial) {
        const Identity sender = sender_of(incoming.greeting.hello);
        const std::string_view scheme = own().transport().scheme();
        const ProvenIdentity* const proven = incoming.stream.identity();
        return Addr::of_connection(scheme, host().context_id(), sender.context, sender.incarnation, self_dial,
                                   SocketAddress::peer_of(incoming.stream.fd()).endpoint(scheme), {},
                                   proven ? std::optional<ProvenIdentity>(*proven) : std::nullopt);
    }

    // Call when the greeting of an incoming connection was received. Passes the connection to the context that it asks
    // for. Rejects the connection if `wrong` is not ok, or if that context cannot take it.
    void greeted(Incoming incoming, Errc wrong) noexcept {
        auto& ports = own().transport().ports();
        if (wrong == Errc::ok) ports.choose(incoming.greeting.hello);
        if (wrong == Errc::ok && incoming.greeting.hello.peer_context == host().context_id()) {
            own().accept(std::move(incoming));
        } else {
            const Errc refused = wrong == Errc::ok ? ports.hand_over(incoming) : wrong;
            if (refused != Errc::ok) own().reject(incoming, refused);
        }
        (void)settle();
    }

  protected:
    SocketPort(Own& own, Transport& transport, const TransportOptions& options, PortHost& host,
               std::size_t frame_bytes_max)
        : SessionPort(transport, options, host),
          blocks_(frame_bytes_max, options.receive_slots),
          handshakes_(own, host, transport.scheme().data()) {}

    unsigned take_inbox() noexcept {
        return inbox_.take_each([this](Incoming incoming) { own().accept(std::move(incoming)); });
    }
    // Ends a dial, if there is one, and returns it to its pool.
    template <typename Dial>
    static void drop_dial(SlotPool<Dial>& dials, Dial*& dial) noexcept {
        if (!dial) return;
        dial->abandon();
        dials.release(*std::exchange(dial, nullptr));
    }
    // Whether poll() has something to do.
    [[nodiscard]] bool has_deferred_work() const noexcept { return anything_deferred() || !inbox_.empty(); }

    ReceiveBlocks blocks_;
    PendingHandshakes<Own, Handshake> handshakes_;

  private:
    [[nodiscard]] Own& own() noexcept { return static_cast<Own&>(*this); }

    Inbox<Incoming> inbox_;
};

// An incoming connection whose greeting has a fixed size.
template <typename OwnPort>
class IncomingHandshake final : public SocketHandshake {
  public:
    void start(OwnPort& port, UniqueFd fd) noexcept {
        port_ = &port;
        begin(port.host(), std::move(fd), decltype(OwnPort::Incoming::greeting)::wire_bytes,
              port.options().hello_timeout);
    }

    ListLink<IncomingHandshake> link;  // oldest first

  private:
    [[nodiscard]] Errc protect(Stream& stream) noexcept override { return port_->protect_accepted(stream); }
    void greeted(Stream& stream, ConstBytes bytes) noexcept override {
        typename OwnPort::Incoming incoming;
        const Errc wrong = incoming.greeting.decode(bytes, incoming.greeting);
        if (wrong == Errc::protocol) {
            static constinit LogLimit lines;
            const std::string_view scheme = port_->transport().scheme();
            const std::string peer = SocketAddress::peer_of(stream.fd()).log_name("tcp");
            return log_limited(lines, LogLevel::info, LogModule::named(family_of(scheme)),
                               {peer_field(peer), transport_field(scheme), error_field(wrong)},
                               "%s is not a Cinnabar peer: dropped", peer.c_str());
        }
        incoming.stream = std::move(stream);
        port_->greeted(std::move(incoming), wrong);
    }
    void left() noexcept override { port_->handshakes().left(*this); }

    OwnPort* port_ = nullptr;
};

// A dial of this port. It sends OwnPort::dial_greeting(*this), and ends with a call of OwnPort::dial_done or
// dial_failed. `Purpose` is private to the transport.
template <typename OwnPort, typename OwnPeer, typename Purpose>
class OutgoingHandshake final : public SocketDial {
  public:
    // The targets must live until the outcome.
    void start(OwnPort& port, OwnPeer& peer, Purpose purpose, std::span<const SocketAddress> targets,
               std::span<const Uri> names) noexcept {
        port_ = &port;
        peer_ = &peer;
        purpose_ = purpose;
        begin(port.host(), port.transport().self_dials(), targets, names, port.transport().source(),
              decltype(OwnPort::Incoming::greeting)::wire_bytes, port.options().connect_timeout);
    }

    [[nodiscard]] OwnPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] Purpose purpose() const noexcept { return purpose_; }

  private:
    [[nodiscard]] Errc protect(Stream& stream) noexcept override { return port_->protect_dialled(stream, *peer_); }
    [[nodiscard]] std::size_t greet(Bytes room) noexcept override {
        const auto bytes = port_->dial_greeting(*this).encode();
        std::copy(bytes.begin(), bytes.end(), room.begin());
        return bytes.size();
    }
    [[nodiscard]] Errc answered(Stream& stream, ConstBytes answer) noexcept override {
        typename OwnPort::Incoming answered;
        const Errc wrong = answered.greeting.decode(answer, answered.greeting);
        answered.stream = std::move(stream);
        if (wrong == Errc::ok) port_->dial_done(*this, std::move(answered));
        return wrong;
    }
    void failed(Errc why) noexcept override { port_->dial_failed(*this, why); }
    void settle() noexcept override { (void)port_->settle(); }

    OwnPort* port_ = nullptr;
    OwnPeer* peer_ = nullptr;
    Purpose purpose_{};
};

}  // namespace cinnabar::na
