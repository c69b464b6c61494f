// SPDX-License-Identifier: BSD-3-Clause
// The frames of the RPC layer: payloads lie within the bytes, and headers encode to the bytes that were decoded. A
// frame that is taken for a plain one decodes to the same.
#include "frame.hpp"
#include "plain_frame.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::rpc;

namespace {

void check_payload(ConstBytes in, ConstBytes payload, std::size_t header_bytes, std::uint32_t told,
                   std::size_t behind) {
    CINNABAR_ASSERT(payload.size() == told && in.size() == header_bytes + told + behind);
    CINNABAR_ASSERT(payload.empty() || payload.data() == in.data() + header_bytes);
}

void try_request(ConstBytes in) {
    RequestHeader header;
    ConstBytes payload;
    const Errc decoded = decode_request(in, header, payload);
    if (PlainRequest::is_plain(in)) {
        const PlainRequest plain(in.data());
        CINNABAR_ASSERT(decoded == Errc::ok && plain.flags() == header.flags && plain.rpc() == header.rpc);
        CINNABAR_ASSERT(plain.time_left_us() == header.time_left_us && plain.shape() == header.shape);
        CINNABAR_ASSERT(plain.provider() == header.provider && plain.payload_bytes() == payload.size());
    }
    if (decoded != Errc::ok) return;
    check_payload(in, payload, request_header_bytes, header.payload_bytes, behind_payload(header.flags));
    std::vector<std::byte> bytes(in.begin(), in.end());
    encode_request(header, bytes);
    RequestHeader again;
    CINNABAR_ASSERT(decode_request(bytes, again, payload) == Errc::ok);
    CINNABAR_ASSERT(again.flags == header.flags && again.rpc == header.rpc && again.shape == header.shape);
    CINNABAR_ASSERT(again.time_left_us == header.time_left_us && again.provider == header.provider);
    CINNABAR_ASSERT(again.trace == header.trace && again.place == header.place);
}

void try_reply(ConstBytes in) {
    ReplyHeader header;
    ConstBytes payload;
    const Errc decoded = decode_reply(in, header, payload);
    for (const bool timed : {false, true}) {
        if (!PlainReply::is_plain(in, timed)) continue;
        const PlainReply plain(in.data());
        CINNABAR_ASSERT(decoded == Errc::ok && header.result == Errc::ok && plain.payload_bytes() == payload.size());
        CINNABAR_ASSERT(header.flags == (timed ? flag_times : 0));
        CINNABAR_ASSERT(plain.shape() == header.shape && plain.credits() == header.credits);
    }
    if (decoded != Errc::ok) return;
    check_payload(in, payload, reply_header_bytes, header.payload_bytes,
                  (header.flags & flag_times) != 0 ? times_bytes : 0);
    std::vector<std::byte> bytes(in.begin(), in.end());
    encode_reply(header, bytes);
    ReplyHeader again;
    CINNABAR_ASSERT(decode_reply(bytes, again, payload) == Errc::ok);
    CINNABAR_ASSERT(again.result == header.result && again.flags == header.flags);
    CINNABAR_ASSERT(again.shape == header.shape && again.credits == header.credits);
}

void try_control(ConstBytes in) {
    ByteReader reader(in);
    std::uint8_t flags = 0;
    std::uint16_t records = 0;
    if (decode_control_header(reader, flags, records) != Errc::ok) return;
    for (unsigned i = 0; i < records; ++i) (void)decode_control(reader);
    CINNABAR_ASSERT(reader.ok() && reader.left() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const ConstBytes in = std::as_bytes(std::span(bytes, size));
    CINNABAR_ASSERT(frame_kind(in) <= static_cast<std::uint8_t>(FrameKind::control));
    try_request(in);
    try_reply(in);
    try_control(in);
    return 0;
}
