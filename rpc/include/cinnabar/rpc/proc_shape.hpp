// SPDX-License-Identifier: BSD-3-Clause
// The 16-bit shape of an argument type that travels in the header of a request. It must tell different types apart and
// yet let a record grow at its end, seen from both sides; docs/proc-encoding.md, "Shapes", has the layout and the odds.
#pragma once

#include <cinnabar/rpc/proc_codec.hpp>

#include <cstdint>

namespace cinnabar::rpc {

// Matches every shape: for peers and calls that do not use proc.
inline constexpr std::uint16_t shape_any = 0xFFFF;

namespace detail {

inline constexpr unsigned shape_hash_bits = 12;
inline constexpr std::uint16_t shape_hash_mask = (1U << shape_hash_bits) - 1;
inline constexpr std::uint16_t shape_not_record = 15;         // in the upper four bits
inline constexpr std::uint16_t shape_record_fields_max = 14;  // that many or more

// FNV-1a, 32 bits; numbers go in as eight bytes, the lowest first.
class ShapeHash {
  public:
    constexpr void add(std::uint8_t byte) noexcept { state_ = (state_ ^ byte) * 16777619U; }
    constexpr void add_number(std::uint64_t number) noexcept {
        for (int i = 0; i < 8; ++i) add(static_cast<std::uint8_t>(number >> (8 * i)));
    }
    // The finishing step of MurmurHash3: the low bits alone must be good.
    [[nodiscard]] constexpr std::uint32_t value() const noexcept {
        std::uint32_t h = state_;
        h = (h ^ (h >> 16)) * 0x85ebca6bU;
        h = (h ^ (h >> 13)) * 0xc2b2ae35U;
        return h ^ (h >> 16);
    }

  private:
    std::uint32_t state_ = 2166136261U;
};

// How many steps out of the innermost of `Seen` T is, the last one being 0; their number when T is none of them.
template <class T, class... Seen>
consteval std::size_t steps_back(TypeList<Seen...>) {
    std::size_t steps = sizeof...(Seen);
    std::size_t place = sizeof...(Seen);
    ((--place, std::is_same_v<T, Seen> ? steps = place : steps), ...);
    return steps;
}

// `Seen` are the types around T: a type that holds itself is hashed as a step back.
template <class T, class... Seen>
constexpr void add_shape(ShapeHash& hash, TypeList<Seen...>) {
    constexpr std::size_t back = steps_back<T>(TypeList<Seen...>{});
    if constexpr (back < sizeof...(Seen)) {
        hash.add('^');
        hash.add_number(back);
    } else {
        hash.add(static_cast<std::uint8_t>(Codec<T>::kind.letter));
        hash.add_number(Codec<T>::kind.first);
        hash.add_number(Codec<T>::kind.second);
        [&]<class... Part>(TypeList<Part...>) {
            (add_shape<Part>(hash, TypeList<Seen..., T>{}), ...);
        }(typename Codec<T>::Parts{});
        hash.add(')');
    }
}

template <class T>
consteval std::uint32_t shape_hash() {
    ShapeHash hash;
    add_shape<T>(hash, TypeList<>{});
    return hash.value();
}

template <class T, class... Seen>
consteval bool supported(TypeList<Seen...>) {
    if constexpr ((false || ... || std::is_same_v<T, Seen>))
        return true;
    else if constexpr (!Codec<T>::allowed)
        return false;
    else
        return []<class... Part>(TypeList<Part...>) {
            return (true && ... && supported<Part>(TypeList<Seen..., T>{}));
        }(typename Codec<T>::Parts{});
}

// How many bits of the hash each field of a record of so many fields has.
constexpr unsigned shape_bits_each(unsigned fields) noexcept {
    return fields == 0 ? 0 : (fields >= shape_hash_bits ? 1 : shape_hash_bits / fields);
}

template <class... Field>
consteval std::uint16_t record_shape(TypeList<Field...>) {
    constexpr unsigned fields = sizeof...(Field) < shape_record_fields_max ? sizeof...(Field) : shape_record_fields_max;
    constexpr unsigned each = shape_bits_each(fields);
    unsigned shape = fields << shape_hash_bits;
    unsigned at = 0;
    ((at + each <= shape_hash_bits ? shape |= (shape_hash<Field>() & ((1U << each) - 1)) << at : 0U, at += each), ...);
    return static_cast<std::uint16_t>(shape);
}

}  // namespace detail

template <class T>
constexpr std::uint16_t shape_of() {
    if constexpr (detail::Record<T>) {
        return detail::record_shape(detail::FieldTypes<T>{});
    } else {
        constexpr unsigned shape = unsigned{detail::shape_not_record} << detail::shape_hash_bits |
                                   (detail::shape_hash<T>() & detail::shape_hash_mask);
        return static_cast<std::uint16_t>(shape == shape_any ? shape_any - 1 : shape);
    }
}

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
