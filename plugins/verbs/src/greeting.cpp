// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include "credits.hpp"

namespace cinnabar::verbs {

std::array<std::byte, greeting_bytes> Greeting::encode() const noexcept {
    std::array<std::byte, greeting_bytes> out{};
    hello.encode(std::span<std::byte, greeting_bytes>(out).first<na::hello_bytes>());
    Writer writer(Bytes(out).subspan(na::hello_bytes));
    writer.u64(beacon << 16 | window);
    return out;
}

Errc Greeting::decode(ConstBytes in, Greeting& out) noexcept {
    if (in.size() < greeting_bytes) return Errc::protocol;
    if (const Errc wrong = na::Hello::decode(in.first(na::hello_bytes), out.hello); wrong != Errc::ok) return wrong;
    Reader reader(in.subspan(na::hello_bytes));
    const std::uint64_t both = reader.u64();
    out.window = static_cast<std::uint16_t>(both);
    out.beacon = both >> 16;
    const bool needs_window = out.hello.kind != na::HelloKind::reject;
    return needs_window && out.window < window_min ? Errc::protocol : Errc::ok;
}

}  // namespace cinnabar::verbs
