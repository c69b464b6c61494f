// SPDX-License-Identifier: BSD-3-Clause
// The socket of one lane of a session, with all that both lanes share. It lives in a pool whose memory is never freed
// before the port: epoll may still report an event after the socket is closed, which a closed object ignores.
#pragma once

#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/na/session/posted.hpp>
#include <cinnabar/na/session/stream.hpp>
#include <cinnabar/na/transport.hpp>

namespace cinnabar::tcp {

class TcpPeer;
class TcpPort;

class Connection : public PoolSlot, public na::FdEvents {
  public:
    Connection() = default;
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    [[nodiscard]] bool is_open() const noexcept { return peer_ != nullptr; }
    [[nodiscard]] int fd() const noexcept { return stream_.fd(); }
    [[nodiscard]] const na::ProvenIdentity* identity() const noexcept { return stream_.identity(); }
    [[nodiscard]] TcpPeer& peer() const noexcept { return *peer_; }

    void on_ready(std::uint32_t epoll_events) noexcept final;

    // Reads and delivers a bounded amount; returns how much it did.
    unsigned receive() noexcept {
        const unsigned did = read_lane();
        if (stream_.guard()) [[unlikely]]
            list_guarded();
        return did;
    }
    // Writes a bounded amount of what waits. If something is left, the connection is in an output list again. Requires:
    // it is in none.
    void transmit() noexcept {
        if (stream_.guard()) [[unlikely]]
            return transmit_guarded();
        write_lane();
    }

    // Read and written before the connections that move bulk data.
    [[nodiscard]] virtual bool urgent() const noexcept = 0;

    // Whether epoll reports room to write.
    void watch_room(bool wanted) noexcept;

    // For the port.
    ListLink<Connection> output_link;  // in OutputLists
    ListLink<Connection> unread_link;  // in the port's list of those that are read again without an event
    bool blocked = false;              // the last write found no room
    bool hot = false;                  // in HotConnections
    std::uint16_t misses = 0;          // reads in a row that found nothing, while hot

  protected:
    ~Connection() = default;
    // False when the kernel refuses to watch it.
    [[nodiscard]] bool open(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept;
    void close() noexcept;
    [[nodiscard]] TcpPort& port() const noexcept { return *port_; }
    [[nodiscard]] na::Stream& stream() noexcept { return stream_; }
    // Ends the session once the stack has unwound: a read or write failed, or the bytes are malformed.
    void fail(Errc why) noexcept;

  private:
    virtual unsigned read_lane() noexcept = 0;
    virtual void write_lane() noexcept = 0;
    void list_guarded() noexcept;
    void transmit_guarded() noexcept;

    na::Stream stream_;
    TcpPort* port_ = nullptr;
    TcpPeer* peer_ = nullptr;  // null: not open
    bool watching_room_ = false;
};

}  // namespace cinnabar::tcp
