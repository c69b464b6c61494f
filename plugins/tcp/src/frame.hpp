// SPDX-License-Identifier: BSD-3-Clause
// Encodes and decodes the frames of a tcp connection (docs/wire-format-tcp.md). Pure, no I/O. The bytes are untrusted:
// a decoder either returns `protocol` or fills in a value that respects the given limits.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/na/session/access_frame.hpp>

#include <cstddef>
#include <cstdint>

namespace cinnabar::tcp {

enum class FrameKind : std::uint8_t {
    // Lane 0.
    unexpected = 1,
    expected = 2,
    lane_wanted = 3,  // asks the side that dialled the session to dial lane 1
    // Lane 1; the same numbers as na::AccessKind.
    get = 16,
    get_data = 17,
    get_failed = 18,
    put = 19,
    put_done = 20,
    stop = 21,
    fetch_add = 22,
    compare_swap = 23,
    atomic_done = 24,
};

enum class LaneKind : std::uint8_t { messages = 0, bulk = 1 };

inline constexpr std::size_t frame_header_bytes = 16;
inline constexpr std::size_t frame_body_bytes_max = na::access_body_bytes_max;
// The maximum number of data bytes in one get_data or put frame. The number is limited because a frame that was begun
// must be finished, even if the lease is revoked or the operation canceled meanwhile.
inline constexpr std::uint32_t frame_data_bytes_max = 1024 * 1024;

// A flag of a put: the target is notified when all data are in place.
inline constexpr std::uint8_t flag_notify = na::access_notify;

// The header of a frame: {u8 kind, u8 flags, u8 status, u8 0, u32 bytes, u64 id}. `bytes` counts the payload of a
// message, or the data after the body. A message is padded with zeros to a multiple of 8. `id` is the tag of a message.
struct Frame {
    FrameKind kind = FrameKind::unexpected;
    std::uint8_t flags = 0;
    Errc status = Errc::ok;  // in get_failed, put_done, atomic_done
    std::uint32_t bytes = 0;
    std::uint64_t id = 0;

    void encode(std::span<std::byte, frame_header_bytes> out) const noexcept;
};

using FrameBody = na::AccessBody;

// Converts the header of a lane 1 frame.
[[nodiscard]] constexpr na::AccessHead access_of(const Frame& frame) noexcept {
    return {static_cast<na::AccessKind>(frame.kind), frame.flags, frame.status, frame.bytes, frame.id};
}
[[nodiscard]] constexpr Frame frame_of(const na::AccessHead& head) noexcept {
    return {static_cast<FrameKind>(head.kind), head.flags, head.status, static_cast<std::uint32_t>(head.data_bytes),
            head.id};
}

[[nodiscard]] constexpr std::size_t padded(std::size_t bytes) noexcept { return (bytes + 7) & ~std::size_t{7}; }
[[nodiscard]] constexpr std::size_t body_bytes(FrameKind kind) noexcept {
    return na::access_body_bytes(static_cast<na::AccessKind>(kind));
}

// Decodes a frame's header. protocol: the kind does not belong on the lane, or does not allow the flags, the status or
// the length. `message_bytes_max`: this side's limit, as announced in its Hello. Requires: `in` has at least
// frame_header_bytes.
[[nodiscard]] Errc decode_header(ConstBytes in, LaneKind lane, std::size_t message_bytes_max, Frame& out) noexcept;

// Encodes the header and body of a lane 1 frame; returns the number of bytes. Requires: room for both.
std::size_t encode_frame(const Frame& frame, const FrameBody& body, Bytes out) noexcept;

}  // namespace cinnabar::tcp
