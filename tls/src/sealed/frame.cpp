// SPDX-License-Identifier: BSD-3-Clause
#include "sealed/frame.hpp"

#include <algorithm>

namespace cinnabar::tls {

void SealedHead::encode(std::span<std::byte, sealed_head_bytes> out) const noexcept {
    ByteWriter writer(out);
    writer.u8(kind);
    writer.u8(flags);
    writer.u8(static_cast<std::uint8_t>(status));
    writer.u8(0);
    writer.u32(0);
    writer.u64(id);
}

bool SealedHead::decode(std::span<const std::byte, sealed_head_bytes> in) noexcept {
    ByteReader reader(in);
    kind = reader.u8();
    flags = reader.u8();
    status = static_cast<Errc>(reader.u8());
    const std::uint8_t zero = reader.u8();
    const std::uint32_t zeros = reader.u32();
    id = reader.u64();
    return zero == 0 && zeros == 0;
}

void encode_envelope(Envelope kind, std::span<std::byte, envelope_bytes> out) noexcept {
    std::fill(out.begin(), out.end(), std::byte{0});
    out[0] = static_cast<std::byte>(kind);
}

bool decode_envelope(ConstBytes message, Envelope& kind) noexcept {
    if (message.size() < envelope_bytes) return false;
    kind = static_cast<Envelope>(message[0]);
    const bool known = kind == Envelope::handshake || kind == Envelope::sealed;
    return known && std::all_of(message.begin() + 1, message.begin() + envelope_bytes,
                                [](std::byte b) { return b == std::byte{0}; });
}

SealedContext context_of(std::span<const std::byte, envelope_bytes> envelope, std::uint64_t number) noexcept {
    SealedContext context{};
    ByteWriter writer(context);
    writer.bytes(envelope);
    writer.u64(number);
    return context;
}

void SealedGreeting::encode(std::span<std::byte, wire_bytes> out) const noexcept {
    hello.encode(out.first<na::hello_bytes>());
    ByteWriter writer(out.subspan<na::hello_bytes>());
    writer.u64(number);
}

Errc SealedGreeting::decode(ConstBytes in) noexcept {
    if (in.size() != wire_bytes) return Errc::protocol;
    ByteReader reader(in.subspan(na::hello_bytes));
    number = reader.u64();
    return na::Hello::decode(in.first(na::hello_bytes), hello);
}

}  // namespace cinnabar::tls
