// SPDX-License-Identifier: BSD-3-Clause
// The books of all peers of a context: opened when a peer is connected, closed when the connection is lost, released
// when idle. Owner of the context only.
#pragma once

#include "context_base.hpp"
#include "peer_book.hpp"

#include <cinnabar/base/callback_slot.hpp>

#include <algorithm>
#include <cstdint>

namespace cinnabar::rpc {

class CallFences;
class Control;
class CreditPool;
class Fences;
class LargeValues;
class Origin;
class Replies;
class SendQueue;
class Serving;
class Target;

class Peers {
  public:
    // The parts that must know of the beginning and the end of a connection.
    struct Parts {
        Origin& origin;
        CallFences& call_fences;
        SendQueue& queue;
        Replies& replies;
        Target& target;
        Serving& serving;
        CreditPool& credits;
        Control& control;
        LargeValues& large_values;
        Fences& fences;
    };
    Peers(ContextBase& base, const Parts& parts) noexcept;

    // Sets the number of connections that the transports can have.
    void limit(std::uint32_t connections) noexcept { connections_max_ = std::min(connections_max_, connections); }
    [[nodiscard]] std::uint32_t connections() const noexcept { return connections_; }

    // Null: out of memory.
    [[nodiscard]] PeerBook* book_of(na::Peer& peer) noexcept {
        return peer.upper ? static_cast<PeerBook*>(peer.upper) : make(peer);
    }
    void open(PeerBook& book) noexcept;
    void drop_if_idle(PeerBook& book) noexcept {
        if (!book.open) drop_closed_if_idle(book);
    }
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept;
    void set_listener(Context::PeerFunction function, void* user) noexcept;  // any thread
    // Ends calls and orphans requests when the connection was lost, or could not be made (lost_connection.cpp).
    void close(PeerBook& book, Errc why) noexcept;
    // When the context is closed: stop() disarms the timers of all books, and release_all() releases the books.
    void stop() noexcept;
    void release_all() noexcept;

    // Eviction of unused connections (evict_idle.cpp). ask_to_leave(): as Context::ask_to_leave.
    void ask_to_leave(na::Peer& peer, Microseconds quiet) noexcept;
    void asked_to_leave(PeerBook& book) noexcept;
    void stays(PeerBook& book) noexcept;

    // Heartbeats (heartbeat.cpp).
    void watch(PeerBook& book) noexcept;

    // For debug builds: checks that the running totals equal the sums over the books.
    [[nodiscard]] bool add_up() noexcept;

    SlotPool<PeerBook> books;

  private:
    [[nodiscard]] PeerBook* make(na::Peer& peer) noexcept;
    [[gnu::noinline]] void drop_closed_if_idle(PeerBook& book) noexcept;
    void drop(PeerBook& book) noexcept;
    template <typename Visit>
    void each_call(PeerBook& book, Visit visit) noexcept;
    void note_waits(PeerBook& book) noexcept;
    void orphan_requests(PeerBook& book) noexcept;
    void end_orphans(PeerBook& book) noexcept;
    void make_room() noexcept;
    void ask(PeerBook& book) noexcept;
    void beat(PeerBook& book) noexcept;
    [[nodiscard]] bool account_adds_up(const PeerBook& book) const noexcept;

    ContextBase& base_;
    const Parts parts_;
    std::uint32_t connections_ = 0;  // books that are open
    std::uint32_t connections_max_ = ~0u;
    std::uint32_t leaving_ = 0;  // connections whose peer was asked to leave, or left
    std::uint32_t next_ = 0;     // the book that make_room() looks at next
    CallbackSlot<Context::PeerFunction> listener_;
};

}  // namespace cinnabar::rpc
