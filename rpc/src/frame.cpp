// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

#include "plain_frame.hpp"

#include <cinnabar/base/crc32c.hpp>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t time_left_at = 16;

using detail::load;
using detail::request_begins;
using detail::store;

std::uint32_t sum_of(std::uint16_t flags, ConstBytes payload) noexcept {
    return (flags & flag_checksum) != 0 ? crc32c(payload) : 0;
}

}  // namespace

// The fields of a request by byte offset: 0 kind, 1 version, 2 flags, 4 payload bytes, 8 rpc id, 16 time left, 24
// shape, 26 provider, 28 checksum. The payload follows; then, with flag_place, the place (8 bytes); then, with
// flag_trace, the trace, by offset in it: 0 trace id, 16 span.
void encode_request(const RequestHeader& header, Bytes out) noexcept {
    std::byte* const at = out.first<request_header_bytes>().data();
    store(at, std::uint64_t{header.payload_bytes} << 32 | std::uint64_t{header.flags} << 16 | request_begins);
    store(at + 8, header.rpc);
    store(at + time_left_at, header.time_left_us);
    store(at + 24, header.shape);
    store(at + 26, header.provider);
    store(at + 28, sum_of(header.flags, out.subspan(request_header_bytes, header.payload_bytes)));
    if ((header.flags & (flag_trace | flag_place)) == 0) return;
    ByteWriter behind(out.subspan(request_header_bytes + header.payload_bytes, behind_payload(header.flags)));
    if ((header.flags & flag_place) != 0) behind.u64(header.place);
    if ((header.flags & flag_trace) == 0) return;
    behind.u64(header.trace.id[0]);
    behind.u64(header.trace.id[1]);
    behind.u64(header.trace.span);
}

Errc decode_request(ConstBytes in, RequestHeader& header, ConstBytes& payload) noexcept {
    if (in.size() < request_header_bytes) return Errc::protocol;
    const std::byte* const at = in.data();
    header.flags = load<std::uint16_t>(at + 2);
    header.payload_bytes = load<std::uint32_t>(at + 4);
    header.rpc = load<RpcId>(at + 8);
    header.time_left_us = load<std::uint64_t>(at + time_left_at);
    header.shape = load<std::uint16_t>(at + 24);
    header.provider = load<ProviderId>(at + 26);
    if (load<std::uint16_t>(at) != request_begins || (header.flags & ~request_flags_known) != 0) {
        return Errc::protocol;
    }
    const std::size_t behind = behind_payload(header.flags);
    if (header.payload_bytes + behind != in.size() - request_header_bytes) return Errc::protocol;
    payload = {at + request_header_bytes, header.payload_bytes};
    if (behind != 0) {
        ByteReader reader(in.last(behind));
        if ((header.flags & flag_place) != 0) header.place = reader.u64();
        if ((header.flags & flag_trace) != 0) {
            header.trace.id[0] = reader.u64();
            header.trace.id[1] = reader.u64();
            header.trace.span = reader.u64();
        }
    }
    return load<std::uint32_t>(at + 28) == sum_of(header.flags, payload) ? Errc::ok : Errc::bad_checksum;
}

// The fields of a reply by byte offset: 0 kind, 1 result, 2 flags, 4 payload bytes, 8 shape, 10 credits, 12 checksum.
// The payload follows; then, with flag_times, the times, by offset in them: 0 waited, 4 handled, 8 transfers, 12 came.
void encode_reply(const ReplyHeader& header, Bytes out) noexcept {
    std::byte* const at = out.first<reply_header_bytes>().data();
    const std::uint64_t begin =
        static_cast<std::uint64_t>(FrameKind::reply) | std::uint64_t{static_cast<std::uint8_t>(header.result)} << 8;
    store(at, std::uint64_t{header.payload_bytes} << 32 | std::uint64_t{header.flags} << 16 | begin);
    const std::uint32_t sum = sum_of(header.flags, out.subspan(reply_header_bytes, header.payload_bytes));
    store(at + 8, std::uint64_t{sum} << 32 | std::uint64_t{header.credits} << 16 | header.shape);
}

