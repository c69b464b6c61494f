// SPDX-License-Identifier: BSD-3-Clause
#include "framing.hpp"

#include <cinnabar/base/assert.hpp>

namespace cinnabar::tcp {
namespace {

bool carried(FrameKind kind, Lane lane) noexcept {
    switch (kind) {
        case FrameKind::unexpected:
        case FrameKind::expected:
        case FrameKind::lane_wanted:
            return lane == Lane::messages;
        case FrameKind::get:
        case FrameKind::get_data:
        case FrameKind::get_failed:
        case FrameKind::put:
        case FrameKind::put_done:
        case FrameKind::stop:
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
        case FrameKind::atomic_done:
            return lane == Lane::bulk;
    }
    return false;
}

std::size_t bytes_max(FrameKind kind, std::size_t message_bytes_max) noexcept {
    switch (kind) {
        case FrameKind::unexpected:
        case FrameKind::expected:
            return message_bytes_max;
        case FrameKind::get_data:
        case FrameKind::put:
            return frame_data_bytes_max;
        default:
            return 0;
    }
}

bool has_status(FrameKind kind) noexcept {
    return kind == FrameKind::get_failed || kind == FrameKind::put_done || kind == FrameKind::atomic_done;
}

}  // namespace

void Frame::encode(std::span<std::byte, frame_header_bytes> out) const noexcept {
    Writer writer(out);
    writer.u8(static_cast<std::uint8_t>(kind));
    writer.u8(flags);
    writer.u8(static_cast<std::uint8_t>(status));
    writer.u8(0);
    writer.u32(bytes);
    writer.u64(id);
}

std::size_t body_bytes(FrameKind kind) noexcept {
    switch (kind) {
        case FrameKind::get:
            return 32;
        case FrameKind::put:
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            return 40;
        case FrameKind::atomic_done:
            return 8;
        default:
            return 0;
    }
}

Errc decode_header(ConstBytes in, Lane lane, std::size_t message_bytes_max, Frame& out) noexcept {
    CINNABAR_DEBUG_ASSERT(in.size() >= frame_header_bytes);
    Reader reader(in.first(frame_header_bytes));
    out.kind = static_cast<FrameKind>(reader.u8());
    out.flags = reader.u8();
    const std::uint8_t status = reader.u8();
    const std::uint8_t zero = reader.u8();
    out.bytes = reader.u32();
    out.id = reader.u64();
    out.status = static_cast<Errc>(status);
    if (!carried(out.kind, lane) || zero != 0) return Errc::protocol;
    if ((out.flags & ~(out.kind == FrameKind::put ? flag_notify : 0)) != 0) return Errc::protocol;
    if (status != 0 && (!has_status(out.kind) || status >= errc_count)) return Errc::protocol;
    if (out.kind == FrameKind::get_failed && status == 0) return Errc::protocol;
    if (out.bytes > bytes_max(out.kind, message_bytes_max)) return Errc::protocol;
    return Errc::ok;
}

Errc decode_body(ConstBytes in, const Frame& frame, FrameBody& out) noexcept {
    Reader reader(in);
    switch (frame.kind) {
        case FrameKind::get:
            out.key = na::LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.left = reader.u64();
            break;
        case FrameKind::put:
            out.key = na::LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.left = reader.u64();
            out.notify = reader.u32();
            reader.skip(4);
            if (frame.bytes > out.left) return Errc::protocol;
            // Only the frame that ends an operation may be empty: others would never come to an end.
            if (frame.bytes == 0 && out.left != 0) return Errc::protocol;
            break;
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            out.key = na::LeaseKey::decode(reader);
            out.offset = reader.u64();
            out.operand = reader.u64();
            out.compare = reader.u64();
            break;
        case FrameKind::atomic_done:
            out.value = reader.u64();
            break;
        default:
            break;
    }
    return reader.ok() ? Errc::ok : Errc::protocol;
}

std::size_t encode_frame(const Frame& frame, const FrameBody& body, Bytes out) noexcept {
    CINNABAR_ASSERT(out.size() >= frame_header_bytes + body_bytes(frame.kind));
    frame.encode(out.first<frame_header_bytes>());
    Writer writer(out.subspan(frame_header_bytes));
    switch (frame.kind) {
        case FrameKind::get:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.left);
            break;
        case FrameKind::put:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.left);
            writer.u32(body.notify);
            writer.u32(0);
            break;
        case FrameKind::fetch_add:
        case FrameKind::compare_swap:
            body.key.encode(writer);
            writer.u64(body.offset);
            writer.u64(body.operand);
            writer.u64(body.compare);
            break;
        case FrameKind::atomic_done:
            writer.u64(body.value);
            break;
        default:
            break;
    }
    return frame_header_bytes + writer.size();
}

}  // namespace cinnabar::tcp
