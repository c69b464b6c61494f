// SPDX-License-Identifier: BSD-3-Clause
#include "greeting.hpp"

#include "flags.hpp"
#include "lease_board.hpp"
#include "ring.hpp"

#include <algorithm>
#include <bit>

namespace cinnabar::shm {

bool good_name(std::string_view name) noexcept {
    const auto good = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
               c == '_';
    };
    return !name.empty() && name.size() <= name_bytes_max && name.front() != '.' &&
           std::all_of(name.begin(), name.end(), good);
}

std::size_t encode_greeting(const na::Hello& hello, const Terms& terms,
                            std::span<std::byte, greeting_bytes_max> out) noexcept {
    hello.encode(out.first<na::hello_bytes>());
    ByteWriter writer(out.subspan(na::hello_bytes));
    writer.u32(terms.ring_bytes);
    writer.u32(terms.record_bytes_max);
    writer.u32(terms.lease_slots);
    writer.u32(terms.flag);
    writer.u64(terms.probe_address);
    writer.u64(terms.probe_value);
    const std::string_view name = terms.name.view();
    writer.u8(static_cast<std::uint8_t>(name.size()));
    writer.bytes(as_bytes(name));
    return na::hello_bytes + writer.size();
}

Errc decode_greeting(ConstBytes in, na::Hello& hello, Terms& terms) noexcept {
    if (in.size() < na::hello_bytes) return Errc::protocol;
    if (const Errc wrong = na::Hello::decode(in.first(na::hello_bytes), hello); wrong != Errc::ok) return wrong;
    ByteReader reader(in.subspan(na::hello_bytes));
    terms.ring_bytes = reader.u32();
    terms.record_bytes_max = reader.u32();
    terms.lease_slots = reader.u32();
    terms.flag = reader.u32();
    terms.probe_address = reader.u64();
    terms.probe_value = reader.u64();
    const std::string_view name = as_text(reader.view(reader.u8()));
    if (!reader.ok() || (!name.empty() && !good_name(name))) return Errc::protocol;
    terms.name = TransportName(name);
    if (hello.lane != 0) return Errc::unsupported;
    if (hello.kind == na::HelloKind::reject) return Errc::ok;
    const bool ring_fits = std::has_single_bit(terms.ring_bytes) && terms.ring_bytes <= ring_bytes_max &&
                           terms.record_bytes_max >= hello.message_bytes_max &&
                           terms.record_bytes_max <= terms.ring_bytes &&
                           ring_bytes_for(terms.record_bytes_max) <= terms.ring_bytes;
    const bool shared_fit = terms.lease_slots <= LeaseBoard::slots_max && terms.flag <= Flags::count_max;
    return ring_fits && shared_fit ? Errc::ok : Errc::protocol;
}

}  // namespace cinnabar::shm
