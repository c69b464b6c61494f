// SPDX-License-Identifier: BSD-3-Clause
// A connection of two contexts: the socket on which they greeted, whose end is the death of the peer, and its side of
// the fabric. It lives in a pool of its port whose memory stays, and keeps its slot until the fabric has given back all
// that was posted for it. Owner of the context only.
#pragma once

#include "chunks.hpp"
#include "frame_sender.hpp"
#include "greeting.hpp"
#include "origin.hpp"
#include "owner.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;

class Session final : public PoolSlot, public na::FdEvents {
  public:
    Session() noexcept;

    // A name for the peer to use, before it is known how to reach it.
    void reserve(OfiPort& port) noexcept;
    void end_reserved() noexcept;
    // Both have greeted; `dialled`: by this side, which then asks whether the fabric carries messages. unreachable,
    // protocol: the peer's fabric address is invalid; overloaded: the kernel does not watch the socket.
    [[nodiscard]] Errc begin(OfiPeer& peer, UniqueFd fd, const Greeting& theirs, bool dialled) noexcept;
    // What waits to be sent stays with the peer; what is with the fabric ends with `why`. The session leaves the pool
    // as soon as the fabric has given everything back.
    void end(Errc why) noexcept;
    // The endpoint is closed: ends everything with `canceled`, and leaves the pool if it is in use.
    void abandon() noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

    [[nodiscard]] SessionName name() const noexcept { return {slot_index, check_}; }
    [[nodiscard]] bool is(const SessionName& name) const noexcept { return peer_ && name == this->name(); }
    [[nodiscard]] OfiPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] OfiPort& port() const noexcept { return *port_; }
    [[nodiscard]] fi_addr_t fabric_address() const noexcept { return address_; }
    [[nodiscard]] bool has_peer() const noexcept { return peer_ != nullptr; }
    // Begun and not ending.
    [[nodiscard]] bool live() const noexcept;
    // The provider has no more room for it, or the peer has not taken what that has.
    [[nodiscard]] bool waits_for_peer() const noexcept { return blocked || sender_.waits_for_peer(); }

    // A frame for this session came.
    void receive(const Frame& frame, const TransferBody& body, ConstBytes payload, na::Arrival& arrival) noexcept;
    // Sends what waits, within a bound. Afterwards the session has nothing to send, or is blocked.
    void transmit() noexcept;
    void cancel(Posted& posted) noexcept { origin_.cancel(posted); }
    // Ends the session and gives what it holds of shared pools back at once.
    void forfeit(Errc why) noexcept;

    // Its parts, and what they report.
    [[nodiscard]] FrameSender& sender() noexcept { return sender_; }
    [[nodiscard]] const FrameSender& sender() const noexcept { return sender_; }
    [[nodiscard]] Chunks& chunks() noexcept { return chunks_; }
    [[nodiscard]] Origin& origin() noexcept { return origin_; }
    [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
    [[nodiscard]] Owner& owner() noexcept { return owner_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
    void fail(Errc why) noexcept;
    // Of something that the fabric has not carried.
    [[nodiscard]] Errc reason(const Done& done) const noexcept;
    // The fabric has one buffer or chunk more, or one less.
    void taken() noexcept { ++with_fabric_; }
    void given_back() noexcept;
    // A chunk has ended: others may go.
    void go_on() noexcept;

    // The port's books.
    ListLink<Session> output_link;  // in OutputLists
    bool blocked = false;           // the provider had no room

  private:
    void probed(const Frame& frame) noexcept;
    void close_socket() noexcept;
    static void time_out(Timer& timer) noexcept;

    OfiPort* port_ = nullptr;
    OfiPeer* peer_ = nullptr;  // null: reserved, or ended
    UniqueFd fd_;
    fi_addr_t address_ = FI_ADDR_UNSPEC;
    std::uint64_t check_ = 0;
    na::Hello hello_;
    bool open_ = false;  // the fabric has carried something from the peer
    bool dialled_ = false;
    bool draining_ = false;
    std::uint32_t with_fabric_ = 0;  // buffers and chunks
    TimerOf<Session> timer_;         // until it is open; after its end, until the fabric has given back everything

    FrameSender sender_{*this};
    Chunks chunks_{*this};
    Origin origin_{*this};
    Owner owner_{*this};
};

}  // namespace cinnabar::ofi
