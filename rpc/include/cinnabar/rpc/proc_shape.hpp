// SPDX-License-Identifier: BSD-3-Clause
// The 16-bit shape of an argument or result type that travels in the header. It must tell different types apart and yet
// let a record grow at its end, seen from both sides; docs/proc-encoding.md, "Shapes", has the layout and the odds.
// proc_shape_hash.hpp makes shapes; this compares them and needs to know no type.
#pragma once

#include <cstdint>

namespace cinnabar::rpc {

// Not checked: for calls and peers that do not use proc. A record without fields has it too: any record may follow it.
inline constexpr std::uint16_t shape_any = 0;

namespace detail {

inline constexpr unsigned shape_hash_bits = 12;
inline constexpr unsigned shape_hash_mask = (1U << shape_hash_bits) - 1;
// In the four bits above: how many fields a record has, or that it is none.
inline constexpr unsigned shape_record_fields_max = 14;  // that many or more
inline constexpr unsigned shape_not_record = 15;

// How many bits of the hash each field of a record of so many fields has.
constexpr unsigned shape_bits_each(unsigned fields) noexcept {
    return fields == 0 ? 0 : (fields >= shape_hash_bits ? 1 : shape_hash_bits / fields);
}

}  // namespace detail

// Whether a payload of shape `theirs` may be decoded as a type of shape `ours`; symmetric. Two records match when the
// fields that both have match; false means bad_signature.
[[nodiscard]] constexpr bool shapes_match(std::uint16_t ours, std::uint16_t theirs) noexcept {
    if (ours == theirs || ours == shape_any || theirs == shape_any) return true;
    const unsigned our_fields = ours >> detail::shape_hash_bits;
    const unsigned their_fields = theirs >> detail::shape_hash_bits;
    if (our_fields == detail::shape_not_record || their_fields == detail::shape_not_record) return false;
    const unsigned our_bits = detail::shape_bits_each(our_fields);
    const unsigned their_bits = detail::shape_bits_each(their_fields);
    const unsigned bits = our_bits < their_bits ? our_bits : their_bits;
    const unsigned mask = (1U << bits) - 1;
    const unsigned fields = our_fields < their_fields ? our_fields : their_fields;
    for (unsigned i = 0; i < fields && i < detail::shape_hash_bits; ++i)
        if ((((ours & detail::shape_hash_mask) >> (i * our_bits)) & mask) !=
            (((theirs & detail::shape_hash_mask) >> (i * their_bits)) & mask))
            return false;
    return true;
}

}  // namespace cinnabar::rpc
