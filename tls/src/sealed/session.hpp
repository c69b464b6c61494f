// SPDX-License-Identifier: BSD-3-Clause
// A session over a peer of the transport below: a TLS handshake in its first messages, then greetings and all else in
// sealed messages. Messages are opened in the order in which they were sealed, each once. Sessions live in a pool whose
// memory lives as long as the port; an ended session keeps its slot until the transport below has returned its
// messages. Owner of the context only.
#pragma once

#include "sealed/access.hpp"
#include "sealed/frame.hpp"
#include "sealed/handshake_wire.hpp"
#include "sealed/outlet.hpp"
#include "sealed/peer.hpp"
#include "stream.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/message_guard.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::tls {

class SealedPort;
struct PendingProof;

class SealedSession final : public PoolSlot {
  public:
    SealedSession() noexcept;

    // This side dials: begins the handshake. Fails deferred.
    void dial(SealedPort& port, SealedPeer& peer) noexcept;
    // Accepts an incoming connection of the transport below. `pending`: its entry in SealedPort::pending().
    void accept(SealedPort& port, na::Peer& below, PendingProof& pending) noexcept;
    // Starts to pass messages on. Call when both sides have proven their identity and have greeted.
    void begin(SealedPeer& peer) noexcept;
    // Sends a sealed greeting. False: it cannot be sent now.
    [[nodiscard]] bool greet(na::HelloKind kind, const na::Hello& hello, std::uint64_t number) noexcept;
    // Completes, with `why`, the puts, gets and atomics that have begun, and disconnects the peer below.
    void end(Errc why) noexcept;
    // Ends the session, deferred: with its peer, or, before there is one, by itself.
    void fail(Errc why) noexcept;
    // Rejects an incoming connection: the session ends when its last messages have been sent, or when the time for a
    // handshake is over.
    void leave() noexcept;
    // Call when the port below is closed and has returned all messages.
    void abandon() noexcept;

    void arrived(ConstBytes message) noexcept;
    void returned(bool data, Errc result) noexcept;  // the transport below has returned a message of this session

    // Sends what is waiting, as far as there is room.
    void transmit() noexcept;
    // See na::Port::send_now.
    [[nodiscard]] bool send_now(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    void cancel(na::PostedOp& posted) noexcept { access_.cancel(posted); }

    [[nodiscard]] bool has_peer() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] SealedPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] na::Peer& below() const noexcept { return *below_; }
    [[nodiscard]] const na::StreamGuard* guard() const noexcept { return guard_.get(); }
    // Whether messages may be sent.
    [[nodiscard]] bool is_open() const noexcept { return stage_ == Stage::open && !peer_->ending(); }
    [[nodiscard]] SealedPort& port() const noexcept { return *port_; }
    [[nodiscard]] Outlet& outlet() noexcept { return outlet_; }
    [[nodiscard]] std::uint64_t dial_number() const noexcept { return dial_number_; }

    ListLink<SealedSession> output_link;   // in SealedPort::output()
    ListLink<SealedSession> guarded_link;  // in WithdrawnCredentials
    ListLink<SealedSession> leaving_link;  // in the port's list of rejected incoming connections
    bool blocked = false;                  // the transport below had no room

  private:
    enum class Stage : std::uint8_t {
        free,
        shaking,   // the TLS handshake
        greeting,  // after the handshake: waits for the sealed greeting of the other side
        open,
        leaving,   // rejected; the last messages are being sent
        draining,  // ended; the transport below still has messages of it
    };

    void start(SealedPort& port, na::Peer& below, const na::Peer& named) noexcept;
    void free_slot() noexcept;
    [[nodiscard]] bool live() const noexcept;

    // Handshake (session.cpp).
    void shake(ConstBytes bytes) noexcept;
    void after_handshake(ConstBytes bytes) noexcept;
    void proven() noexcept;
    [[nodiscard]] bool send_handshake() noexcept;

    // Output (session_send.cpp).
    [[nodiscard]] bool send_message(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    [[nodiscard]] bool send_messages() noexcept;
    [[nodiscard]] bool has_output() const noexcept;

    // Input (session_receive.cpp).
    void opened(ConstBytes message) noexcept;
    void take(const SealedHead& head, ConstBytes rest, void* block) noexcept;
    void take_message(const SealedHead& head, ConstBytes message, void* block) noexcept;

    void tell_of_silence() const noexcept;
    static void time_out(WheelTimer& timer) noexcept;

    SealedPort* port_ = nullptr;
    SealedPeer* peer_ = nullptr;       // null: an incoming connection that has not greeted, or ended
    na::Peer* below_ = nullptr;        // null: ended
    PendingProof* pending_ = nullptr;  // of an incoming connection that has not greeted
    LinkBelow link_;                   // of an incoming connection
    Stage stage_ = Stage::free;
    bool dialled_ = false;
    std::uint32_t late_records_ = 0;  // TLS messages after the handshake
    std::uint64_t dial_number_ = 0;
    std::uint64_t opened_ = 0;  // messages so far
    Outlet outlet_{*this};
    SealedAccess access_{*this};
    HandshakeWire wire_;                // must outlive guard_
    std::unique_ptr<TlsStream> guard_;  // must outlive seal_
    std::unique_ptr<na::MessageGuard> seal_;
    TimerOf<SealedSession> timer_;  // while a dial or a handshake is under way
};

}  // namespace cinnabar::tls
