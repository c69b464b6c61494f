// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include "credits.hpp"

namespace cinnabar::verbs {

std::array<std::byte, greeting_bytes> Greeting::encode() const noexcept {
    std::array<std::byte, greeting_bytes> out{};
    hello.encode(std::span<std::byte, greeting_bytes>(out).first<na::hello_bytes>());
    ByteWriter writer(Bytes(out).subspan(na::hello_bytes));
    writer.u16(window);
    writer.u16(0);
    writer.u32(beacon_key);
    writer.u64(beacon);
    return out;
}

Errc Greeting::decode(ConstBytes in, Greeting& out) noexcept {
    if (in.size() < greeting_bytes) return Errc::protocol;
    if (const Errc wrong = na::Hello::decode(in.first(na::hello_bytes), out.hello); wrong != Errc::ok) return wrong;
    ByteReader reader(in.subspan(na::hello_bytes));
    out.window = reader.u16();
    const std::uint16_t zero = reader.u16();
    out.beacon_key = reader.u32();
    out.beacon = reader.u64();
    if (zero != 0 || out.hello.lane != 0) return Errc::unsupported;
    const bool needs_window = out.hello.kind != na::HelloKind::reject;
    return needs_window && out.window < window_min ? Errc::protocol : Errc::ok;
}

}  // namespace cinnabar::verbs
