// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include <cinnabar/base/assert.hpp>

namespace cinnabar::ofi {
namespace {

bool known(FrameKind kind) noexcept {
    return (kind >= FrameKind::probe && kind <= FrameKind::expected) ||
           (kind >= FrameKind::get && kind <= FrameKind::atomic_done);
}

bool has_status(FrameKind kind) noexcept {
    return kind == FrameKind::get_ended || kind == FrameKind::put_done || kind == FrameKind::atomic_done;
}

std::size_t bytes_max(FrameKind kind, std::size_t message_bytes_max) noexcept {
    switch (kind) {
        case FrameKind::unexpected:
        case FrameKind::expected:
            return message_bytes_max;
        case FrameKind::get_data:
        case FrameKind::put:
            return small_bytes_max;
        default:
            return 0;
    }
}

// Checks the fields of a get or put that say how its data are sent: in the frame, or in chunks.
bool well_formed(const Frame& frame, const TransferBody& body) noexcept {
    const bool small = body.chunk == 0;
    if (frame.kind == FrameKind::put && frame.bytes != (small ? body.bytes : 0)) return false;
    if (small) return body.bytes <= small_bytes_max;
    if (body.chunk < small_bytes_max || body.chunk > chunk_bytes_max || body.bytes == 0) return false;
    if (body.bytes > std::uint64_t{body.chunk} * chunks_max) return false;
    return is_first_tag(body.tag);
}

}  // namespace

SessionName receiver_of(ConstBytes frame) noexcept {
    constexpr SessionName nobody{~std::uint32_t{0}, 0};
    if (frame.size() < frame_header_bytes) return nobody;
    ByteReader reader(frame.subspan(session_offset));
    SessionName name;
    name.index = reader.u32();
    (void)reader.u32();
    name.check = reader.u64();
    return name;
}

void encode(const Frame& frame, const TransferBody& body, Bytes out) noexcept {
    CINNABAR_DEBUG_ASSERT(out.size() >= head_bytes(frame.kind));
    ByteWriter writer(out);
    writer.u8(static_cast<std::uint8_t>(frame.kind));
    writer.u8(frame.flags);
    writer.u8(static_cast<std::uint8_t>(frame.status));
    writer.u8(0);
    writer.u32(frame.bytes);
    writer.u64(frame.id);
    writer.u32(frame.session.index);
    writer.u32(0);
    writer.u64(frame.session.check);
    if (!is_transfer(frame.kind)) return;
    body.key.encode(writer);
    writer.u64(body.offset);
    writer.u64(body.bytes);
    writer.u64(body.tag);
    writer.u64(body.operand);
    writer.u64(body.compare);
    writer.u32(body.notify);
    writer.u32(body.chunk);
}

Errc decode(ConstBytes in, std::size_t message_bytes_max, Frame& frame, TransferBody& body,
            ConstBytes& payload) noexcept {
    ByteReader reader(in);
    frame.kind = static_cast<FrameKind>(reader.u8());
    frame.flags = reader.u8();
    const std::uint8_t status = reader.u8();
    const std::uint8_t zero = reader.u8();
    frame.bytes = reader.u32();
    frame.id = reader.u64();
    frame.session.index = reader.u32();
    const std::uint32_t more_zeros = reader.u32();
    frame.session.check = reader.u64();
    if (!reader.ok() || !known(frame.kind) || zero != 0 || more_zeros != 0) return Errc::protocol;
    frame.status = static_cast<Errc>(status);
    if ((frame.flags & ~(frame.kind == FrameKind::put ? flag_notify : 0)) != 0) return Errc::protocol;
    if (status != 0 && (!has_status(frame.kind) || !is_known(frame.status))) return Errc::protocol;
    if (frame.bytes > bytes_max(frame.kind, message_bytes_max)) return Errc::protocol;
    if (is_transfer(frame.kind)) {
        body.key = na::LeaseKey::decode(reader);
        body.offset = reader.u64();
        body.bytes = reader.u64();
        body.tag = reader.u64();
        body.operand = reader.u64();
        body.compare = reader.u64();
        body.notify = reader.u32();
        body.chunk = reader.u32();
        if (!reader.ok()) return Errc::protocol;
        const bool asks = frame.kind == FrameKind::get || frame.kind == FrameKind::put;
        if (asks && !well_formed(frame, body)) return Errc::protocol;
    }
    // Padded to a multiple of 8 bytes.
    if (reader.left() != padded(frame.bytes)) return Errc::protocol;
    payload = reader.view(frame.bytes);
    return Errc::ok;
}

}  // namespace cinnabar::ofi
