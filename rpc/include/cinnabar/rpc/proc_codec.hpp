// SPDX-License-Identifier: BSD-3-Clause
// Codecs of scalars, fixed-size arrays, records, and types with a `proc` function of their own. Containers are in
// proc_std.hpp. `Codec` is specialised only by these two headers: user types define `proc` or `proc_fields` (proc.hpp).
//
// A Codec has: kind and Parts (for the shape), allowed (a requirement beyond those of the parts), min_size (the
// smallest encoding, in bytes), fixed (every encoding has exactly min_size bytes), alignment (of elements in
// sequences), flat (the encoding equals the memory), any_bits (flat, and every bit pattern is a valid value), write (to
// an Encoder or Sizer) and read.
#pragma once

#include <cinnabar/base/durations.hpp>
#include <cinnabar/rpc/proc_coder.hpp>
#include <cinnabar/rpc/proc_fields.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace cinnabar::rpc {
namespace detail {

// Describes the kind of a type by a letter and up to two numbers; the table is in docs/proc-encoding.md, "Shapes".
struct Kind {
    char letter;
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

template <class T>
concept Scalar = std::integral<T> || std::same_as<T, float> || std::same_as<T, double> || std::is_enum_v<T>;

template <class T>
concept HasProcFunction = requires(Encoder& e, Sizer& s, Decoder& d, T& value) {
    proc(e, value);
    proc(s, value);
    proc(d, value);
};
template <class T>
concept HasProcMember = requires(Encoder& e, Sizer& s, Decoder& d, T& value) {
    value.proc(e);
    value.proc(s);
    value.proc(d);
};
template <class T>
concept HandWritten = std::is_class_v<T> && !std::is_const_v<T> && (HasProcFunction<T> || HasProcMember<T>);

template <class T>
concept Record = !std::is_const_v<T> && !HandWritten<T> && (is_tuple<T> || HasProcFields<T> || PlainAggregate<T>);

template <class T>
consteval std::uint64_t shape_number() {
    if constexpr (requires { T::proc_shape; })
        return static_cast<std::uint64_t>(T::proc_shape);
    else
        return 0;
}

template <class T>
consteval Kind scalar_kind() {
    if constexpr (std::is_enum_v<T>)
        return scalar_kind<std::underlying_type_t<T>>();
    else if constexpr (std::same_as<T, bool>)
        return {'b'};
    else if constexpr (std::same_as<T, char>)
        return {'c'};
    else if constexpr (std::same_as<T, wchar_t>)
        return {'w', sizeof(T)};
    else if constexpr (std::floating_point<T>)
        return {'f', sizeof(T)};
    else
        return {std::is_signed_v<T> ? 'i' : 'u', sizeof(T)};
}

template <class T>
inline constexpr bool is_shared_ptr = false;
template <class T>
inline constexpr bool is_shared_ptr<std::shared_ptr<T>> = true;

template <class T>
inline constexpr bool is_steady_time = false;
template <class Clock, class Duration>
inline constexpr bool is_steady_time<std::chrono::time_point<Clock, Duration>> = Clock::is_steady;

// Fails the build with the first reason why T is not supported.
template <class T>
constexpr void explain_unsupported() {
    constexpr bool never = sizeof(T*) == 0;
    if constexpr (std::is_const_v<T>)
        static_assert(never, "cinnabar: a const field cannot be decoded; drop the const");
    else if constexpr (std::is_pointer_v<T>)
        static_assert(never,
                      "cinnabar: a raw pointer means nothing to another process; send the value, a std::unique_ptr to "
                      "it, a std::span<const T>, or expose the memory as a bulk region");
    else if constexpr (std::is_union_v<T>)
        static_assert(never, "cinnabar: a union does not say which member it holds; use std::variant");
    else if constexpr (std::same_as<T, long double>)
        static_assert(never, "cinnabar: long double differs from host to host; use double");
    else if constexpr (is_shared_ptr<T>)
        static_assert(never,
                      "cinnabar: a std::shared_ptr says that others hold the value too, which does not travel; send "
                      "the value or a std::unique_ptr, or let cereal do it (cinnabar/hl/cereal.hpp)");
    else if constexpr (is_steady_time<T>)
        static_assert(never,
                      "cinnabar: a time point of a steady clock means nothing to another process; send how long it is "
                      "until then, or a time point of the system clock");
    else if constexpr (std::is_class_v<T> && SerializesItself<T>)
        static_assert(never,
                      "cinnabar: a type with a serialize or save function travels by the archive bridge of hl; include "
                      "its header (docs/proc-encoding.md) before the type is used");
    else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && has_base<T>)
        static_assert(never,
                      "cinnabar: an aggregate with a base class needs a proc function, or make the base a field");
    else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>)
        static_assert(
            never,
            "cinnabar: an aggregate of more than 32 fields (or 256 elements of C arrays), or with a field that "
            "has no default, needs a proc_fields(T&) or a proc function");
    else
        static_assert(never,
                      "cinnabar: this type cannot be an RPC argument: it is no aggregate and no supported standard "
                      "type; give it a proc(P&, T&), a proc_fields(T&) or a member proc(P&)");
}

}  // namespace detail