void encode_times(const TargetTimes& times, Bytes out) noexcept {
    std::byte* const at = out.first<times_bytes>().data();
    store(at, times.waited_us);
    store(at + 4, times.handled_us);
    store(at + 8, times.transfers_us);
    store(at + 12, times.came_us);
}

TargetTimes decode_times(ConstBytes reply) noexcept {
    const std::byte* const at = reply.last<times_bytes>().data();
    return {load<std::uint32_t>(at), load<std::uint32_t>(at + 4), load<std::uint32_t>(at + 8), load<TimeUs>(at + 12)};
}

Errc decode_plain_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept {
    constexpr std::uint16_t known = reply_flags_known & ~flag_times;
    if (in.size() < reply_header_bytes) return Errc::protocol;
    const std::byte* const at = in.data();
    header.result = static_cast<Errc>(load<std::uint8_t>(at + 1));
    header.flags = load<std::uint16_t>(at + 2);
    header.payload_bytes = load<std::uint32_t>(at + 4);
    header.shape = load<std::uint16_t>(at + 8);
    header.credits = load<std::uint16_t>(at + 10);
    if (load<std::uint8_t>(at) != static_cast<std::uint8_t>(FrameKind::reply) || (header.flags & ~known) != 0 ||
        header.payload_bytes != in.size() - reply_header_bytes) {
        return Errc::protocol;
    }
    payload = in.subspan(reply_header_bytes);
    return load<std::uint32_t>(at + 12) == sum_of(header.flags, payload) ? Errc::ok : Errc::bad_checksum;
}

Errc decode_timed_reply(ConstBytes in, const ReplyHeader& header, ConstBytes& payload) noexcept {
    if (in.size() < reply_header_bytes) return Errc::protocol;
    const std::size_t bytes = std::size_t{header.payload_bytes} + times_bytes;
    if (frame_kind(in) != static_cast<std::uint8_t>(FrameKind::reply) || (header.flags & flag_times) == 0 ||
        (header.flags & ~reply_flags_known) != 0 || bytes != in.size() - reply_header_bytes) {
        return Errc::protocol;
    }
    payload = in.subspan(reply_header_bytes, header.payload_bytes);
    return load<std::uint32_t>(in.data() + 12) == sum_of(header.flags, payload) ? Errc::ok : Errc::bad_checksum;
}

Errc decode_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept {
    const Errc plain = decode_plain_reply(in, header, payload);
    return plain == Errc::protocol ? decode_timed_reply(in, header, payload) : plain;
}

void set_time_left(std::uint64_t time_left_us, Bytes request) noexcept {
    ByteWriter writer(request.subspan(time_left_at, sizeof time_left_us));
    writer.u64(time_left_us);
}

std::uint8_t frame_kind(ConstBytes in) noexcept {
    if (in.empty()) return 0;
    const auto kind = std::to_integer<std::uint8_t>(in.front());
    return kind <= static_cast<std::uint8_t>(FrameKind::control) ? kind : std::uint8_t{0};
}

// Control: 0 kind, 1 flags, 2 records, 4 zero; then records of 16: 0 type, 1 zero, 4 value, 8 call.
void encode_control_header(std::uint8_t flags, std::uint16_t records, ByteWriter& writer) noexcept {
    writer.u8(static_cast<std::uint8_t>(FrameKind::control));
    writer.u8(flags);
    writer.u16(records);
    writer.u32(0);
}

void encode_control(const ControlRecord& record, ByteWriter& writer) noexcept {
    writer.u32(static_cast<std::uint32_t>(record.type));
    writer.u32(record.value);
    writer.u64(record.call);
}

Errc decode_control_header(ByteReader& reader, std::uint8_t& flags, std::uint16_t& records) noexcept {
    const std::uint8_t kind = reader.u8();
    flags = reader.u8();
    records = reader.u16();
    reader.skip(4);
    if (!reader.ok() || kind != static_cast<std::uint8_t>(FrameKind::control)) return Errc::protocol;
    return reader.left() == records * control_record_bytes ? Errc::ok : Errc::protocol;
}

ControlRecord decode_control(ByteReader& reader) noexcept {
    ControlRecord record;
    record.type = static_cast<ControlType>(reader.u8());
    reader.skip(3);
    record.value = reader.u32();
    record.call = reader.u64();
    return record;
}

}  // namespace cinnabar::rpc
