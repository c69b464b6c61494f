// SPDX-License-Identifier: BSD-3-Clause
// MessageLane: output. The messages of one round are sent with one system call. Small messages are copied into one
// buffer; large ones are not copied.
#include "message_lane.hpp"
#include "port.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace cinnabar::tcp {
namespace {

// Up to this size, copying costs less than one more element of an iovec.
constexpr std::size_t copied_bytes_max = 2048;
constexpr std::size_t batch_max = 64;
constexpr std::size_t call_bytes_max = 256 * 1024;
constexpr unsigned calls_max = 8;  // for one lane, before others have their turn
constexpr TimeUs batch_shown_us = 1'000;

std::size_t frame_bytes(const na::PostedOp& posted) noexcept {
    return frame_header_bytes + padded(posted.op->message_bytes);
}

// The header was written before the payload when the message was posted.
std::byte* frame_begin(const na::PostedOp& posted) noexcept { return posted.op->message->payload - frame_header_bytes; }

// All lane_wanted frames are the same.
std::array<std::byte, frame_header_bytes> lane_wanted_bytes() noexcept {
    std::array<std::byte, frame_header_bytes> bytes{};
    Frame{FrameKind::lane_wanted}.encode(bytes);
    return bytes;
}
const std::array<std::byte, frame_header_bytes> lane_wanted = lane_wanted_bytes();

}  // namespace

// The bytes for one system call.
struct MessageLane::Batch {
    std::array<iovec, batch_max> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;
    Bytes copies;  // room for messages that are copied
    std::size_t copied = 0;

    void add(const std::byte* from, std::size_t size) noexcept {
        pieces[count++] = iovec{const_cast<std::byte*>(from), size};
        bytes += size;
    }
    void add_copy(const std::byte* from, std::size_t size) noexcept {
        std::byte* to = copies.data() + copied;
        std::memcpy(to, from, size);
        copied += size;
        if (count > 0 && static_cast<std::byte*>(pieces[count - 1].iov_base) + pieces[count - 1].iov_len == to) {
            pieces[count - 1].iov_len += size;
            bytes += size;
        } else {
            add(to, size);
        }
    }
};

void MessageLane::want_bulk() noexcept {
    want_left_ = frame_header_bytes;
    port().output().add_first(*this);
}

void MessageLane::encode(const na::Op& op) noexcept {
    const FrameKind kind = op.kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
    Frame{kind, 0, Errc::ok, op.message_bytes, op.tag}.encode(
        std::span<std::byte, frame_header_bytes>(op.message->payload - frame_header_bytes, frame_header_bytes));
    std::byte* pad = op.message->payload + op.message_bytes;
    for (std::size_t i = op.message_bytes; i < padded(op.message_bytes); ++i) *pad++ = std::byte{0};
}

bool MessageLane::send_now(na::OpKind kind, na::Tag tag, ConstBytes message) noexcept {
    const std::size_t size = frame_header_bytes + padded(message.size());
    if (blocked || want_left_ > 0 || size > copied_bytes_max || size > BatchPool::batch_bytes - batch_end_)
        return false;
    if (!batch_ && !(batch_ = port().batches().take())) return false;
    std::byte* const to = batch_.get() + batch_end_;
    const auto bytes = static_cast<std::uint32_t>(message.size());
    const FrameKind frame = kind == na::OpKind::send_unexpected ? FrameKind::unexpected : FrameKind::expected;
    std::memset(to + size - 8, 0, 8);  // the padding, if any
    Frame{frame, 0, Errc::ok, bytes, tag}.encode(std::span<std::byte, frame_header_bytes>(to, frame_header_bytes));
    std::memcpy(to + frame_header_bytes, message.data(), bytes);
    batch_end_ += static_cast<std::uint32_t>(size);
    port().output().add_first(*this);
    return true;
}

void MessageLane::drop_batch() noexcept {
    if (batch_) port().batches().give(std::move(batch_));
    batch_begin_ = batch_end_ = 0;
}

