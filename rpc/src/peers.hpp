// SPDX-License-Identifier: BSD-3-Clause
// The books of all peers of a context: opened with their connections, closed when those are lost, released when idle.
// Owner of the context only.
#pragma once

#include "peer_book.hpp"

#include <cinnabar/rpc/context.hpp>

#include <atomic>

namespace cinnabar::rpc {

class Peers {
  public:
    explicit Peers(ContextCore& core) noexcept;

    // So many connections the transports can have.
    void limit(std::uint32_t connections) noexcept { connections_max_ = std::min(connections_max_, connections); }
    [[nodiscard]] std::uint32_t connections() const noexcept { return connections_; }

    // Null: no memory.
    [[nodiscard]] PeerBook* book_of(na::Peer& peer) noexcept {
        return peer.upper ? static_cast<PeerBook*>(peer.upper) : make(peer);
    }
    void open(PeerBook& book) noexcept;
    void drop_if_idle(PeerBook& book) noexcept {
        if (!book.open) drop_closed_if_idle(book);
    }
    void on_peer(na::Peer& peer, na::PeerEvent event, Errc why) noexcept;
    void set_listener(Context::PeerFunction function, void* user) noexcept;  // any thread
    // What becomes of calls and requests when the connection is lost, or could not be made (lost_connection.cpp).
    void close(PeerBook& book, Errc why) noexcept;
    // The context is closed: no timer of a book fires any more, and then there is no book any more.
    void stop() noexcept;
    void release_all() noexcept;

    // Connections that nobody uses (evict.cpp).
    void asked_to_leave(PeerBook& book) noexcept;
    void stays(PeerBook& book) noexcept;

    // Heartbeats (heartbeat.cpp).
    void watch(PeerBook& book) noexcept;

    // For debug builds: the sums that are kept along the way are those of the books.
    [[nodiscard]] bool add_up() noexcept;

    SlotPool<PeerBook> books;

  private:
    [[nodiscard]] PeerBook* make(na::Peer& peer) noexcept;
    [[gnu::noinline]] void drop_closed_if_idle(PeerBook& book) noexcept;
    void note_phases(PeerBook& book) noexcept;
    void orphan_requests(PeerBook& book) noexcept;
    void end_orphans(PeerBook& book) noexcept;
    void make_room() noexcept;
    void beat(PeerBook& book) noexcept;
    [[nodiscard]] static bool account_adds_up(const PeerBook& book) noexcept;

    ContextCore& core_;
    std::uint32_t connections_ = 0;  // books that are open
    std::uint32_t connections_max_ = ~0u;
    std::uint32_t leaving_ = 0;  // connections that were asked to end
    std::uint32_t next_ = 0;     // the book that make_room() looks at next
    std::atomic<Context::PeerFunction> function_{nullptr};
    std::atomic<void*> user_{nullptr};
};

}  // namespace cinnabar::rpc
