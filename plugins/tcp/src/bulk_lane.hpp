// SPDX-License-Identifier: BSD-3-Clause
// Lane 1 of a session: puts, gets and atomics as frames. Data are transferred directly between the socket and
// registered memory. Only headers, and data that are read together with a header, pass through a staging buffer of the
// port.
//
// Bytes of files are sent from pipes, without a copy (na::PipeMemory).
//
// The memory is looked up again before each system call (na::RemoteAccess). Data that arrive for a revoked lease or a
// canceled operation are discarded. If memory is gone while a frame is sent from it, the rest of the frame is sent as
// zeros, because the header has announced its length.
#pragma once

#include "frame.hpp"
#include "lane.hpp"

#include <cinnabar/na/pipe_memory.hpp>
#include <cinnabar/na/session/remote_access.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <array>
#include <optional>

namespace cinnabar::tcp {

class BulkLane final : public Lane, public na::RemoteAccess {
  public:
    [[nodiscard]] bool start(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept;
    // Closes the socket; ends admitted operations with `why`.
    void end(Errc why) noexcept;

    [[nodiscard]] bool urgent() const noexcept override { return false; }

  private:
    enum class Source : std::uint8_t { none, put, get, zeros };  // of outgoing data
    enum class Sink : std::uint8_t { discard, get, put };        // of incoming data

    unsigned read_lane() noexcept override;  // bulk_receive.cpp
    void write_lane() noexcept override;     // bulk_send.cpp

    // How many bytes the lane moves before other lanes have their turn: fewer while small messages are exchanged.
    [[nodiscard]] std::size_t slice() const noexcept;

    // In bulk_send.cpp.
    [[nodiscard]] bool refill() noexcept;
    [[nodiscard]] bool refill_data() noexcept;
    void begin_put_frame(na::PostedOp& posted) noexcept;
    void begin_get_frame(na::PendingAnswer& get) noexcept;
    [[nodiscard]] bool write_pieces(std::size_t& budget) noexcept;
    [[nodiscard]] bool write_from_pipe(std::size_t& budget) noexcept;
    void sent(std::size_t bytes) noexcept;
    void data_sent() noexcept;
    void append(const Frame& frame, const FrameBody& body) noexcept;
    [[nodiscard]] std::size_t head_room() const noexcept { return out_head_.size() - out_end_; }

    // In bulk_receive.cpp.
    struct Destination;
    void find_destination(std::uint64_t bytes_max, Destination& to) noexcept;
    void data_came(std::uint64_t bytes) noexcept;
    unsigned parse(ConstBytes bytes) noexcept;
    [[nodiscard]] ConstBytes parse_head(ConstBytes bytes, unsigned& did) noexcept;
    void copy_in(ConstBytes bytes) noexcept;
    [[nodiscard]] Errc take_frame() noexcept;

    // Overrides of na::RemoteAccess.
    void access_to_send() noexcept override;
    void access_over(na::PostedOp& posted, Errc result) noexcept override;
    void access_failed(Errc why) noexcept override { fail(why); }
    void access_abandoned(na::PostedOp& posted) noexcept override;

    // Output: encoded frames; data may follow the last one.
    std::array<std::byte, 512> out_head_{};
    std::uint16_t out_begin_ = 0;
    std::uint16_t out_end_ = 0;
    Source source_ = Source::none;
    na::PostedOp* put_ = nullptr;       // valid for Source::put
    na::PipeMemory* pipe_ = nullptr;    // valid for Source::put; null: its bytes are in memory
    na::PendingAnswer* get_ = nullptr;  // valid for Source::get; in no list
    std::uint64_t out_left_ = 0;        // bytes of the frame's data that the kernel has not taken

    // Input.
    std::array<std::byte, frame_header_bytes + frame_body_bytes_max> in_head_{};
    std::uint8_t in_have_ = 0;
    bool header_known_ = false;
    Sink sink_ = Sink::discard;
    Frame in_;
    FrameBody body_;
    std::uint64_t in_left_ = 0;  // bytes of the frame's data that have not been received
};

}  // namespace cinnabar::tcp
