// SPDX-License-Identifier: BSD-3-Clause
// A connection between two contexts: the handshake socket, which stays open to show when the peer ends, and everything
// that is sent over the fabric. Sessions live in a pool whose memory lives as long as the port; an ended session keeps
// its slot until the fabric has returned all buffers and chunks. Owner of the context only.
#pragma once

#include "chunks.hpp"
#include "frame_sender.hpp"
#include "greeting.hpp"
#include "origin.hpp"
#include "owner.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/transport.hpp>

#include <memory>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;

// Identifies a sealed chunk, and is authenticated together with it, so that the chunk cannot be opened as another one.
// The tag alone is not enough: it is random and may repeat.
struct ChunkId {
    bool of_put = false;
    std::uint64_t id = 0;  // of the operation, as its origin chose it
    std::uint64_t tag = 0;
};

class Session final : public PoolSlot, public na::FdEvents {
  public:
    Session() noexcept;

    // Before the handshake: chooses the session's name, which goes into the greeting.
    void reserve(OfiPort& port) noexcept;
    void end_reserved() noexcept;
    // Starts the session after the handshake. `dialled`: this side dialled, and sends the probe. unreachable, protocol:
    // the peer's fabric address is invalid; overloaded: the socket cannot be watched; out_of_memory: the session's
    // messages cannot be sealed.
    [[nodiscard]] Errc start(OfiPeer& peer, na::Stream stream, const Greeting& theirs, bool dialled) noexcept;
    // Ends, with `why`, the operations that the fabric has; waiting ones stay with the peer. The session is released
    // when the fabric has returned all buffers and chunks.
    void end(Errc why) noexcept;
    // Call when the endpoint was closed: ends everything with `canceled`, and releases the session.
    void abandon() noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

    [[nodiscard]] SessionName name() const noexcept { return {slot_index, check_}; }
    [[nodiscard]] bool is(const SessionName& name) const noexcept { return peer_ && name == this->name(); }
    [[nodiscard]] OfiPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] OfiPort& port() const noexcept { return *port_; }
    [[nodiscard]] fi_addr_t fabric_address() const noexcept { return address_; }
    [[nodiscard]] bool has_peer() const noexcept { return peer_ != nullptr; }
    // Whether the session has begun and is not ending.
    [[nodiscard]] bool live() const noexcept;
    // Whether the provider has no room for this session's output, or the peer does not read.
    [[nodiscard]] bool waits_for_peer() const noexcept { return blocked || sender_.waits_for_peer(); }

    // Handles a received frame of this session.
    void receive(const Frame& frame, const TransferBody& body, ConstBytes payload, na::Arrival& arrival) noexcept;
    // Sends a bounded amount of the output that waits. If some output is left, the session is blocked, or a later
    // completion resumes sending.
    void transmit() noexcept;
    void cancel(Posted& posted) noexcept { origin_.cancel(posted); }
    // Ends the session and gives back at once what it holds of shared pools.
    void forfeit(Errc why) noexcept;

    // The guard of the handshake socket; null: the session is not protected.
    [[nodiscard]] const na::StreamGuard* guard() const noexcept { return stream_.guard(); }
    // Whether frames and chunks are sealed, which makes them longer by trailer_bytes().
    [[nodiscard]] bool seals() const noexcept { return seals_; }
    [[nodiscard]] std::size_t trailer_bytes() const noexcept { return seals_ ? na::MessageGuard::trailer_bytes : 0; }
    // Seals a frame in place, except its header, which must stay readable. `bytes`: without the trailer. False: out of
    // memory.
    [[nodiscard]] bool seal_frame(std::byte* frame, std::size_t bytes) noexcept;
    // Opens a received frame in place and returns it without the trailer. Empty: the peer has not sealed it for this
    // session, or the frame arrives a second time (a replay); the session then ends.
    [[nodiscard]] ConstBytes open_frame(Bytes frame) noexcept;
    // As seal_frame() and open_frame(), for a chunk of `bytes`. If open_chunk() returns false, the session ends.
    [[nodiscard]] bool seal_chunk(const ChunkId& id, Staging& chunk, std::size_t bytes) noexcept;
    [[nodiscard]] bool open_chunk(const ChunkId& id, Staging& chunk, std::size_t bytes) noexcept;

    // The parts of the session, and functions that they call.
    [[nodiscard]] FrameSender& sender() noexcept { return sender_; }
    [[nodiscard]] const FrameSender& sender() const noexcept { return sender_; }
    [[nodiscard]] Chunks& chunks() noexcept { return chunks_; }
    [[nodiscard]] const Chunks& chunks() const noexcept { return chunks_; }
    [[nodiscard]] Origin& origin() noexcept { return origin_; }
    [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
    [[nodiscard]] Owner& owner() noexcept { return owner_; }
    [[nodiscard]] const Owner& owner() const noexcept { return owner_; }
    void fail(Errc why) noexcept;
    // The error for a failed operation.
    [[nodiscard]] Errc reason(const Done& done) const noexcept;
    // Call when the fabric has taken, or returned, a buffer or chunk.
    void taken() noexcept { ++with_fabric_; }
    void given_back() noexcept;
    // Call when a chunk has completed, so that others may be sent.
    void go_on() noexcept;

    // Used by the port.
    ListLink<Session> output_link;   // in OfiPort::output()
    ListLink<Session> guarded_link;  // in WithdrawnCredentials
    bool blocked = false;            // the provider had no room

  private:
    void probed(const Frame& frame) noexcept;
    void close_socket() noexcept;
    void watch_partial_record() noexcept;
    void time_out() noexcept;

    OfiPort* port_ = nullptr;
    OfiPeer* peer_ = nullptr;  // null: reserved, or ended
    na::Stream stream_;
    bool seals_ = false;  // set from the transport, not from seal_: if that is missing, nothing may be sent unsealed
    std::unique_ptr<na::MessageGuard> seal_;
    fi_addr_t address_ = FI_ADDR_UNSPEC;
    std::uint64_t check_ = 0;
    na::Hello hello_;
    bool open_ = false;  // a frame has arrived from the peer over the fabric
    bool dialled_ = false;
    bool draining_ = false;
    std::uint32_t with_fabric_ = 0;     // buffers and chunks that the fabric has
    std::uint64_t partial_record_ = 0;  // the record of TLS that timer_ runs for; 0: none
    // Runs until the session is open; then whenever a TLS record is incomplete; after the end of the session, until the
    // fabric has returned all buffers and chunks.
    TimerOf<Session> timer_;

    FrameSender sender_{*this};
    Chunks chunks_{*this};
    Origin origin_{*this};
    Owner owner_{*this};
};

}  // namespace cinnabar::ofi
