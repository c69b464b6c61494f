// SPDX-License-Identifier: BSD-3-Clause
// The frames of the RPC layer inside na messages: docs/wire-format.md, "RPC frames". Pure functions. The call id is the
// na tag, not in here.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/rpc/rpc_id.hpp>
#include <cinnabar/rpc/times.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::rpc {

enum class FrameKind : std::uint8_t { request = 1, reply = 2, control = 3 };

// Flags of requests and replies. Unknown bits are refused as `protocol`.
inline constexpr std::uint16_t flag_overflow = 1;  // the payload is the descriptor of the real one
inline constexpr std::uint16_t flag_one_way = 2;   // requests: no reply
inline constexpr std::uint16_t flag_hungry = 4;    // requests: the origin has more and no credit for it
inline constexpr std::uint16_t flag_checksum = 8;  // the CRC-32C of the payload is in the header
inline constexpr std::uint16_t flag_trace = 16;    // requests: a trace context follows the payload
inline constexpr std::uint16_t flag_place = 32;    // requests: a place in a queue of the target follows the payload
// Requests: asks the target to report how long it had the request. Replies: those times follow the payload.
inline constexpr std::uint16_t flag_times = 64;
inline constexpr std::uint16_t request_flags_known = 127;
inline constexpr std::uint16_t reply_flags_known = flag_overflow | flag_checksum | flag_times;

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
// The most that can follow the payload of a request, and how much follows it with given flags.
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
    std::uint16_t credits = 0;  // requests that the origin may send beyond those it may already
};

inline constexpr std::size_t times_bytes = 8;

enum class ControlType : std::uint8_t {
    grant = 1,     // value: credits
    cancel = 2,    // call: whom
    released = 3,  // to the origin: what the call lent is not used any more
    ping = 4,
    pong = 5,
    recall = 6,    // value: credits to keep; the others are wanted back, if no call waits for them
    returned = 7,  // value: credits given back, 0 if none
    fetched = 8,   // to the target: the large result of the call is not used any more
    leave = 9,     // the connection is wanted for somebody else: close it, if it has no use
    stay = 10,     // it has
    refused = 11,  // to the origin: there was no room to look at the request, it ends with `overloaded`
};
inline constexpr std::size_t control_types = 12;  // and 0, which is none

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

// Requires: room for the header, the payload, which is in its place already, and what follows it.
void encode_request(const RequestHeader& header, Bytes out) noexcept;
void encode_reply(const ReplyHeader& header, Bytes out) noexcept;
// Appends the times after the payload of a reply with flag_times; encode_reply() does not.
void encode_times(const TargetTimes& times, Bytes out) noexcept;
// Requires: decode_reply() has found flag_times in it.
[[nodiscard]] TargetTimes decode_times(ConstBytes reply) noexcept;
// protocol: cut short, unknown flags or kind, a payload size that is not that of the rest. bad_checksum.
[[nodiscard]] Errc decode_request(ConstBytes in, RequestHeader& header, ConstBytes& payload) noexcept;
[[nodiscard]] Errc decode_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept;
// The same in two steps: a reply without times; and, if that returns `protocol`, one with times, whose header is
// decoded already.
[[nodiscard]] Errc decode_plain_reply(ConstBytes in, ReplyHeader& header, ConstBytes& payload) noexcept;
[[nodiscard, gnu::cold]] Errc decode_timed_reply(ConstBytes in, const ReplyHeader& header,
                                                 ConstBytes& payload) noexcept;

// In a request that is encoded already, and has waited since.
void set_time_left(std::uint64_t time_left_us, Bytes request) noexcept;

// The kind of a frame, or 0 for none of ours.
[[nodiscard]] std::uint8_t frame_kind(ConstBytes in) noexcept;

void encode_control_header(std::uint8_t flags, std::uint16_t records, Writer& writer) noexcept;
void encode_control(const ControlRecord& record, Writer& writer) noexcept;
// protocol: cut short, or a record count that is not that of the rest.
[[nodiscard]] Errc decode_control_header(Reader& reader, std::uint8_t& flags, std::uint16_t& records) noexcept;
// Unknown types are handed out as they are: the caller passes over them.
[[nodiscard]] ControlRecord decode_control(Reader& reader) noexcept;

}  // namespace cinnabar::rpc
