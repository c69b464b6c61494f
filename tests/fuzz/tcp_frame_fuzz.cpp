// SPDX-License-Identifier: BSD-3-Clause
// The headers of frames of a tcp connection: the first byte selects the lane. Accepted headers respect the limits on
// which the connection relies, and encode to bytes that decode to the same. access_frame_fuzz.cpp tests the bodies.
#include "frame.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <array>

using namespace cinnabar;
using namespace cinnabar::tcp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    constexpr std::size_t message_bytes_max = 4096;
    if (size < 1 + frame_header_bytes) return 0;
    const ConstBytes in = std::as_bytes(std::span(bytes, size)).subspan(1);
    const LaneKind lane = bytes[0] % 2 ? LaneKind::bulk : LaneKind::messages;
    Frame frame;
    if (decode_header(in, lane, message_bytes_max, frame) != Errc::ok) return 0;
    const std::size_t length = body_bytes(frame.kind);
    CINNABAR_ASSERT(length <= frame_body_bytes_max);
    CINNABAR_ASSERT(frame.bytes <= std::max<std::size_t>(message_bytes_max, frame_data_bytes_max));
    CINNABAR_ASSERT(lane == LaneKind::bulk || frame.bytes <= message_bytes_max);
    std::array<std::byte, frame_header_bytes> header{};
    frame.encode(header);
    Frame again;
    CINNABAR_ASSERT(decode_header(header, lane, message_bytes_max, again) == Errc::ok);
    CINNABAR_ASSERT(again.kind == frame.kind && again.flags == frame.flags && again.status == frame.status);
    CINNABAR_ASSERT(again.bytes == frame.bytes && again.id == frame.id);
    return 0;
}
