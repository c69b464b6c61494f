// SPDX-License-Identifier: BSD-3-Clause
// A connection of two contexts: a ring each way, a socket that tells the end of the peer and rings its bell, and what
// is under way of either side's memory. It lives in a pool of its port whose memory stays, so that an event which the
// kernel gave out before the socket was closed finds a closed object that does nothing. Owner of the context only.
//
// Bells. While a context looks at a ring in every round (the session is hot) its peer does not ring. Before it stops
// looking, it writes into the ring's `armed` how it wants to be rung, and looks once more: an even number for the
// socket, which says whose ring it is (the session cools), an odd one for the context's eventfd (the context goes to
// sleep and will look at all hot sessions). A writer looks at `armed` after it has published, and rings once for each
// number.
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
    // False when the kernel refuses to watch the socket.
    [[nodiscard]] bool start(ShmPort& port, ShmPeer& peer, Channel channel) noexcept;
    // Operations of this side that were begun end with `why`; what waits to be sent stays with the peer.
    void end(Errc why) noexcept;
    [[nodiscard]] bool is_open() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] ShmPeer& peer() const noexcept { return *peer_; }
    [[nodiscard]] ShmPort& port() const noexcept { return *port_; }

    void on_ready(std::uint32_t epoll_events) noexcept override;

    // Hands out records, within a bound, and returns how many. While it is looked at, the peer does not have to ring.
    unsigned receive() noexcept;
    // Writes a message into the ring. False: it has no room, or the peer has broken it.
    [[nodiscard]] bool write_message(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    // Writes what waits into the ring. Afterwards the session is blocked, or has nothing to write.
    void transmit() noexcept;
    // Rings the peer if it sleeps and something was written. Requires: a full fence after the writing.
    void announce() noexcept;

    // Says how this side wants to be rung from now on.
    enum class Bell : std::uint8_t { socket = 0, context = 1 };
    void arm(Bell bell) noexcept;
    // Whether there is something to do in spite of it. Requires: a full fence after arm() and await_room().
    [[nodiscard]] bool missed() const noexcept { return !reader_.empty(); }
    void await_room() noexcept;
    [[nodiscard]] bool room_came() const noexcept { return writer_.room_came(); }

    [[nodiscard]] Copier& copier() noexcept { return copier_; }
    // Ends the session with `why`, once the stack has unwound.
    void fail(Errc why) noexcept;

    // As na::Port::view.
    [[nodiscard]] Result<std::unique_ptr<na::View>> view(const na::RemoteMemory& memory, std::uint64_t offset,
                                                         std::uint64_t bytes);

    void cancel(na::PostedOp& posted) noexcept;

    // The port's books.
    ListLink<Session> output_link;    // in the port's dirty or blocked list
    ListLink<Session> announce_link;  // in the port's list of those whose peer has to be told
    ListLink<Session> copy_link;      // in the port's list of those that copy
    bool blocked = false;             // in the former, the latter: the ring had no room
    std::size_t hot_at = 0;           // index in the port's hot list + 1; 0: cold
    std::uint32_t misses = 0;         // looks in a row that found nothing, while hot

  private:
    void ring_bell(std::uint64_t armed) noexcept;
    void lost() noexcept;
    [[nodiscard]] unsigned deliver(const Record& record) noexcept;
    [[nodiscard]] bool deliver_message(const Record& record) noexcept;
    [[nodiscard]] Errc deliver_access(const Record& record) noexcept;
    void nonsense(const char* what = "malformed record") noexcept;
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
    [[nodiscard]] Errc get_data_came(const na::AccessHead& head) noexcept;
    void put_came(const na::AccessHead& head, const na::AccessBody& body) noexcept;
    void access_to_send() noexcept override;
    void access_over(na::PostedOp& posted, Errc result) noexcept override;
    void access_failed(Errc why) noexcept override { fail(why); }

    ShmPort* port_ = nullptr;
    ShmPeer* peer_ = nullptr;  // null: not open
    Channel channel_;
    RingReader reader_;
    RingWriter writer_;
    std::uint64_t armed_ = 0;        // what the ring says
    std::uint64_t arms_ = 0;         // the last number
    std::uint64_t rung_ = 0;         // the peer's number that was answered
    std::uint64_t room_asked_ = 0;   // how often this side began to wait for room
    std::uint64_t room_served_ = 0;  // the peer's count of that, when last looked at
    bool peer_closed_ = false;
    std::size_t message_bytes_max_ = 0;

    Copier copier_{*this, channel_};
};

}  // namespace cinnabar::shm
