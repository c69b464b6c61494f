// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>

namespace cinnabar::tcp {

LaneToken random_token() noexcept {
    LaneToken token;
    ByteWriter writer(token);
    writer.u64(secret_u64());
    writer.u64(secret_u64());
    return token;
}

std::array<std::byte, Greeting::wire_bytes> Greeting::encode() const noexcept {
    std::array<std::byte, wire_bytes> out{};
    hello.encode(std::span(out).first<na::hello_bytes>());
    std::copy(token.begin(), token.end(), out.begin() + na::hello_bytes);
    return out;
}

Errc Greeting::decode(ConstBytes in, Greeting& out) noexcept {
    if (in.size() != wire_bytes) return Errc::protocol;
    if (const Errc wrong = na::Hello::decode(in.first<na::hello_bytes>(), out.hello); wrong != Errc::ok) return wrong;
    const ConstBytes token = in.subspan(na::hello_bytes);
    std::copy(token.begin(), token.end(), out.token.begin());
    const bool has_token = out.hello.kind == na::HelloKind::accept || out.hello.kind == na::HelloKind::lane;
    return has_token || out.token == LaneToken{} ? Errc::ok : Errc::unsupported;
}

}  // namespace cinnabar::tcp
