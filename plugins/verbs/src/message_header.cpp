// SPDX-License-Identifier: BSD-3-Clause
#include "message_header.hpp"

namespace cinnabar::verbs {

void MessageHeader::encode(std::span<std::byte, message_header_bytes> out) const noexcept {
    ByteWriter writer(out);
    writer.u8(static_cast<std::uint8_t>(kind));
    writer.u8(0);
    writer.u16(credits);
    writer.u32(value);
    writer.u64(tag);
}

bool MessageHeader::decode(ConstBytes in, MessageHeader& out) noexcept {
    ByteReader reader(in);
    const std::uint8_t seen = reader.u8();
    const std::uint8_t zero = reader.u8();
    out.credits = reader.u16();
    out.value = reader.u32();
    out.tag = reader.u64();
    if (!reader.ok() || seen < 1 || seen > static_cast<std::uint8_t>(MessageKind::credit)) return false;
    out.kind = static_cast<MessageKind>(seen);
    const bool has_body = out.kind == MessageKind::unexpected || out.kind == MessageKind::expected;
    const bool zeros = zero == 0 && (out.value == 0 || out.kind == MessageKind::notify) && (out.tag == 0 || has_body);
    return zeros && (has_body || reader.left() == 0);
}

}  // namespace cinnabar::verbs
