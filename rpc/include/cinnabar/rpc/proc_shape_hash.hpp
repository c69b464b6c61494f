// SPDX-License-Identifier: BSD-3-Clause
// Computes the shape of a type at compile time (proc_shape.hpp; docs/proc-encoding.md, "Shapes").
#pragma once

#include <cinnabar/rpc/proc_codec.hpp>
#include <cinnabar/rpc/proc_shape.hpp>

#include <cstdint>

namespace cinnabar::rpc {

namespace detail {

// FNV-1a, 32 bits; a number is added as eight bytes, the lowest first.
class ShapeHash {
  public:
    constexpr void add(std::uint8_t byte) noexcept { state_ = (state_ ^ byte) * 16777619U; }
    constexpr void add_number(std::uint64_t number) noexcept {
        for (int i = 0; i < 8; ++i) add(static_cast<std::uint8_t>(number >> (8 * i)));
    }
    // The finishing step of MurmurHash3, because the low bits are used alone.
    [[nodiscard]] constexpr std::uint32_t value() const noexcept {
        std::uint32_t h = state_;
        h = (h ^ (h >> 16)) * 0x85ebca6bU;
        h = (h ^ (h >> 13)) * 0xc2b2ae35U;
        return h ^ (h >> 16);
    }

  private:
    std::uint32_t state_ = 2166136261U;
};

// Returns the number of steps from the last type of `Seen`, the innermost one, outwards to T; sizeof...(Seen) if T is
// not in `Seen`.
template <class T, class... Seen>
consteval std::size_t steps_back(TypeList<Seen...>) {
    std::size_t steps = sizeof...(Seen);
    std::size_t place = sizeof...(Seen);
    ((--place, std::is_same_v<T, Seen> ? steps = place : steps), ...);
    return steps;
}

// `Seen` are the types that enclose T. Where a type occurs inside itself, the number of steps back to it is hashed.
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

// Fails the build with the reason why T, or the first unsupported part of it, is not supported.
template <class T, class... Seen>
constexpr void explain(TypeList<Seen...>) {
    if constexpr ((false || ... || std::is_same_v<T, Seen>)) {
    } else if constexpr (Codec<T>::kind.letter == '!') {
        explain_unsupported<T>();
    } else if constexpr (!Codec<T>::allowed) {
        static_assert(sizeof(T*) == 0,
                      "cinnabar: a record or a type with a proc function must be default constructible, and the "
                      "elements of a container must take at least one byte each");
    } else {
        []<class... Part>(TypeList<Part...>) {
            (explain<Part>(TypeList<Seen..., T>{}), ...);
        }(typename Codec<T>::Parts{});
    }
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
        return static_cast<std::uint16_t>(detail::shape_not_record << detail::shape_hash_bits |
                                          (detail::shape_hash<T>() & detail::shape_hash_mask));
    }
}

}  // namespace cinnabar::rpc