// A type that is not supported.
template <class T>
struct Codec {
    static constexpr detail::Kind kind{'!'};
    using Parts = TypeList<>;
    static constexpr bool allowed = false;
    static constexpr std::size_t min_size = 1;
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;

    template <class Out>
    static void write(Out&, const T&) {
        detail::explain_unsupported<T>();
    }
    static void read(Decoder&, T&) { detail::explain_unsupported<T>(); }
};

template <detail::Scalar T>
requires(!std::is_const_v<T> && sizeof(T) <= 8) struct Codec<T> {
    static constexpr detail::Kind kind = detail::scalar_kind<T>();
    using Parts = TypeList<>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = sizeof(T);
    static constexpr bool fixed = true;
    static constexpr std::size_t alignment = sizeof(T);
    static constexpr bool flat = true;
    static constexpr bool any_bits = kind.letter != 'b';

    template <class Out>
    static void write(Out& out, const T& value) {
        out.raw(&value, sizeof(T));
    }
    static void read(Decoder& in, T& value) {
        if constexpr (any_bits) {
            in.raw(&value, sizeof(T));
        } else {
            const std::uint8_t byte = in.u8();
            if (byte > 1)
                in.fail(Errc::protocol);
            else
                value = static_cast<T>(byte == 1);
        }
    }
};

namespace detail {

template <class Array, class T, std::size_t N>
struct ArrayCodec {
    static constexpr Kind kind{'a', N};
    using Parts = TypeList<T>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = N * Codec<T>::min_size;
    static constexpr bool fixed = Codec<T>::fixed;
    static constexpr std::size_t alignment = Codec<T>::alignment;
    static constexpr bool flat = Codec<T>::flat;
    static constexpr bool any_bits = Codec<T>::any_bits;

    template <class Out>
    static void write(Out& out, const Array& values) {
        if constexpr (flat)
            out.raw(std::data(values), min_size);
        else
            for (const T& value : values) out(value);
    }
    static void read(Decoder& in, Array& values) {
        if constexpr (any_bits)
            in.raw(std::data(values), min_size);
        else
            for (T& value : values) in(value);
    }
};

consteval std::size_t largest(std::initializer_list<std::size_t> numbers) {
    std::size_t found = 0;
    for (const std::size_t number : numbers) found = number > found ? number : found;
    return found;
}

template <class T, class List>
struct RecordTraits;
template <class T, class... Field>
struct RecordTraits<T, TypeList<Field...>> {
    static constexpr std::size_t min_size = (std::size_t{0} + ... + Codec<Field>::min_size);
    static constexpr bool fixed = (true && ... && Codec<Field>::fixed);
    static constexpr std::size_t alignment = fixed ? largest({std::size_t{1}, Codec<Field>::alignment...}) : 1;
    // The order of listed fields may differ from their order in memory, so only plain aggregates are copied as a whole.
    static constexpr bool flat = PlainAggregate<T> && !HasProcFields<T> && std::is_trivially_copyable_v<T> &&
                                 sizeof...(Field) > 0 && min_size == sizeof(T) && (true && ... && Codec<Field>::flat);
    static constexpr bool any_bits = flat && (true && ... && Codec<Field>::any_bits);
};

}  // namespace detail

template <class T, std::size_t N>
struct Codec<T[N]> : detail::ArrayCodec<T[N], T, N> {};
template <class T, std::size_t N>
struct Codec<std::array<T, N>> : detail::ArrayCodec<std::array<T, N>, T, N> {};

// The fields in order, without padding.
template <detail::Record T>
struct Codec<T> : detail::RecordTraits<T, detail::FieldTypes<T>> {
    static constexpr detail::Kind kind{'('};
    using Parts = detail::FieldTypes<T>;
    static constexpr bool allowed = std::is_default_constructible_v<T>;
    using detail::RecordTraits<T, Parts>::flat;
    using detail::RecordTraits<T, Parts>::any_bits;

    template <class Out>
    static void write(Out& out, const T& value) {
        static_assert(allowed, "cinnabar: a record must be default constructible, or the peer cannot decode it");
        if constexpr (flat)
            out.raw(&value, sizeof(T));
        else
            detail::visit_fields(value, [&out](const auto&... fields) { out(fields...); });
    }
    static void read(Decoder& in, T& value) {
        if constexpr (any_bits)
            in.raw(&value, sizeof(T));
        else
            detail::visit_fields(value, [&in](auto&... fields) { in(fields...); });
    }
};

template <detail::HandWritten T>
struct Codec<T> {
    static constexpr detail::Kind kind{'x', detail::shape_number<T>()};
    using Parts = TypeList<>;
    static constexpr bool allowed = std::is_default_constructible_v<T>;
    static constexpr std::size_t min_size = 1;  // write_elements() checks it
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;

    template <class Out>
    static void write(Out& out, const T& value) {
        run(out, const_cast<T&>(value));  // one function for both ways; it must not modify what it encodes
    }
    static void read(Decoder& in, T& value) { run(in, value); }

  private:
    template <class P>
    static void run(P& p, T& value) {
        if constexpr (detail::HasProcMember<T>)
            value.proc(p);
        else
            proc(p, value);
    }
};

}  // namespace cinnabar::rpc
