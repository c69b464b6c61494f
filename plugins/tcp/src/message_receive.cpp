// SPDX-License-Identifier: BSD-3-Clause
// MessageLane: input. Reads into the port's shared block and delivers messages from there. Only a message that arrives
// in parts is copied, once, to a block of its own.
#include "message_lane.hpp"
#include "port.hpp"

#include <algorithm>
#include <cstring>

namespace cinnabar::tcp {
namespace {

constexpr unsigned reads_max = 4;  // from one lane, before others have their turn

}  // namespace

bool MessageLane::start(TcpPort& port, TcpPeer& peer, na::Stream stream) noexcept {
    front_sent_ = 0;
    want_left_ = 0;
    head_have_ = 0;
    CINNABAR_ASSERT(!partial_);
    return open(port, peer, std::move(stream));
}

void MessageLane::end() noexcept {
    if (partial_) port().blocks().unreference(*partial_);
    partial_ = nullptr;
    drop_batch();
    close();
}

unsigned MessageLane::read_lane() noexcept {
    unsigned did = 0;
    for (unsigned reads = 0; reads < reads_max && !peer().ending(); ++reads) {
        const Bytes room = port().blocks().room();
        // Out of memory: the bytes stay in the kernel for now.
        if (room.empty()) return did;
        std::size_t asked = 0;
        const na::Moved moved = receive_into(room, asked);
        if (moved.why != Errc::ok) {
            if (moved.why != Errc::again) fail(moved.why);
            return did;
        }
        port().hot_lanes().add(*this);
        std::size_t left = moved.bytes;
        if (partial_) {
            const std::size_t part = std::min(left, partial_need_ - partial_have_);
            partial_have_ += part;
            left -= part;
            ++did;
            if (partial_have_ == partial_need_) did += deliver_partial();
        } else {
            left += head_have_;
            head_have_ = 0;
        }
        if (left > 0) did += parse(room.data(), left);
        if (moved.bytes < asked) break;
    }
    return did;
}

// Reads with one system call. If a part of a message was received before, the rest of that message goes into its block,
// and what follows into `room`. If a part of a header was received before, that part is copied to the front of `room`,
// and the rest of the header is read behind it.
na::Moved MessageLane::receive_into(Bytes room, std::size_t& asked) noexcept {
    if (partial_) {
        const std::size_t missing = partial_need_ - partial_have_;
        std::array<iovec, 2> pieces{iovec{partial_->bytes() + partial_have_, missing}, iovec{room.data(), room.size()}};
        asked = missing + room.size();
        return stream().receive(pieces.data(), pieces.size());
    }
    std::memcpy(room.data(), head_.data(), head_have_);
    asked = room.size() - head_have_;
    return stream().receive(room.data() + head_have_, asked);
}

unsigned MessageLane::parse(std::byte* from, std::size_t bytes) noexcept {
    unsigned did = 0;
    std::size_t at = 0;
    while (bytes - at >= frame_header_bytes && !peer().ending()) {
        Frame frame;
        const Errc wrong =
            decode_header({from + at, bytes - at}, LaneKind::messages, port().options().message_bytes_max, frame);
        if (wrong != Errc::ok) {
            port().transport().log_malformed(peer(), "malformed frame");
            fail(Errc::protocol);
            break;
        }
        const std::size_t size = frame_header_bytes + padded(frame.bytes);
        if (bytes - at < size) break;
        did += deliver(frame, from + at + frame_header_bytes, *port().blocks().reading());
        at += size;
    }
    port().blocks().consumed(at);
    if (at < bytes && !peer().ending() && !store_rest({from + at, bytes - at})) fail(Errc::out_of_memory);
    return did;
}

bool MessageLane::store_rest(ConstBytes rest) noexcept {
    if (rest.size() < frame_header_bytes) {
        std::memcpy(head_.data(), rest.data(), rest.size());
        head_have_ = static_cast<std::uint8_t>(rest.size());
        return true;
    }
    Frame frame;
    const Errc wrong = decode_header(rest, LaneKind::messages, port().options().message_bytes_max, frame);
    CINNABAR_ASSERT(wrong == Errc::ok);  // parse() has checked the header
    partial_need_ = frame_header_bytes + padded(frame.bytes);
    partial_ = port().blocks().take(partial_need_);
    if (!partial_) return false;
    std::memcpy(partial_->bytes(), rest.data(), rest.size());
    partial_have_ = rest.size();
    set_partial_message(partial_need_);
    return true;
}

unsigned MessageLane::deliver_partial() noexcept {
    set_partial_message(0);
    na::ReceiveBlock& block = *std::exchange(partial_, nullptr);
    Frame frame;
    const Errc wrong =
        decode_header({block.bytes(), partial_need_}, LaneKind::messages, port().options().message_bytes_max, frame);
    CINNABAR_ASSERT(wrong == Errc::ok);
    const unsigned did = deliver(frame, block.bytes() + frame_header_bytes, block);
    port().blocks().unreference(block);
    return did;
}

unsigned MessageLane::deliver(const Frame& frame, const std::byte* payload, na::ReceiveBlock& block) noexcept {
    if (frame.kind == FrameKind::lane_wanted) {
        // Only the side that dialled the session dials its lanes; the other side ignores the frame.
        if (peer().dialled) port().want_bulk(peer());
        return 1;
    }
    port().small_traffic().note();
    na::Arrival arrival{{payload, frame.bytes}, &peer(), frame.id, &port(), &block, 0};
    port().host().receiver().on_message(frame.kind == FrameKind::expected, arrival);
    return 1;
}

}  // namespace cinnabar::tcp
