// SPDX-License-Identifier: BSD-3-Clause
// The frames of the RPC layer inside na messages (docs/wire-format.md, "RPC frames"). Pure functions. The call id is
// the na tag, and not in the frame.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/rpc/rpc_id.hpp>
#include <cinnabar/rpc/times.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

enum class FrameKind : std::uint8_t { request = 1, reply = 2, control = 3 };

// Flags of requests and replies. A frame with an unknown bit is rejected with `protocol`.
inline constexpr std::uint16_t flag_large = 1;    // the payload is the descriptor of the actual, large payload
inline constexpr std::uint16_t flag_one_way = 2;  // requests: no reply
// In a request: the origin has more requests and no credits for them.
inline constexpr std::uint16_t flag_wants_credits = 4;
inline constexpr std::uint16_t flag_checksum = 8;  // the CRC-32C of the payload is in the header
inline constexpr std::uint16_t flag_trace = 16;    // requests: a trace context follows the payload
inline constexpr std::uint16_t flag_place = 32;    // requests: a place in a queue of the target follows the payload
// Requests: asks the target to report how long it had the request. Replies: those times follow the payload.
inline constexpr std::uint16_t flag_times = 64;
inline constexpr std::uint16_t flag_unsampled = 128;  // requests: nobody records the trace; with flag_trace
inline constexpr std::uint16_t request_flags_known = 255;
inline constexpr std::uint16_t reply_flags_known = flag_large | flag_checksum | flag_times;

inline constexpr std::uint64_t time_left_none = ~std::uint64_t{0};

struct RequestHeader {
    std::uint16_t flags = 0;
    std::uint32_t payload_bytes = 0;
    RpcId rpc = 0;
    std::uint64_t time_left_us = time_left_none;  // 0: expired
    std::uint16_t shape = 0;
    ProviderId provider = 0;
    std::uint64_t place = 0;  // with flag_place
    TraceContext trace;       // with flag_trace
};

inline constexpr std::size_t place_bytes = 8;
inline constexpr std::size_t trace_bytes = 24;
// The number of bytes that follow the payload of a request: at most, and with given flags.
inline constexpr std::size_t behind_payload_max = place_bytes + trace_bytes;
[[nodiscard]] constexpr std::size_t behind_payload(std::uint16_t flags) noexcept {
    if ((flags & (flag_place | flag_trace)) == 0) return 0;
    return ((flags & flag_place) != 0 ? place_bytes : 0) + ((flags & flag_trace) != 0 ? trace_bytes : 0);
}

struct ReplyHeader {
    Errc result = Errc::ok;
    std::uint16_t flags = 0;
    std::uint32_t payload_bytes = 0;
    std::uint16_t shape = 0;
    std::uint16_t credits = 0;  // additional requests that the origin may send
};

inline constexpr std::size_t times_bytes = 20;

enum class ControlType : std::uint8_t {
    grant = 1,     // value: credits
    cancel = 2,    // call: the call to cancel
    released = 3,  // to the origin: the memory lent by the call is no longer used
    ping = 4,
    pong = 5,
    recall = 6,    // value: credits to keep; the others should be returned, unless calls wait for them
    returned = 7,  // value: credits given back, 0 if none
    fetched = 8,   // to the target: the large result of the call is no longer used
    leave = 9,     // the connection is needed for another peer: close it if it is not used
    stay = 10,     // the connection is used, and stays
    refused = 11,  // to the origin: there was no slot for the request; it ends with `overloaded`
};
inline constexpr std::size_t control_types = 12;  // including 0, which is no type

struct ControlRecord {
    ControlType type = ControlType::grant;
    std::uint32_t value = 0;
    std::uint64_t call = 0;
};

inline constexpr std::uint8_t control_wants_ack = 1;
inline constexpr std::uint8_t control_is_ack = 2;
inline constexpr std::size_t control_header_bytes = 8;
inline constexpr std::size_t control_record_bytes = 16;

inline constexpr std::size_t request_header_bytes = 32;
inline constexpr std::size_t reply_header_bytes = 16;

// Requires: `out` has room for the header, for the payload, which is in place already, and for the fields after it.
void encode_request(const RequestHeader& header, Bytes out) noexcept;
void encode_reply(const ReplyHeader& header, Bytes out) noexcept;
// Writes the times after the payload of a reply with flag_times, which encode_reply() does not do.
void encode_times(const TargetTimes& times, Bytes out) noexcept;
// Decodes the times at the end of a reply. Requires: decode_reply() has found flag_times in it.
[[nodiscard]] TargetTimes decode_times(ConstBytes reply) noexcept;
// protocol: cut short, unknown flags or kind, or a payload size that does not match the frame. bad_checksum.
[[nodiscard]] Errc decode_request(ConstBytes in, RequestHeader& header, ConstBytes& payload) noexcept;
[[nodiscard]] Errc decode_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept;
// These functions do the same as decode_reply(), in two steps. decode_plain_reply() decodes a reply without times. If
// it returns `protocol`, decode_timed_reply() checks whether the frame is a reply with times; `header` is the one that
// decode_plain_reply() has decoded.
[[nodiscard]] Errc decode_plain_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept;
[[nodiscard, gnu::cold]] Errc decode_timed_reply(ConstBytes in, const ReplyHeader& header,
                                                 ConstBytes& payload) noexcept;

// Updates the time left in an encoded request that has waited.
void set_time_left(std::uint64_t time_left_us, Bytes request) noexcept;

// The kind of a frame; 0: unknown.
[[nodiscard]] std::uint8_t frame_kind(ConstBytes in) noexcept;

void encode_control_header(std::uint8_t flags, std::uint16_t records, ByteWriter& writer) noexcept;
void encode_control(const ControlRecord& record, ByteWriter& writer) noexcept;
// protocol: cut short, or a record count that does not match the message.
[[nodiscard]] Errc decode_control_header(ByteReader& reader, std::uint8_t& flags, std::uint16_t& records) noexcept;
// Records of unknown types are decoded as well; the caller ignores them.
[[nodiscard]] ControlRecord decode_control(ByteReader& reader) noexcept;

}  // namespace cinnabar::rpc
