// SPDX-License-Identifier: BSD-3-Clause
// The socket of one lane of a session, and what both lanes have in common. Lanes live in a pool whose memory lives as
// long as the port, because epoll may report an event after the socket was closed; a closed Lane ignores the event.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/transport.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace cinnabar::tcp {

class TcpPeer;
class TcpPort;

class Lane : public PoolSlot, public na::FdEvents {
  public:
    Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] int fd() const noexcept { return stream_.fd(); }
    [[nodiscard]] const na::ProvenIdentity* identity() const noexcept { return stream_.identity(); }
    // Null: the bytes are not protected.
    [[nodiscard]] const na::StreamGuard* guard() const noexcept { return stream_.guard(); }
    [[nodiscard]] TcpPeer& peer() const noexcept { return *peer_; }

    void on_ready(std::uint32_t epoll_events) noexcept final;

    // Reads and delivers a bounded amount. Returns the amount of work done.
    unsigned receive() noexcept {
        const unsigned did = read_lane();
        if (stream_.guard()) [[unlikely]]
            list_guarded();
        return did;
    }
    // Writes a bounded amount of the output that waits. If some is left, the lane is put into an output list again.
    // Requires: the lane is in no output list.
    void transmit() noexcept {
        if (stream_.guard()) [[unlikely]]
            return transmit_guarded();
        write_lane();
    }

    // Whether this lane is read and written before lanes for bulk data.
    [[nodiscard]] virtual bool urgent() const noexcept = 0;

    // Ends the session, deferred. `why`: a read or write failed, the bytes are malformed, or the credentials of the
    // other side are no longer valid.
    void fail(Errc why) noexcept;

    // Sets whether epoll reports room to write.
    void watch_room(bool wanted) noexcept;

    // When the rest of a partly received message or record must have arrived; time_never: nothing is incomplete.
    [[nodiscard]] TimeUs rest_due() const noexcept { return std::min(message_due_, record_due_); }
    // Call when the rest is overdue: reads what has arrived, and ends the session if something is still overdue.
    void end_if_late() noexcept;

    // Used by the port.
    ListLink<Lane> output_link;   // in TcpPort::output()
    ListLink<Lane> unread_link;   // in the list of lanes that are read again without an event
    ListLink<Lane> partial_link;  // in InputDeadlines
    ListLink<Lane> guarded_link;  // in WithdrawnCredentials
    bool blocked = false;         // the last write found no room
    bool hot = false;             // in HotLanes
    std::uint16_t misses = 0;     // reads in a row that found nothing, while hot

  protected:
    ~Lane() = default;
    // False: the kernel refused to watch the socket.
    [[nodiscard]] bool open(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept;
    void close() noexcept;
    [[nodiscard]] TcpPort& port() const noexcept { return *port_; }
    [[nodiscard]] na::Stream& stream() noexcept { return stream_; }
    // Call when a message of `bytes` was received in part; 0: no message is incomplete any more.
    void set_partial_message(std::size_t bytes) noexcept;

  private:
    virtual unsigned read_lane() noexcept = 0;
    virtual void write_lane() noexcept = 0;
    void list_guarded() noexcept;
    void note_partial_record(std::uint64_t number) noexcept;
    void transmit_guarded() noexcept;

    na::Stream stream_;
    TcpPort* port_ = nullptr;
    TcpPeer* peer_ = nullptr;  // null: not open
    bool watching_room_ = false;
    TimeUs message_due_ = time_never;
    TimeUs record_due_ = time_never;
    std::uint64_t partial_record_ = 0;  // the record that record_due_ belongs to
};

}  // namespace cinnabar::tcp
