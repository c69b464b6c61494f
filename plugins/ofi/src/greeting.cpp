// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include <algorithm>
#include <cstring>

namespace cinnabar::ofi {
namespace {

bool all_zero(ConstBytes bytes) noexcept {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{0}; });
}

}  // namespace

std::string_view Greeting::provider() const noexcept {
    return {provider_name.data(), ::strnlen(provider_name.data(), provider_name.size())};
}

void Greeting::set_provider(std::string_view name) noexcept {
    provider_name = {};
    std::copy_n(name.begin(), std::min(name.size(), provider_name.size()), provider_name.begin());
}

std::array<std::byte, Greeting::wire_bytes> Greeting::encode() const noexcept {
    std::array<std::byte, wire_bytes> out{};
    hello.encode(std::span(out).first<na::hello_bytes>());
    ByteWriter writer(Bytes(out).subspan(na::hello_bytes));
    writer.u32(session.index);
    writer.u16(address_bytes);
    writer.u16(0);
    writer.u64(session.check);
    writer.bytes(std::as_bytes(std::span(provider_name)));
    writer.bytes(address);
    return out;
}

Errc Greeting::decode(ConstBytes in, Greeting& out) noexcept {
    if (in.size() != wire_bytes) return Errc::protocol;
    if (const Errc wrong = na::Hello::decode(in.first<na::hello_bytes>(), out.hello); wrong != Errc::ok) return wrong;
    ByteReader reader(in.subspan<na::hello_bytes>());
    out.session.index = reader.u32();
    out.address_bytes = reader.u16();
    const std::uint16_t zero = reader.u16();
    out.session.check = reader.u64();
    const ConstBytes name = reader.view(provider_bytes_max);
    const ConstBytes where = reader.view(address_bytes_max);
    if (!reader.ok() || out.address_bytes > address_bytes_max) return Errc::protocol;
    std::memcpy(out.provider_name.data(), name.data(), name.size());
    std::memcpy(out.address.data(), where.data(), where.size());
    const bool zeros = zero == 0 && all_zero(name.subspan(out.provider().size())) &&
                       all_zero(where.subspan(out.address_bytes)) && all_zero(reader.view(reader.left()));
    if (!zeros || out.hello.lane != 0) return Errc::unsupported;
    return Errc::ok;
}

}  // namespace cinnabar::ofi