std::size_t MessageLane::gather(Batch& batch) noexcept {
    const na::PostedOps& waiting = peer().messages;
    if (batch_) batch.add(batch_.get() + batch_begin_, batch_end_ - batch_begin_);
    // A lane_wanted frame is sent between two messages, never inside one.
    if (want_left_ > 0 && front_sent_ == 0) {
        batch.add(lane_wanted.data() + frame_header_bytes - want_left_, want_left_);
    }
    std::size_t skip = front_sent_;
    for (const na::PostedOp* posted = waiting.front(); posted && batch.count < batch_max;
         posted = waiting.next(*posted)) {
        if (skip == 0) port().show_delayed(peer(), *posted->op);
        const std::size_t size = frame_bytes(*posted) - skip;
        const std::byte* from = frame_begin(*posted) + skip;
        if (batch.bytes + size > call_bytes_max && batch.bytes > 0) break;
        const bool alone = batch.count == 0 && !waiting.next(*posted);
        if (!alone && size <= copied_bytes_max && batch.copied + size <= batch.copies.size()) {
            batch.add_copy(from, size);
        } else {
            batch.add(from, size);
        }
        skip = 0;
    }
    return batch.bytes;
}

void MessageLane::write_lane() noexcept {
    if (peer().ending()) return;
    na::PostedOps& waiting = peer().messages;
    if (peer().delayed && batch_) show_batch();
    for (unsigned calls = 0; batch_ || !waiting.empty() || want_left_ > 0; ++calls) {
        peer().delayed |= calls == calls_max;
        if (calls == calls_max) return port().output().add_first(*this);
        Batch batch;
        batch.copies = port().scratch();
        const std::size_t asked = gather(batch);
        const na::Moved moved = batch.count == 1 ? stream().send(batch.pieces[0].iov_base, asked)
                                                 : stream().send(batch.pieces.data(), batch.count);
        // A lost connection is reported by the read, after the bytes that arrived before.
        sent(moved.bytes);
        if (moved.bytes < asked) {
            peer().delayed = true;
            return port().output().block(*this);
        }
    }
    peer().delayed = false;
}

// As SessionPort::show_delayed, for the messages of the batch; at most once per batch_shown_us.
void MessageLane::show_batch() noexcept {
    const TimeUs now = port().host().now_us();
    if (now - batch_shown_ < batch_shown_us) return;
    batch_shown_ = now;
    Frame frame;
    for (std::size_t at = 0; at < batch_end_; at += frame_header_bytes + padded(frame.bytes)) {
        const Bytes rest(batch_.get() + at, batch_end_ - at);
        if (decode_header(rest, LaneKind::messages, BatchPool::batch_bytes, frame) != Errc::ok) return;
        if (at < batch_begin_) continue;
        const na::OpKind kind =
            frame.kind == FrameKind::unexpected ? na::OpKind::send_unexpected : na::OpKind::send_expected;
        port().host().receiver().on_delayed(peer(), kind, frame.id, rest.subspan(frame_header_bytes, frame.bytes));
    }
}

void MessageLane::sent(std::size_t bytes) noexcept {
    if (bytes == 0) return;
    port().small_traffic().note();
    if (batch_) {
        const auto part = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, batch_end_ - batch_begin_));
        batch_begin_ += part;
        bytes -= part;
        if (batch_begin_ < batch_end_) return;
        drop_batch();
    }
    if (want_left_ > 0 && front_sent_ == 0) {
        const std::size_t part = std::min<std::size_t>(bytes, want_left_);
        want_left_ = static_cast<std::uint8_t>(want_left_ - part);
        bytes -= part;
    }
    na::PostedOps& waiting = peer().messages;
    front_sent_ += bytes;
    for (na::PostedOp* posted = waiting.front(); posted && front_sent_ >= frame_bytes(*posted);
         posted = waiting.front()) {
        front_sent_ -= frame_bytes(*posted);
        waiting.remove(*posted);
        port().end(*posted, Errc::ok);
    }
    // The first message was sent in part and can no longer be canceled.
    if (front_sent_ > 0) waiting.front()->stage = na::OpStage::sending;
}

}  // namespace cinnabar::tcp
