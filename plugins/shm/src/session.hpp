// SPDX-License-Identifier: BSD-3-Clause
// A connection between two contexts: a ring in each direction, a socket that transfers bells and shows when the peer
// ends, and the puts and gets of both sides. Sessions live in a pool whose memory lives as long as the port, because
// epoll may report an event after the socket was closed; a closed Session ignores the event. Owner of the context only.
//
// Bells. In `armed`, a word of the ring's header, the reader says how it wants to be woken. 0: not at all, because it
// polls the ring in every round (the session is hot). Before the reader stops polling, it stores in `armed` a number
// that is larger than any before, and checks the ring once more. The lowest two bits of the number are a Bell.
// Bell::socket: a bell over the socket; the session is cold, and the socket's event tells which session to read.
// Bell::context: the context's eventfd; the context sleeps, and polls all hot sessions when it wakes. Bell::flag: the
// session's flag (flags.hpp); the context is awake. When the peer has published a record, or freed room that this side
// waits for, the peer reads `armed`. If `armed` is 0, the peer does nothing. The peer raises a flag each time, but
// rings any other bell only once for each number.
#pragma once

#include "channel.hpp"
#include "copier.hpp"
#include "ring.hpp"

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/remote_access.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::shm {

class ShmPeer;
class ShmPort;

class Session final : public PoolSlot, public na::FdEvents, public na::RemoteAccess {
  public:
    // False: out of memory, or the kernel refused to watch the socket.
    [[nodiscard]] bool start(ShmPort& port, ShmPeer& peer, Channel channel) noexcept;
    // Closes the session. Operations that have begun end with `why`; the others stay in the peer's list, for the next
    // session.
    void end(Errc why) noexcept;
    [[nodiscard]] bool is_open() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] ShmPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] ShmPort& port() const noexcept { return *port_; }

    void on_ready(std::uint32_t epoll_events) noexcept override;

    // Delivers a bounded number of records and returns how many. Disarms the bell.
    unsigned receive() noexcept;
    // Writes a message into the outgoing ring. False: there is no room, or the peer broke the ring.
    [[nodiscard]] bool write_message(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    // Writes what waits into the outgoing ring. Afterwards nothing waits, or the session is blocked.
    void transmit() noexcept;
    // Rings the peer if it sleeps. Requires: a full barrier after writing.
    void announce() noexcept;

    // Sets how this side wants to be rung from now on. flag: requires `flag` below.
    enum class Bell : std::uint8_t { socket = 0, context = 1, flag = 2 };
    void arm(Bell bell) noexcept;
    // Whether a record was written before the bell was armed. Requires: a full barrier after arm().
    [[nodiscard]] bool missed() const noexcept { return !reader_.empty(); }
    // Whether receive() would find nothing and change nothing.
    [[nodiscard]] bool is_quiet() const noexcept { return armed_ == 0 && reader_.empty(); }
    void await_room() noexcept;
    [[nodiscard]] bool room_came() const noexcept { return writer_.room_came(); }

    [[nodiscard]] Copier& copier() noexcept { return copier_; }
    [[nodiscard]] Channel& channel() noexcept { return channel_; }
    // Ends the session with `why`, deferred.
    void fail(Errc why) noexcept;

    void cancel(na::PostedOp& posted) noexcept;

    // Used by the port.
    ListLink<Session> output_link;    // in ShmPort::output()
    ListLink<Session> announce_link;  // in the list of sessions whose peer must be woken if it sleeps
    ListLink<Session> copy_link;      // in ShmPort::copies()
    bool blocked = false;             // the outgoing ring had no room
    // Of HotSessions.
    std::size_t hot_at = 0;        // index in its list of hot sessions + 1; 0: not hot
    std::uint32_t misses = 0;      // polls in a row that found nothing, while hot
    std::uint32_t came_round = 0;  // the round in which the last record came
    std::uint32_t flag = 0;        // 1 + the flag that the peer raises; 0: it has none
    ListLink<Session> flagged_link;

  private:
    void lost() noexcept;
    [[nodiscard, gnu::noinline]] bool deliver_any(na::Arrival& arrival, na::Receiver& receiver) noexcept;
    [[nodiscard]] unsigned deliver(const Record& record) noexcept;
    [[nodiscard]] bool deliver_message(const RingReader::Message& message, na::Arrival& arrival,
                                       na::Receiver& receiver) noexcept;
    void malformed(const char* what = "malformed record") noexcept;
    void give_room_back() noexcept;

    // session_send.cpp
    [[nodiscard]] bool send_messages() noexcept;
    [[nodiscard]] bool send_notifies() noexcept;
    [[nodiscard]] bool send_answers() noexcept;
    [[nodiscard]] bool send_requests() noexcept;
    [[nodiscard]] bool send_data() noexcept;
    [[nodiscard]] bool send_put(na::PostedOp& posted) noexcept;
    [[nodiscard]] bool send_get(na::PendingAnswer& get) noexcept;
    [[nodiscard]] bool write(const na::AccessHead& head, const na::AccessBody& body) noexcept;
    [[nodiscard]] std::uint32_t data_room() noexcept;

    // access.cpp
    void admit_waiting() noexcept;
    void access_to_send() noexcept override;
    void access_over(na::PostedOp& posted, Errc result) noexcept override;
    void access_failed(Errc why) noexcept override { fail(why); }

    ShmPort* port_ = nullptr;
    ShmPeer* peer_ = nullptr;  // null: not open
    Channel channel_;
    RingReader reader_;
    RingWriter writer_;
    std::uint64_t armed_ = 0;        // the value in the ring's header
    std::uint64_t arms_ = 0;         // the last number used to arm
    std::uint64_t rung_ = 0;         // the value of the peer's `armed` for which it was last rung
    std::uint64_t room_asked_ = 0;   // how often this side has waited for room
    std::uint64_t room_served_ = 0;  // how often the peer had waited for room when it was last rung for that
    bool peer_closed_ = false;
    std::size_t message_bytes_max_ = 0;

    Copier copier_{*this, channel_};
};

}  // namespace cinnabar::shm
