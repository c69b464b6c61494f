// SPDX-License-Identifier: BSD-3-Clause
// What one local context knows of one remote context. Made by the port at the first use of an address or when a
// connection comes in; it outlives connections: after a loss the next operation dials again. Owner of the context only.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/types.hpp>

#include <cstdint>

namespace cinnabar::na {

class Port;

enum class PeerState : std::uint8_t { idle, connecting, connected };

enum class PeerEvent : std::uint8_t {
    connected,  // the Hello is done: limits and features are known
    lost,       // once per connection, and once per dial that failed; every op that waited on the peer has completed or
                // is about to
    restarted,  // a new incarnation answered at the same address; follows `lost`, precedes `connected`
};

class Peer {
  public:
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;

    [[nodiscard]] const Addr& addr() const noexcept { return addr_; }
    [[nodiscard]] Port& port() const noexcept { return *port_; }
    [[nodiscard]] PeerState state() const noexcept { return state_; }
    // Of the process behind the last connection; 0 before the first.
    [[nodiscard]] Incarnation incarnation() const noexcept { return incarnation_; }
    // The smaller limit of both sides once connected; the own limit before.
    [[nodiscard]] std::uint32_t message_bytes_max() const noexcept { return message_bytes_max_; }
    // What the peer announced in its Hello: how many unexpected messages may be sent before it grants more.
    [[nodiscard]] std::uint32_t initial_credits() const noexcept { return initial_credits_; }
    // How many connections there have been: tells the upper layer that its books of an older one are void.
    [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }

    // A place for the layer above, null at first. It must be cleared before the last reference goes.
    void* upper = nullptr;

    // Ops in flight, connections and the layer above hold references; at zero the port may forget the peer.
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
};

}  // namespace cinnabar::na
