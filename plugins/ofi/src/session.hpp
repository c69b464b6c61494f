// SPDX-License-Identifier: BSD-3-Clause
// A connection of two contexts: the socket on which they met, whose end is the peer's death, and its side of the
// fabric. It lives in a pool of its port whose memory stays, and keeps its place there until the fabric has given back
// all that was posted for it. Owner of the context only.
#pragma once

#include "buffers.hpp"
#include "card.hpp"
#include "gather.hpp"
#include "transfer.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/timer_of.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::ofi {

class OfiPeer;
class OfiPort;

class Session final : public PoolSlot, public na::FdEvents {
  public:
    // Operations that the peer carries out for this side, at most; others wait.
    static constexpr std::uint32_t admitted_max = 64;
    // What a peer may have this side owe it: more than it can ask for while it keeps to admitted_max.
    static constexpr std::uint32_t owed_max = 4 * admitted_max;
    // Chunks of the peer's transfers that are with the fabric, at most.
    static constexpr std::uint32_t served_max = 8;
    // Chunks of this side's puts that are with the fabric, at most.
    static constexpr std::uint32_t put_chunks_max = 16;
    // Notes that wait to be sent; more, and the peer asks without taking answers.
    static constexpr std::uint32_t notes_max = 4096;
    // Frames with the provider that are not known to have left, at most: some providers queue without a limit, and copy
    // what is injected. Every confirm_every-th frame is sent with a completion.
    static constexpr std::uint32_t unconfirmed_max = 128;
    static constexpr std::uint32_t confirm_every = 32;
    static_assert(unconfirmed_max >= 2 * confirm_every);
    // Gets that were stopped and whose peer has not said how many chunks it sent; more, and it does not answer.
    static constexpr std::uint32_t unanswered_max = 256;

    Session() noexcept;

    // A name for the peer to use, before it is known how to reach it.
    void reserve(OfiPort& port) noexcept;
    // The sockets have greeted; `dialled`: by this side, which then asks whether the fabric carries messages.
    // unreachable, protocol: the peer's fabric address is none; overloaded: the kernel does not watch the socket.
    [[nodiscard]] Errc begin(OfiPeer& peer, UniqueFd fd, const Card& card, bool dialled) noexcept;
    // What waits to be sent stays with the peer; what is with the fabric ends with `why`. Then the session leaves the
    // pool as soon as the fabric has given everything back.
    void end(Errc why) noexcept;
    void end_reserved() noexcept;
    // The endpoint is closed: ends everything with `canceled`, and leaves the pool if it is in use.
    void abandon() noexcept;

    void on_ready(std::uint32_t epoll_events) noexcept override;

