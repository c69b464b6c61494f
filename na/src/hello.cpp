// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/na/hello.hpp>

namespace cinnabar::na {
namespace {

// "\xC1NBR". The first byte differs from Mercury's, 0xD7.
constexpr std::uint32_t magic = 0x52424ec1;

}  // namespace

void Hello::encode(std::span<std::byte, hello_bytes> out) const noexcept {
    ByteWriter writer(out);
    writer.u32(magic);
    writer.u8(hello_version);
    writer.u8(static_cast<std::uint8_t>(kind));
    writer.u8(lane);
    writer.u8(reason);
    writer.u32(features);
    writer.u32(message_bytes_max);
    writer.u64(incarnation);
    writer.u64(peer_incarnation);
    writer.u16(context);
    writer.u16(peer_context);
    writer.u16(credits);
    writer.u8(auth_method);
    writer.u8(0);
}

Errc Hello::decode(ConstBytes in, Hello& out) noexcept {
    ByteReader reader(in);
    const std::uint32_t seen_magic = reader.u32();
    const std::uint8_t seen_version = reader.u8();
    const std::uint8_t kind = reader.u8();
    out.lane = reader.u8();
    out.reason = reader.u8();
    out.features = reader.u32();
    out.message_bytes_max = reader.u32();
    out.incarnation = reader.u64();
    out.peer_incarnation = reader.u64();
    out.context = reader.u16();
    out.peer_context = reader.u16();
    out.credits = reader.u16();
    out.auth_method = reader.u8();
    const std::uint8_t zero = reader.u8();
    if (!reader.ok() || seen_magic != magic) return Errc::protocol;
    if (kind < 1 || kind > static_cast<std::uint8_t>(HelloKind::lane)) return Errc::protocol;
    out.kind = static_cast<HelloKind>(kind);
    if (out.kind != HelloKind::reject && (out.incarnation == 0 || out.message_bytes_max < message_bytes_min))
        return Errc::protocol;
    if (seen_version != hello_version) return Errc::unsupported;
    if (out.kind != HelloKind::reject && (out.reason != 0 || out.context == any_context)) return Errc::protocol;
    const bool names_peer = out.kind == HelloKind::accept || out.kind == HelloKind::lane;
    if (names_peer && out.peer_context == any_context) return Errc::protocol;
    return out.features == 0 && out.auth_method == 0 && zero == 0 ? Errc::ok : Errc::unsupported;
}

}  // namespace cinnabar::na
