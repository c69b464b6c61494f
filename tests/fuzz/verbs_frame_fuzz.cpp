// SPDX-License-Identifier: BSD-3-Clause
// Data from a peer over RDMA: the first byte selects the greeting, the header of a message, or the key of a lease,
// either unchanged or with a repaired checksum. Accepted data respect the limits on which sessions rely, and encode to
// bytes that decode to the same; a position that is found lies inside a segment.
#include "credits.hpp"
#include "greeting.hpp"
#include "lease_key.hpp"
#include "message_header.hpp"

#include <cinnabar/base/assert.hpp>

#include <algorithm>
#include <array>
#include <vector>

using namespace cinnabar;
using namespace cinnabar::verbs;

namespace {

void try_greeting(ConstBytes in) {
    Greeting greeting;
    if (Greeting::decode(in, greeting) != Errc::ok) return;
    CINNABAR_ASSERT(in.size() >= greeting_bytes);
    CINNABAR_ASSERT(greeting.hello.kind == na::HelloKind::reject || greeting.window >= window_min);
    const auto first = greeting.encode();
    Greeting again;
    CINNABAR_ASSERT(Greeting::decode(first, again) == Errc::ok);
    CINNABAR_ASSERT(again.window == greeting.window && again.beacon == greeting.beacon);
    CINNABAR_ASSERT(again.encode() == first);
}

void try_header(ConstBytes in) {
    MessageHeader header;
    if (!MessageHeader::decode(in, header)) return;
    const bool has_body = header.kind == MessageKind::unexpected || header.kind == MessageKind::expected;
    CINNABAR_ASSERT(in.size() == message_header_bytes || (has_body && in.size() > message_header_bytes));
    std::array<std::byte, message_header_bytes> first{};
    header.encode(first);
    MessageHeader again;
    CINNABAR_ASSERT(MessageHeader::decode(first, again));
    CINNABAR_ASSERT(again.kind == header.kind && again.credits == header.credits);
    CINNABAR_ASSERT(again.value == header.value && again.tag == header.tag);
}

std::vector<KeySegment> segments_of(ByteReader& reader) {
    std::vector<KeySegment> segments;
    while (reader.left() >= key_bytes(1) - key_bytes(0)) {
        KeySegment segment;
        segment.address = reader.u64();
        segment.bytes = reader.u64();
        segment.rkey = reader.u32();
        segments.push_back(segment);
    }
    return segments;
}

// The input is {u64 offset, u64 bytes} of the access, then the key.
void try_key(ConstBytes in, bool put_right) {
    constexpr std::size_t access_bytes = 16;
    ByteReader reader(in);
    const std::uint64_t offset = reader.u64();
    const std::uint64_t bytes = reader.u64();
    if (!reader.ok()) return;
    std::vector<std::byte> key(in.begin() + access_bytes, in.end());
    reader.skip(std::min(key.size(), key_bytes(0)));
    const std::vector<KeySegment> segments = segments_of(reader);
    if (put_right) {
        key.resize(key_bytes(segments.size()));
        ByteWriter writer(key);
        encode_key(segments, writer);
        CINNABAR_ASSERT(writer.ok());
    }
    RemoteAddress place;
    const Errc found = find_address(key, offset, bytes, place);
    CINNABAR_ASSERT(!put_right || found != Errc::permission);
    if (found != Errc::ok) return;
    CINNABAR_ASSERT(key.size() == key_bytes(segments.size()));
    CINNABAR_ASSERT(bytes == 0 || std::any_of(segments.begin(), segments.end(), [&](const KeySegment& segment) {
                        const std::uint64_t skipped = place.address - segment.address;
                        return place.rkey == segment.rkey && skipped < segment.bytes &&
                               bytes <= segment.bytes - skipped;
                    }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    if (size < 1) return 0;
    const ConstBytes in = std::as_bytes(std::span(bytes, size)).subspan(1);
    switch (bytes[0] % 4) {
        case 0:
            try_greeting(in);
            break;
        case 1:
            try_header(in);
            break;
        default:
            try_key(in, bytes[0] % 4 == 3);
    }
    return 0;
}
