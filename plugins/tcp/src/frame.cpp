// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include <cinnabar/base/assert.hpp>

namespace cinnabar::tcp {
namespace {

Errc check_message(const Frame& frame, std::size_t message_bytes_max) noexcept {
    if (frame.flags != 0 || frame.status != Errc::ok) return Errc::protocol;
    switch (frame.kind) {
        case FrameKind::unexpected:
        case FrameKind::expected:
            return frame.bytes <= message_bytes_max ? Errc::ok : Errc::protocol;
        case FrameKind::lane_wanted:
            return frame.bytes == 0 ? Errc::ok : Errc::protocol;
        default:
            return Errc::protocol;
    }
}

Errc check_bulk(const Frame& frame) noexcept {
    if (!na::is_access(static_cast<std::uint8_t>(frame.kind))) return Errc::protocol;
    return frame.bytes <= frame_data_bytes_max ? na::check_access(access_of(frame)) : Errc::protocol;
}

}  // namespace

void Frame::encode(std::span<std::byte, frame_header_bytes> out) const noexcept {
    ByteWriter writer(out);
    writer.u8(static_cast<std::uint8_t>(kind));
    writer.u8(flags);
    writer.u8(static_cast<std::uint8_t>(status));
    writer.u8(0);
    writer.u32(bytes);
    writer.u64(id);
}

Errc decode_header(ConstBytes in, LaneKind lane, std::size_t message_bytes_max, Frame& out) noexcept {
    CINNABAR_DEBUG_ASSERT(in.size() >= frame_header_bytes);
    ByteReader reader(in.first(frame_header_bytes));
    out.kind = static_cast<FrameKind>(reader.u8());
    out.flags = reader.u8();
    out.status = static_cast<Errc>(reader.u8());
    const std::uint8_t zero = reader.u8();
    out.bytes = reader.u32();
    out.id = reader.u64();
    if (zero != 0) return Errc::protocol;
    return lane == LaneKind::bulk ? check_bulk(out) : check_message(out, message_bytes_max);
}

std::size_t encode_frame(const Frame& frame, const FrameBody& body, Bytes out) noexcept {
    CINNABAR_ASSERT(out.size() >= frame_header_bytes + body_bytes(frame.kind));
    frame.encode(out.first<frame_header_bytes>());
    return frame_header_bytes +
           na::encode_access_body(static_cast<na::AccessKind>(frame.kind), body, out.subspan(frame_header_bytes));
}

}  // namespace cinnabar::tcp
