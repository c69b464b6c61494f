// SPDX-License-Identifier: BSD-3-Clause
// Lane 0 of a session. Only messages use it, so that bulk data cannot delay them.
#pragma once

#include "batch_pool.hpp"
#include "frame.hpp"
#include "lane.hpp"

#include <cinnabar/na/session/receive_blocks.hpp>
#include <cinnabar/na/session/socket.hpp>

#include <array>

namespace cinnabar::tcp {

class MessageLane final : public Lane {
  public:
    // Starts with the socket of a session whose handshake is done.
    [[nodiscard]] bool start(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept;
    // Closes the socket. Messages that wait stay with the peer.
    void end() noexcept;

    [[nodiscard]] bool urgent() const noexcept override { return true; }

    // Asks the side that dialled the session to dial lane 1.
    void want_bulk() noexcept;
    // Copies a message into the batch that the next flush sends. False: the message is large, the batch is full, there
    // is no memory, or other output waits and has to be sent first.
    [[nodiscard]] bool send_now(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept;
    // Writes the header before a message, and the padding after it.
    static void encode(const na::Op& op) noexcept;

  private:
    unsigned read_lane() noexcept override;  // message_receive.cpp
    void write_lane() noexcept override;     // message_send.cpp

    struct Batch;
    [[nodiscard]] std::size_t gather(Batch& batch) noexcept;
    void sent(std::size_t bytes) noexcept;
    void drop_batch() noexcept;
    void show_batch() noexcept;

    [[nodiscard]] na::Moved receive_into(Bytes room, std::size_t& asked) noexcept;
    unsigned parse(std::byte* from, std::size_t bytes) noexcept;
    [[nodiscard]] bool store_rest(ConstBytes rest) noexcept;
    unsigned deliver(const Frame& frame, const std::byte* payload, na::ReceiveBlock& block) noexcept;
    unsigned deliver_partial() noexcept;

    // Whole frames, which are sent before everything else; null: there are none.
    BatchBuffer batch_;
    std::uint32_t batch_begin_ = 0;  // the kernel has taken the bytes before this
    std::uint32_t batch_end_ = 0;
    TimeUs batch_shown_ = 0;  // when show_batch() was last effective

    std::size_t front_sent_ = 0;  // bytes of the first waiting message that the kernel has taken
    std::uint8_t want_left_ = 0;  // bytes of a lane_wanted frame that the kernel has not taken

    // A frame that was received in part: its header is collected in head_, then the frame in a block of its own.
    std::array<std::byte, frame_header_bytes> head_{};
    std::uint8_t head_have_ = 0;
    na::ReceiveBlock* partial_ = nullptr;
    std::size_t partial_have_ = 0;
    std::size_t partial_need_ = 0;
};

}  // namespace cinnabar::tcp