    [[nodiscard]] SessionName name() const noexcept { return {slot_index, check_}; }
    [[nodiscard]] bool is(const SessionName& name) const noexcept { return peer_ && name == this->name(); }
    [[nodiscard]] OfiPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] OfiPort& port() const noexcept { return *port_; }
    [[nodiscard]] fi_addr_t fabric_address() const noexcept { return address_; }
    // The fabric has carried something from the peer.
    [[nodiscard]] bool open() const noexcept { return open_; }

    // A frame for this session came.
    void take_in(const Frame& frame, const TransferBody& body, ConstBytes payload, na::Arrival& arrival) noexcept;
    // Sends what waits, within a bound. Afterwards the session has nothing to send, or is stalled.
    void transmit() noexcept;
    void cancel(Posted& posted) noexcept;

    // Begun and not ending.
    [[nodiscard]] bool live() const noexcept;
    // The provider has no more room for it, or the peer has not taken what that has.
    [[nodiscard]] bool waits_for_peer() const noexcept { return stalled || closed_; }
    // What a session holds of pools that all sessions of its port share.
    [[nodiscard]] std::uint32_t notes_waiting() const noexcept { return notes_count_; }
    [[nodiscard]] std::uint32_t requests_served() const noexcept { return owed_; }
    [[nodiscard]] std::uint32_t transfers_unanswered() const noexcept { return unanswered_; }
    // When the peer last sent a chunk that it has room for here; time_never: it has no such room.
    [[nodiscard]] TimeUs put_waits_since() const noexcept { return granted_ > 0 ? granted_since_ : time_never; }
    // Ends the session and gives its notes and the peer's requests back at once.
    void forfeit(Errc why) noexcept;

    // What the fabric gives back.
    void sent(Buffer& buffer, const Done& done) noexcept;
    void chunk_ended(Chunk& chunk, const Done& done) noexcept;

    // The port's books.
    ListLink<Session> output_link;  // in the port's dirty or stalled list
    bool stalled = false;           // in the latter: the provider had no room

  private:
    void fail(Errc why) noexcept;
    [[nodiscard]] Errc reason(const Done& done) const noexcept;
    void probed(const Frame& frame) noexcept;
    static void time_out(Timer& timer) noexcept;
    void given_back() noexcept;
    void force_ends() noexcept;

    // send.cpp
    enum class Sent : std::uint8_t {
        all,
        stalled,      // the provider has no room: it is asked again
        unconfirmed,  // may_send() is false: a completion of this session goes on with it
    };
    [[nodiscard]] Sent send_notes() noexcept;
    [[nodiscard]] Sent send_messages() noexcept;
    [[nodiscard]] Errc send_buffer(Buffer& buffer, std::byte* frame) noexcept;
    void note(const Frame& frame, const TransferBody& body) noexcept;
    // Whether one more frame may go to the provider. Requires of who is told no: to end with Sent::unconfirmed.
    [[nodiscard]] bool may_send() noexcept;
    void confirmed(std::uint32_t frames) noexcept;
    [[nodiscard]] Buffer* make_note(const Frame& frame, const TransferBody& body, std::size_t data_bytes) noexcept;

    // origin.cpp
    [[nodiscard]] Sent post_transfers() noexcept;
    [[nodiscard]] Sent admit_waiting() noexcept;
    [[nodiscard]] Sent post_chunks(Transfer& transfer) noexcept;
    [[nodiscard]] Errc post_chunk(Transfer& transfer, Chunk& chunk) noexcept;
    [[nodiscard]] std::uint64_t begin_chunk(const Transfer& transfer, Chunk& chunk) const noexcept;
    [[nodiscard]] std::size_t local_pieces(const na::Op& op, std::uint64_t at, Chunk& chunk,
                                           std::array<iovec, pieces_limit>& out) noexcept;
    void ask(Transfer& transfer) noexcept;
    [[nodiscard]] Transfer* find(std::uint64_t id) noexcept;
    void get_data_came(const Frame& frame, ConstBytes data) noexcept;
    void get_ended(const Frame& frame, const TransferBody& body) noexcept;
    void put_granted(const Frame& frame, const TransferBody& body) noexcept;
    void put_ended(const Frame& frame) noexcept;
    void atomic_ended(const Frame& frame, const TransferBody& body) noexcept;
    void transfer_chunk_ended(Chunk& chunk, const Done& done) noexcept;
    void stop(Transfer& transfer, Errc why) noexcept;
    void settle(Transfer& transfer) noexcept;
    void await_answer(Transfer& transfer) noexcept;
    void answered(Transfer& transfer) noexcept;
    void end_op(Transfer& transfer) noexcept;
    void leave_posting(Transfer& transfer) noexcept;
    void cancel_chunks(ChunkList& chunks, std::uint64_t from) noexcept;
    void take_back(Chunk& chunk) noexcept;
    void discard(Chunk& chunk) noexcept;

    // owner.cpp
    [[nodiscard]] Owed* owe(const Frame& frame, const TransferBody& body) noexcept;
    void release(Owed& owed) noexcept;
    void get_asked(const Frame& frame, const TransferBody& body) noexcept;
    void put_asked(const Frame& frame, const TransferBody& body, ConstBytes data) noexcept;
    void atomic_asked(const Frame& frame, const TransferBody& body) noexcept;
    void stop_asked(const Frame& frame, const TransferBody& body) noexcept;
    [[nodiscard]] Sent serve() noexcept;
    [[nodiscard]] Sent serve_get(Owed& owed) noexcept;
    [[nodiscard]] Errc send_leased(const Owed& owed, Chunk& chunk, na::LeaseTable::Pin pin) noexcept;
    [[nodiscard]] Chunk* next_chunk(const Owed& owed) noexcept;
    [[nodiscard]] Sent not_taken(Owed& owed, Chunk& chunk, Errc why) noexcept;
    [[nodiscard]] Sent grant_put(Owed& owed) noexcept;
    void owed_chunk_ended(Chunk& chunk, const Done& done) noexcept;
    void place(Owed& owed, const Chunk& chunk) noexcept;
    void answer(FrameKind kind, std::uint64_t id, Errc status, std::uint64_t chunks) noexcept;

    [[nodiscard]] Chunk* take_chunk() noexcept;
    [[nodiscard]] bool stage(Chunk& chunk) noexcept;
    void unstage(Chunk& chunk) noexcept;
    void give_chunk(Chunk& chunk) noexcept;
    void chunk_posted(Chunk& chunk) noexcept;
    void chunk_sent(Chunk& chunk) noexcept;

    OfiPort* port_ = nullptr;
    OfiPeer* peer_ = nullptr;  // null: reserved, or ended
    UniqueFd fd_;
    fi_addr_t address_ = FI_ADDR_UNSPEC;
    SessionName remote_;
    std::uint64_t check_ = 0;
    na::Hello hello_;
    bool open_ = false;
    bool dialled_ = false;
    bool draining_ = false;
    std::uint32_t with_fabric_ = 0;  // buffers and chunks
    TimerOf<Session> timer_;         // until it is open; after its end, until the fabric has given back everything

    BufferList notes_;
    std::uint32_t notes_count_ = 0;
    BufferList sending_;             // of ops and notes, with the fabric
    std::uint32_t unconfirmed_ = 0;  // frames
    std::uint32_t injected_ = 0;     // of them, since the last one that has a completion
    bool closed_ = false;            // may_send() has said no

    using Transfers = IntrusiveList<Transfer, &Transfer::link>;
    using PostQueue = IntrusiveList<Transfer, &Transfer::post_link>;
    Transfers transfers_;
    PostQueue to_post_;
    std::uint32_t admitted_ = 0;
    std::uint32_t put_chunks_ = 0;  // with the fabric
    std::uint32_t unanswered_ = 0;  // transfers that are stopped and await their answer

    using Owing = IntrusiveList<Owed, &Owed::link>;
    using WorkQueue = IntrusiveList<Owed, &Owed::work_link>;
    Owing owing_;
    WorkQueue to_serve_;
    std::uint32_t owed_ = 0;
    std::uint32_t served_ = 0;   // chunks for the peer
    std::uint32_t granted_ = 0;  // of them, of puts: the peer sends
    TimeUs granted_since_ = 0;   // when the first was granted, or the last came
    ChunkList stray_;            // with the fabric, and nobody waits for them
};

}  // namespace cinnabar::ofi
