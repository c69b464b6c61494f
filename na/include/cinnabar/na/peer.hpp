// SPDX-License-Identifier: BSD-3-Clause
// What one local context knows of one remote context. The port makes a peer when an address is first used or a
// connection is accepted. A peer outlives its connections: after a loss, the next operation dials again. Owner of the
// context only.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/types.hpp>

#include <cstdint>

namespace cinnabar::na {

class Port;

enum class PeerState : std::uint8_t { idle, connecting, connected };

enum class PeerEvent : std::uint8_t {
    connected,  // the Hello was received: limits and features are known
    // Reported once per lost connection and once per failed dial. All ops that waited for the peer have completed or
    // will complete soon.
    lost,
    restarted,  // a new incarnation answered at the same address; comes between `lost` and `connected`
};

class Peer {
  public:
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    [[nodiscard]] const Addr& addr() const noexcept { return addr_; }
    [[nodiscard]] Port& port() const noexcept { return *port_; }
    [[nodiscard]] PeerState state() const noexcept { return state_; }
    // The incarnation seen by the last connection; 0 before the first.
    [[nodiscard]] Incarnation incarnation() const noexcept { return incarnation_; }
    // The smaller limit of both sides once connected; this side's limit before.
    [[nodiscard]] std::uint32_t message_bytes_max() const noexcept { return message_bytes_max_; }
    // From the peer's Hello: unexpected messages that may be sent before the peer grants more credits.
    [[nodiscard]] std::uint32_t initial_credits() const noexcept { return initial_credits_; }
    // The number of connections so far. A change tells the upper layer that its state of an older connection is void.
    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
    // Whether the kernel reports that the process at the other side of the present connection has the same user as this
    // process. False without a connection, and over every transport but shm.
    [[nodiscard]] bool of_own_user() const noexcept { return of_own_user_; }
    // Why the last dial or connection failed, if the transport knows more than the error code: the predicate of a
    // sentence about the peer, such as "does not speak TLS 1.3". Static storage, at most 200 characters. Null: the
    // transport knows no more, or has begun another dial since.
    [[nodiscard]] const char* lost_because() const noexcept { return lost_because_; }

    // For the layer above, which must clear it before the last reference is released.
    void* upper = nullptr;

    // Held by ops in flight, connections and the layer above; without references the port may destroy the peer.
    void acquire() noexcept { ++references_; }
    void release() noexcept;
    [[nodiscard]] std::uint32_t references() const noexcept { return references_; }

  protected:
    Peer(Port& port, Addr addr) noexcept : addr_(std::move(addr)), port_(&port) {}
    ~Peer() = default;

    // Set by the port.
    Addr addr_;
    Port* port_;
    Incarnation incarnation_ = 0;
    std::uint32_t message_bytes_max_ = 0;
    std::uint32_t initial_credits_ = 0;
    std::uint32_t epoch_ = 0;
    std::uint32_t references_ = 0;
    PeerState state_ = PeerState::idle;
    bool of_own_user_ = false;
    const char* lost_because_ = nullptr;
};

}  // namespace cinnabar::na
