// SPDX-License-Identifier: BSD-3-Clause
// Frames of a fabric and greetings of its socket: the first byte selects the decoder. Accepted ones respect the limits
// on which sessions rely, and encode to bytes that decode to the same.
#include "frame.hpp"
#include "greeting.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <array>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::ofi;

namespace {

void try_frame(ConstBytes in) {
    constexpr std::size_t message_bytes_max = 4096;
    Frame frame;
    TransferBody body;
    ConstBytes payload;
    if (decode(in, message_bytes_max, frame, body, payload) != Errc::ok) return;
    CINNABAR_ASSERT(payload.size() == frame.bytes && frame.bytes <= message_bytes_max);
    CINNABAR_ASSERT(in.size() == head_bytes(frame.kind) + padded(frame.bytes));
    const bool asks = frame.kind == FrameKind::get || frame.kind == FrameKind::put;
    if (asks && body.chunk > 0) {
        CINNABAR_ASSERT(chunks_of(body.bytes, body.chunk) >= 1 && chunks_of(body.bytes, body.chunk) <= chunks_max);
    } else if (asks) {
        CINNABAR_ASSERT(body.bytes <= small_bytes_max);
    }
    std::vector<std::byte> again(in.size());
    encode(frame, body, again);
    std::copy(payload.begin(), payload.end(), again.begin() + static_cast<std::ptrdiff_t>(head_bytes(frame.kind)));
    Frame same;
    TransferBody same_body;
    CINNABAR_ASSERT(decode(again, message_bytes_max, same, same_body, payload) == Errc::ok);
    CINNABAR_ASSERT(same.kind == frame.kind && same.flags == frame.flags && same.status == frame.status);
    CINNABAR_ASSERT(same.bytes == frame.bytes && same.session == frame.session && same.id == frame.id);
    CINNABAR_ASSERT(same_body.offset == body.offset && same_body.bytes == body.bytes && same_body.tag == body.tag);
    CINNABAR_ASSERT(same_body.notify == body.notify && same_body.chunk == body.chunk);
}

void try_greeting(ConstBytes in) {
    Greeting greeting;
    if (Greeting::decode(in, greeting) != Errc::ok) return;
    CINNABAR_ASSERT(greeting.address_bytes <= Greeting::address_bytes_max);
    CINNABAR_ASSERT(greeting.provider().size() <= Greeting::provider_bytes_max);
    Greeting same;
    CINNABAR_ASSERT(Greeting::decode(greeting.encode(), same) == Errc::ok);
    CINNABAR_ASSERT(same.provider() == greeting.provider() && same.session == greeting.session);
    CINNABAR_ASSERT(same.address == greeting.address);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 1) return 0;
    const ConstBytes in = std::as_bytes(std::span(bytes, size)).subspan(1);
    if (bytes[0] % 2 == 0) {
        try_frame(in);
    } else {
        try_greeting(in);
    }
    return 0;
}
