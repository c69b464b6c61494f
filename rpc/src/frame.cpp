// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include <cinnabar/base/crc32c.hpp>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t time_left_at = 16;
constexpr std::uint8_t version = 1;

std::uint32_t sum_of(std::uint16_t flags, ConstBytes payload) noexcept {
    return (flags & flag_checksum) != 0 ? crc32c(payload) : 0;
}

}  // namespace

// Requests: 0 kind, 1 version, 2 flags, 4 payload bytes, 8 rpc id, 16 time left, 24 shape, 26 provider, 28 checksum;
// the payload; a trace context, if there is one: 0 trace id, 16 span.
void encode_request(const RequestHeader& header, Bytes out) noexcept {
    Writer writer(out.first(request_header_bytes));
    writer.u8(static_cast<std::uint8_t>(FrameKind::request));
    writer.u8(version);
    writer.u16(header.flags);
    writer.u32(header.payload_bytes);
    writer.u64(header.rpc);
    writer.u64(header.time_left_us);
    writer.u16(header.shape);
    writer.u16(header.provider);
    writer.u32(sum_of(header.flags, out.subspan(request_header_bytes, header.payload_bytes)));
    if ((header.flags & flag_trace) == 0) return;
    Writer behind(out.subspan(request_header_bytes + header.payload_bytes, trace_bytes));
    behind.u64(header.trace.id[0]);
    behind.u64(header.trace.id[1]);
    behind.u64(header.trace.span);
}

Errc decode_request(ConstBytes in, RequestHeader& header, ConstBytes& payload) noexcept {
    Reader reader(in);
    const std::uint8_t kind = reader.u8();
    const std::uint8_t seen_version = reader.u8();
    header.flags = reader.u16();
    header.payload_bytes = reader.u32();
    header.rpc = reader.u64();
    header.time_left_us = reader.u64();
    header.shape = reader.u16();
    header.provider = reader.u16();
    const std::uint32_t sum = reader.u32();
    if (!reader.ok() || kind != static_cast<std::uint8_t>(FrameKind::request) || seen_version != version) {
        return Errc::protocol;
    }
    const std::size_t behind = (header.flags & flag_trace) != 0 ? trace_bytes : 0;
    if ((header.flags & ~request_flags_known) != 0 || header.payload_bytes + behind != reader.left()) {
        return Errc::protocol;
    }
    payload = reader.view(header.payload_bytes);
    if (behind != 0) {
        header.trace.id[0] = reader.u64();
        header.trace.id[1] = reader.u64();
        header.trace.span = reader.u64();
    }
    return sum == sum_of(header.flags, payload) ? Errc::ok : Errc::bad_checksum;
}

// Replies: 0 kind, 1 result, 2 flags, 4 payload bytes, 8 shape, 10 credits, 12 checksum; the payload.
void encode_reply(const ReplyHeader& header, Bytes out) noexcept {
    Writer writer(out.first(reply_header_bytes));
    writer.u8(static_cast<std::uint8_t>(FrameKind::reply));
    writer.u8(static_cast<std::uint8_t>(header.result));
    writer.u16(header.flags);
    writer.u32(header.payload_bytes);
    writer.u16(header.shape);
    writer.u16(header.credits);
    writer.u32(sum_of(header.flags, out.subspan(reply_header_bytes, header.payload_bytes)));
}

Errc decode_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept {
    Reader reader(in);
    const std::uint8_t kind = reader.u8();
    header.result = static_cast<Errc>(reader.u8());
    header.flags = reader.u16();
    header.payload_bytes = reader.u32();
    header.shape = reader.u16();
    header.credits = reader.u16();
    const std::uint32_t sum = reader.u32();
    if (!reader.ok() || kind != static_cast<std::uint8_t>(FrameKind::reply)) return Errc::protocol;
    if ((header.flags & ~reply_flags_known) != 0 || header.payload_bytes != reader.left()) return Errc::protocol;
    payload = reader.view(header.payload_bytes);
    return sum == sum_of(header.flags, payload) ? Errc::ok : Errc::bad_checksum;
}

void set_time_left(std::uint64_t time_left_us, Bytes request) noexcept {
    Writer writer(request.subspan(time_left_at, sizeof time_left_us));
    writer.u64(time_left_us);
}

std::uint8_t frame_kind(ConstBytes in) noexcept {
    if (in.empty()) return 0;
    const auto kind = std::to_integer<std::uint8_t>(in.front());
    return kind <= static_cast<std::uint8_t>(FrameKind::control) ? kind : std::uint8_t{0};
}

// Control: 0 kind, 1 flags, 2 records, 4 zero; then records of 16: 0 type, 1 zero, 4 value, 8 call.
void encode_control_header(std::uint8_t flags, std::uint16_t records, Writer& writer) noexcept {
    writer.u8(static_cast<std::uint8_t>(FrameKind::control));
    writer.u8(flags);
    writer.u16(records);
    writer.u32(0);
}

void encode_control(const ControlRecord& record, Writer& writer) noexcept {
    writer.u32(static_cast<std::uint32_t>(record.type));
    writer.u32(record.value);
    writer.u64(record.call);
}

Errc decode_control_header(Reader& reader, std::uint8_t& flags, std::uint16_t& records) noexcept {
    const std::uint8_t kind = reader.u8();
    flags = reader.u8();
    records = reader.u16();
    reader.skip(4);
    if (!reader.ok() || kind != static_cast<std::uint8_t>(FrameKind::control)) return Errc::protocol;
    return reader.left() == records * control_record_bytes ? Errc::ok : Errc::protocol;
}

ControlRecord decode_control(Reader& reader) noexcept {
    ControlRecord record;
    record.type = static_cast<ControlType>(reader.u8());
    reader.skip(3);
    record.value = reader.u32();
    record.call = reader.u64();
    return record;
}

}  // namespace cinnabar::rpc
