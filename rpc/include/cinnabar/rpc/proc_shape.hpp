// SPDX-License-Identifier: BSD-3-Clause
// The 16-bit shape of an argument or result type, sent in the frame header. Comparing shapes detects different types,
// but allows records to grow at their end, on either side. docs/proc-encoding.md, "Shapes", describes the layout and
// the probabilities. proc_shape_hash.hpp computes shapes; this file only compares them.
#pragma once

#include <cstdint>

namespace cinnabar::rpc {

// The shape that matches every other, for calls and peers that do not use proc. It is also the shape of a record
// without fields, which any record extends.
inline constexpr std::uint16_t shape_any = 0;

namespace detail {

inline constexpr unsigned shape_hash_bits = 12;
inline constexpr unsigned shape_hash_mask = (1U << shape_hash_bits) - 1;
// The values of the four bits above the hash: the number of fields of a record, or shape_not_record.
inline constexpr unsigned shape_record_fields_max = 14;  // or more
inline constexpr unsigned shape_not_record = 15;

// The number of hash bits for each field of a record with that many fields.
constexpr unsigned shape_bits_each(unsigned fields) noexcept {
    return fields == 0 ? 0 : (fields >= shape_hash_bits ? 1 : shape_hash_bits / fields);
}

}  // namespace detail

// Whether a payload of shape `theirs` may be decoded as a type of shape `ours`; symmetric. Two records match if the
// fields that both have match. False: the call fails with bad_signature.
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
