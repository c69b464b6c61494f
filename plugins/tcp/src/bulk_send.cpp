// SPDX-License-Identifier: BSD-3-Clause
// BulkLane: output of lane 1. Small frames are sent first, then one frame of data at a time; puts of this side and gets
// of the peer take turns.
#include "bulk_lane.hpp"
#include "port.hpp"
#include "splice.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <cstring>
#include <optional>

namespace cinnabar::tcp {
namespace {

// How many bytes a lane moves before other lanes have their turn: while small messages are exchanged, and otherwise.
constexpr std::size_t slice_small = 8 * 1024;
constexpr std::size_t slice_large = 1024 * 1024;

constexpr std::size_t written_pieces_max = 512;

// Sent in place of data whose memory must no longer be read.
constexpr std::array<std::byte, 16 * 1024> zeros{};

std::size_t gather_zeros(std::uint64_t bytes, iovec* out, std::size_t count_max, std::uint64_t& covered) noexcept {
    covered = 0;
    std::size_t count = 0;
    while (covered < bytes && count < count_max) {
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - covered, zeros.size()));
        out[count++] = iovec{const_cast<std::byte*>(zeros.data()), part};
        covered += part;
    }
    return count;
}

}  // namespace

bool BulkLane::start(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept {
    out_begin_ = out_end_ = 0;
    source_ = Source::none;
    out_left_ = 0;
    in_have_ = 0;
    header_known_ = false;
    sink_ = Sink::discard;
    in_left_ = 0;
    begin_access(port.access_pools(), port.transport().leases(), port.host(), peer, peer.rma);
    return open(port, peer, std::move(stream));
}

void BulkLane::end(Errc why) noexcept {
    const Source source = std::exchange(source_, Source::none);
    if (source == Source::put) framed(*put_);
    if (source == Source::get) release(*get_);
    end_access(why);
    close();
}

void BulkLane::access_to_send() noexcept { port().output().add(*this); }

void BulkLane::access_over(na::PostedOp& posted, Errc result) noexcept { port().end(posted, result); }

// The operation ended during its frame: zeros are sent for the bytes that the frame's header has announced.
void BulkLane::access_abandoned(na::PostedOp&) noexcept {
    source_ = Source::zeros;
    put_ = nullptr;
}

void BulkLane::append(const Frame& frame, const FrameBody& body) noexcept {
    out_end_ = static_cast<std::uint16_t>(out_end_ + encode_frame(frame, body, Bytes(out_head_).subspan(out_end_)));
}

// Encodes the next frames. False: there is nothing to send.
bool BulkLane::refill() noexcept {
    if (out_begin_ < out_end_ || out_left_ > 0) return true;
    out_begin_ = out_end_ = 0;
    constexpr std::size_t frame_max = frame_header_bytes + frame_body_bytes_max;
    while (head_room() >= 2 * frame_max && !answers_.empty()) {
        na::PendingAnswer& answer = *answers_.pop_front();
        FrameBody body;
        body.value = answer.value;
        append(frame_of(head_of(answer)), body);
        release(answer);
    }
    while (head_room() >= 2 * frame_max && (!requests_.empty() || admit_next())) {
        na::PostedOp* posted = requests_.pop_front();
        if (!posted) continue;  // admit_next() admitted a put
        append(frame_of(head_of(*posted)), body_of(*posted));
        framed(*posted);
    }
    return refill_data() || out_end_ > 0;
}

// Begins the next frame with data. False: no operation has data to send.
bool BulkLane::refill_data() noexcept {
    if (puts_.empty() && gets_.empty()) return false;
    if (get_has_turn()) {
        begin_get_frame(*gets_.pop_front());
    } else {
        begin_put_frame(*puts_.pop_front());
    }
    return true;
}

void BulkLane::begin_put_frame(na::PostedOp& posted) noexcept {
    na::AccessHead head = head_of(posted);
    const FrameBody body = body_of(posted);
    head.data_bytes = std::min<std::uint64_t>(body.left, frame_data_bytes_max);
    append(frame_of(head), body);
    posted.moved += head.data_bytes;
    posted.stage = na::OpStage::sending;
    put_ = &posted;
    pipe_ = na::PipeMemory::of(*posted.op->local);
    source_ = Source::put;
    out_left_ = head.data_bytes;
}

void BulkLane::begin_get_frame(na::PendingAnswer& get) noexcept {
    na::AccessHead head = head_of(get);
    head.data_bytes = std::min<std::uint64_t>(get.left, frame_data_bytes_max);
    append(frame_of(head), {});
    get_ = &get;
    source_ = Source::get;
    out_left_ = head.data_bytes;
}

std::size_t BulkLane::slice() const noexcept {
    return port().small_traffic().recent(port().host().now_us()) ? slice_small : slice_large;
}

void BulkLane::write_lane() noexcept {
    if (peer().ending()) return;
    for (std::size_t budget = slice(); refill();) {
        if (budget == 0) return port().output().add(*this);
        const bool piped = source_ == Source::put && pipe_;
        if (!(piped ? write_from_pipe(budget) : write_pieces(budget))) return port().output().block(*this);
    }
}

// Sends headers, and data from memory. False: the socket has no room.
bool BulkLane::write_pieces(std::size_t& budget) noexcept {
    std::array<iovec, written_pieces_max> pieces;
    const std::size_t head = out_end_ - out_begin_;
    pieces[0] = iovec{out_head_.data() + out_begin_, head};
    std::uint64_t data = 0;
    std::size_t count = 1;
    const std::uint64_t want = std::min<std::uint64_t>(out_left_, budget);
    std::optional<na::LeaseTable::Pin> pin;
    if (source_ == Source::get && want > 0) {
        pin.emplace(pin_for_get(*get_, want));
        if (!pin->ok()) source_ = Source::zeros;
    }
    iovec* const out = pieces.data() + 1;
    if (want == 0) {
        // Headers only.
    } else if (source_ == Source::put) {
        const na::Op& op = *put_->op;
        count += op.local->gather(op.local_offset + put_->moved - out_left_, want, out, written_pieces_max - 1, data);
    } else if (source_ == Source::get) {
        count += pin->memory().gather(pin->offset(), want, out, written_pieces_max - 1, data);
    } else {
        count += gather_zeros(want, out, written_pieces_max - 1, data);
    }
    const na::Moved moved = stream().send(pieces.data(), count);
    sent(moved.bytes);
    budget -= static_cast<std::size_t>(data);
    return moved.bytes == head + data;
}

// Sends headers, then data from a pipe. False: the socket has no room.
bool BulkLane::write_from_pipe(std::size_t& budget) noexcept {
    if (const std::size_t head = out_end_ - out_begin_; head > 0) {
        const na::Moved moved = na::send_ahead(stream().fd(), out_head_.data() + out_begin_, head);
        sent(moved.bytes);
        if (moved.bytes < head) return false;
    }
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>({out_left_, budget, pipe_->left()}));
    CINNABAR_ASSERT(want > 0);
    const na::Moved moved = splice_some(stream().fd(), pipe_->read_end(), want);
    if (moved.why == Errc::io) {
        retire(*put_, Errc::io);
        return true;
    }
    pipe_->taken(moved.bytes);
    sent(moved.bytes);
    budget -= moved.bytes;
    return moved.bytes == want;
}

void BulkLane::sent(std::size_t bytes) noexcept {
    const std::size_t head = std::min<std::size_t>(bytes, out_end_ - out_begin_);
    out_begin_ = static_cast<std::uint16_t>(out_begin_ + head);
    const std::size_t data = bytes - head;
    out_left_ -= data;
    if (source_ == Source::get) {
        get_->offset += data;
        get_->left -= data;
    }
    if (out_left_ == 0 && out_begin_ == out_end_) data_sent();
}

// Call when the kernel has taken all data of the frame.
void BulkLane::data_sent() noexcept {
    const Source source = std::exchange(source_, Source::none);
    if (source == Source::put) framed(*put_);
    if (source == Source::get) framed(*get_);
}

}  // namespace cinnabar::tcp
