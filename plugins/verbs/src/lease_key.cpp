// SPDX-License-Identifier: BSD-3-Clause
#include "lease_key.hpp"

namespace cinnabar::verbs {
namespace {

// FNV-1a over 64-bit words.
class Checksum {
  public:
    void add(std::uint64_t word) noexcept { sum_ = (sum_ ^ word) * 0x100000001b3u; }
    void add(const KeySegment& segment) noexcept {
        add(segment.address);
        add(segment.bytes);
        add(segment.rkey);
    }
    [[nodiscard]] std::uint32_t value() const noexcept { return static_cast<std::uint32_t>(sum_ ^ (sum_ >> 32)); }

  private:
    std::uint64_t sum_ = 0xcbf29ce484222325u;
};

KeySegment decode_segment(ByteReader& reader) noexcept {
    KeySegment segment;
    segment.address = reader.u64();
    segment.bytes = reader.u64();
    segment.rkey = reader.u32();
    return segment;
}

}  // namespace

void encode_key(std::span<const KeySegment> segments, ByteWriter& writer) noexcept {
    Checksum sum;
    for (const KeySegment& segment : segments) sum.add(segment);
    writer.u32(sum.value());
    writer.u32(static_cast<std::uint32_t>(segments.size()));
    for (const KeySegment& segment : segments) {
        writer.u64(segment.address);
        writer.u64(segment.bytes);
        writer.u32(segment.rkey);
    }
}

Errc find_address(ConstBytes key, std::uint64_t offset, std::uint64_t bytes, RemoteAddress& out) noexcept {
    ByteReader reader(key);
    const std::uint32_t checksum = reader.u32();
    const std::uint32_t count = reader.u32();
    if (!reader.ok() || key.size() != key_bytes(count)) return Errc::permission;
    Checksum sum;
    bool found = false;
    bool crosses = false;
    std::uint64_t begin = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        const KeySegment segment = decode_segment(reader);
        sum.add(segment);
        const bool last = i + 1 == count;
        if (!found && offset >= begin &&
            (offset - begin < segment.bytes || (last && offset - begin == segment.bytes))) {
            found = true;
            crosses = bytes > segment.bytes - (offset - begin);
            // An access beyond the last segment is out of bounds, and crosses no border.
            if (crosses && last) found = crosses = false;
            out = {segment.address + (offset - begin), segment.rkey};
        }
        begin += segment.bytes;
    }
    if (sum.value() != checksum) return Errc::permission;
    if (crosses) return Errc::invalid_argument;
    return found || (count == 0 && offset == 0 && bytes == 0) ? Errc::ok : Errc::too_large;
}

}  // namespace cinnabar::verbs
