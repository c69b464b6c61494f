// SPDX-License-Identifier: BSD-3-Clause
// Codecs of the standard library's strings, paths, sequences, sets, maps, optionals, variants, times and bit sets. They
// may throw std::bad_alloc, which decode() in proc.hpp catches.
//
// Lists, deques, sets, maps, variants, bit sets and paths are recognised by their members, so that their headers need
// not be included here. The headers would be a fifth of what every program reads, and a program that sends one of these
// types has included its header anyway (decisions 0123, 0137).
#pragma once

#include <cinnabar/base/durations.hpp>
#include <cinnabar/rpc/proc_codec.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace detail {

// Charged per element for containers that allocate each element separately, in addition to the element.
inline constexpr std::size_t node_overhead_bytes = 24;

// A u32 count, zeros up to the alignment of the elements if there are any, then the elements.
template <class T>
struct SequenceTraits {
    static constexpr Kind kind{'s'};
    using Parts = TypeList<T>;
    // An element takes at least one byte; otherwise a short message could announce four billion elements.
    static constexpr bool allowed = Codec<T>::min_size > 0;
    static constexpr std::size_t min_size = sizeof(std::uint32_t);
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;
};

// Writes the count, then calls write_element for each element of a range.
template <class T, class Out, class Range, class WriteElement>
void write_elements(Out& out, const Range& values, WriteElement write_element) {
    static_assert(Codec<T>::min_size > 0, "cinnabar: the elements of a container must take at least one byte each");
    out.count(values.size());
    if (values.size() == 0) return;
    out.align(Codec<T>::alignment);
    if constexpr (Out::sizing && Codec<T>::fixed) {
        out.raw(nullptr, values.size() * Codec<T>::min_size);
    } else {
        if (!out.enter()) return;
        const std::size_t start = out.position();
        for (const auto& value : values) {
            if (!out.ok()) break;
            write_element(value);
        }
        out.leave();
        // Only a hand-written proc function can write too few bytes; the peer would reject the count.
        if (out.position() - start < values.size() * Codec<T>::min_size) out.fail(Errc::invalid_argument);
    }
}
template <class T, class Out, class Range>
void write_sequence(Out& out, const Range& values) {
    if constexpr (Codec<T>::flat && std::contiguous_iterator<typename Range::const_iterator>) {
        out.count(values.size());
        if (values.size() == 0) return;
        out.align(Codec<T>::alignment);
        out.raw(values.data(), values.size() * sizeof(T));
    } else {
        write_elements<T>(out, values, [&out](const T& value) { out(value); });
    }
}

// Calls read_element `count` times, with the nesting checked. If read_element cannot read, it must make `in` fail.
template <class T, class ReadElement>
void read_elements(Decoder& in, std::size_t count, ReadElement read_element) {
    if (count == 0) return;
    in.align(Codec<T>::alignment);
    if (!in.enter()) return;
    for (std::size_t i = 0; i < count && in.ok(); ++i) read_element();
    in.leave();
}

// Reads the count and returns the bytes of flat elements without copying.
template <class T>
ConstBytes read_in_place(Decoder& in) {
    const std::size_t count = in.count(sizeof(T), 0);
    if (count == 0) return {};
    in.align(Codec<T>::alignment);
    return in.view(count * sizeof(T));
}
template <class T>
bool is_aligned(ConstBytes bytes) noexcept {
    return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(T) == 0;
}

// For a vector or string whose elements may have any bit pattern.
template <class T, class Container>
void read_contiguous(Decoder& in, Container& values) {
    const ConstBytes bytes = read_in_place<T>(in);
    const std::size_t count = bytes.size() / sizeof(T);
    if (!in.ok() || !in.charge(count, sizeof(T))) return;
    if (is_aligned<T>(bytes)) {  // copies once; resize() would clear the memory first
        const T* first = reinterpret_cast<const T*>(bytes.data());
        values.assign(first, first + count);
    } else {
        values.resize(count);
        if (count != 0) std::memcpy(values.data(), bytes.data(), bytes.size());
    }
}

template <class Container, std::size_t OverheadBytes>
struct SequenceCodec : SequenceTraits<typename Container::value_type> {
    using T = typename Container::value_type;
    template <class Out>
    static void write(Out& out, const Container& values) {
        write_sequence<T>(out, values);
    }
    static void read(Decoder& in, Container& values) {
        values.clear();
        const std::size_t count = in.count(Codec<T>::min_size, sizeof(T) + OverheadBytes);
        if constexpr (requires { values.reserve(count); }) values.reserve(count);
        read_elements<T>(in, count, [&] {
            if constexpr (std::is_same_v<T, bool>) {  // elements of a vector<bool> have no address
                bool value = false;
                in(value);
                values.push_back(value);
            } else {
                in(values.emplace_back());
            }
        });
    }
};

// A type that says how it is encoded is never taken for one of the standard library.
template <class T>
concept OfItsOwn = HandWritten<T> || Record<T>;

// std::list and std::deque.
template <class T>
concept TwoEnded = !OfItsOwn<T> && requires(T & values) {
    typename T::allocator_type;
    values.emplace_front();
    values.emplace_back();
};
// Of these two, only the list allocates each element by itself, and only the list has a sort of its own.
template <class T>
concept SortsItself = requires(T& values) {
    values.sort();
};
template <class T>
inline constexpr std::size_t two_ended_overhead_bytes = SortsItself<T> ? node_overhead_bytes : 0;

// The sets and maps of the standard library, ordered or not, with one or several values for a key.
template <class T>
concept Keyed = !OfItsOwn<T> && requires {
    typename T::allocator_type;
    typename T::key_type;
    typename T::node_type;
};
template <class T>
struct KeyedElement {
    using Type = typename T::key_type;
};
template <class T>
requires requires { typename T::mapped_type; }
struct KeyedElement<T> {
    using Type = std::pair<typename T::key_type, typename T::mapped_type>;
};

// Elements inserted by key. Duplicate keys are rejected if the container holds each key once.
template <class Container, class Element>
struct KeyedCodec : SequenceTraits<Element> {
    static constexpr bool is_map = requires { typename Container::mapped_type; };
    template <class Out>
    static void write(Out& out, const Container& values) {
        write_elements<Element>(out, values, [&out](const auto& value) {
            if constexpr (is_map)
                out(value.first, value.second);
            else
                out(value);
        });
    }
    static void read(Decoder& in, Container& values) {
        values.clear();
        const std::size_t count = in.count(Codec<Element>::min_size, sizeof(Element) + node_overhead_bytes);
        if constexpr (requires { values.reserve(count); }) values.reserve(count);
        read_elements<Element>(in, count, [&] {
            Element element{};
            in(element);
            if (in.ok()) values.insert(std::move(element));
        });
        if (in.ok() && values.size() != count) in.fail(Errc::protocol);
    }
};

// std::filesystem::path.
template <class T>
concept FilePath = !std::is_const_v<T> && !OfItsOwn<T> && requires(T & path, std::string text) {
    T::preferred_separator;
    path.lexically_normal();
    { path.native() } -> std::same_as<const std::string&>;
    path = std::move(text);
};

// std::bitset.
template <class T>
concept BitSet = !OfItsOwn<T> && requires(const T& bits) {
    bits.size();
    bits.to_ullong();
    bits[0];
};

// std::variant.
template <class T>
concept OneOfSeveral = !OfItsOwn<T> && requires(const T& value) {
    { value.valueless_by_exception() } -> std::same_as<bool>;
    { value.index() } -> std::same_as<std::size_t>;
};

// A byte, 0 or 1, followed by the value if it is 1.
template <class Holder, class T>
struct MaybeCodec {
    static constexpr Kind kind{'o'};
    using Parts = TypeList<T>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = 1;
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;
    template <class Out>
    static void write(Out& out, const Holder& holder) {
        const bool full = static_cast<bool>(holder);
        out(full);
        if (!full || !out.enter()) return;
        out(*holder);
        out.leave();
    }
    static void read(Decoder& in, Holder& holder) {
        bool full = false;
        in(full);
        holder.reset();
        if (!full || !in.enter()) return;
        if constexpr (requires { holder.emplace(); })
            holder.emplace();
        else if (in.charge(1, sizeof(T) + node_overhead_bytes))
            holder = std::make_unique<T>();
        if (holder) in(*holder);
        in.leave();
    }
};

}  // namespace detail

template <class C, class Traits, class A>
struct Codec<std::basic_string<C, Traits, A>> : detail::SequenceTraits<C> {
    template <class Out>
    static void write(Out& out, const std::basic_string<C, Traits, A>& value) {
        detail::write_sequence<C>(out, value);
    }
    static void read(Decoder& in, std::basic_string<C, Traits, A>& value) { detail::read_contiguous<C>(in, value); }
};
template <class T, class A>
struct Codec<std::vector<T, A>> : detail::SequenceCodec<std::vector<T, A>, 0> {
    static void read(Decoder& in, std::vector<T, A>& values) {
        if constexpr (Codec<T>::any_bits)
            detail::read_contiguous<T>(in, values);
        else
            detail::SequenceCodec<std::vector<T, A>, 0>::read(in, values);
    }
};
template <template <class...> class Container, class... A>
requires detail::TwoEnded<Container<A...>>
struct Codec<Container<A...>>
    : detail::SequenceCodec<Container<A...>, detail::two_ended_overhead_bytes<Container<A...>>> {
};

// Views into the payload; valid as long as the payload.
template <class C, class Traits>
struct Codec<std::basic_string_view<C, Traits>> : detail::SequenceTraits<C> {
    static_assert(alignof(C) <= 8);
    template <class Out>
    static void write(Out& out, const std::basic_string_view<C, Traits>& value) {
        detail::write_sequence<C>(out, value);
    }
    static void read(Decoder& in, std::basic_string_view<C, Traits>& value) {
        const ConstBytes bytes = detail::read_in_place<C>(in);
        if (!detail::is_aligned<C>(bytes)) return in.fail(Errc::invalid_argument);
        value = {reinterpret_cast<const C*>(bytes.data()), bytes.size() / sizeof(C)};
    }
};
template <class T>
struct Codec<std::span<const T>> : detail::SequenceTraits<T> {
    // Elements with padding, bools, or a larger alignment than the payload has cannot be viewed in place.
    static constexpr bool allowed = Codec<T>::any_bits && alignof(T) <= Codec<T>::alignment;
    template <class Out>
    static void write(Out& out, const std::span<const T>& values) {
        check();
        out.count(values.size());
        if (values.empty()) return;
        out.align(Codec<T>::alignment);
        out.raw(values.data(), values.size_bytes());
    }
    static void read(Decoder& in, std::span<const T>& values) {
        check();
        const ConstBytes bytes = detail::read_in_place<T>(in);
        if (!detail::is_aligned<T>(bytes)) return in.fail(Errc::invalid_argument);
        values = {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

  private:
    static constexpr void check() {
        static_assert(allowed,
                      "cinnabar: a span is decoded in place, so its elements must be numbers, or aggregates of numbers "
                      "without padding and without bools; use std::vector");
    }
};

template <template <class...> class Container, class... A>
requires detail::Keyed<Container<A...>>
struct Codec<Container<A...>>
    : detail::KeyedCodec<Container<A...>, typename detail::KeyedElement<Container<A...>>::Type> {
};

template <class T>
struct Codec<std::optional<T>> : detail::MaybeCodec<std::optional<T>, T> {};
template <class T>
requires(!std::is_array_v<T>) struct Codec<std::unique_ptr<T>> : detail::MaybeCodec<std::unique_ptr<T>, T> {
};

// A byte, the index of the alternative, followed by its value.
template <template <class...> class Variant, class... T>
requires(sizeof...(T) <= 255 && detail::OneOfSeveral<Variant<T...>>) struct Codec<Variant<T...>> {
    static constexpr detail::Kind kind{'v', sizeof...(T)};
    using Parts = TypeList<T...>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = 1;
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;
    template <class Out>
    static void write(Out& out, const Variant<T...>& value) {
        if (value.valueless_by_exception()) return out.fail(Errc::invalid_argument);
        out(static_cast<std::uint8_t>(value.index()));
        [&]<std::size_t... I>(std::index_sequence<I...>) {  // get_if is the variant's own
            ((I == value.index() ? out(*get_if<I>(&value)) : void()), ...);
        }
        (std::index_sequence_for<T...>{});
    }
    static void read(Decoder& in, Variant<T...>& value) {
        const std::size_t index = in.u8();
        if (index >= sizeof...(T)) return in.fail(Errc::protocol);
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            ((I == index ? in(value.template emplace<I>()) : void()), ...);
        }
        (std::index_sequence_for<T...>{});
    }
};

// The number of ticks; the unit is a part of the type.
template <class Rep, class Period>
struct Codec<std::chrono::duration<Rep, Period>> {
    static constexpr detail::Kind kind{'d', static_cast<std::uint64_t>(Period::num),
                                       static_cast<std::uint64_t>(Period::den)};
    using Parts = TypeList<Rep>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = Codec<Rep>::min_size;
    static constexpr bool fixed = Codec<Rep>::fixed;
    static constexpr std::size_t alignment = Codec<Rep>::alignment;
    static constexpr bool flat = Codec<Rep>::flat;
    static constexpr bool any_bits = Codec<Rep>::any_bits;
    template <class Out>
    static void write(Out& out, const std::chrono::duration<Rep, Period>& value) {
        out(value.count());
    }
    static void read(Decoder& in, std::chrono::duration<Rep, Period>& value) {
        Rep ticks{};
        in(ticks);
        value = std::chrono::duration<Rep, Period>(ticks);
    }
};

// Ticks since the clock's epoch. Not for steady clocks, whose time points mean nothing to another process.
template <class Clock, class Duration>
requires(!Clock::is_steady) struct Codec<std::chrono::time_point<Clock, Duration>> : Codec<Duration> {
    using Time = std::chrono::time_point<Clock, Duration>;
    static constexpr detail::Kind kind{'t', static_cast<std::uint64_t>(Duration::period::num),
                                       static_cast<std::uint64_t>(Duration::period::den)};
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;
    template <class Out>
    static void write(Out& out, const Time& value) {
        out(value.time_since_epoch());
    }
    static void read(Decoder& in, Time& value) {
        Duration since{};
        in(since);
        value = Time(since);
    }
};

// The bytes of the native string of a std::filesystem::path; the same encoding as that of a string.
template <detail::FilePath T>
struct Codec<T> : detail::SequenceTraits<char> {
    template <class Out>
    static void write(Out& out, const T& path) {
        out(path.native());
    }
    static void read(Decoder& in, T& path) {
        std::string text;
        in(text);
        path = std::move(text);
    }
};

// Of a std::bitset, bit i is bit i % 8 of byte i / 8; the unused bits of the last byte are zero.
template <template <std::size_t> class Bits, std::size_t N>
requires detail::BitSet<Bits<N>>
struct Codec<Bits<N>> {
    static constexpr detail::Kind kind{'B', N};
    using Parts = TypeList<>;
    static constexpr bool allowed = true;
    static constexpr std::size_t min_size = (N + 7) / 8;
    static constexpr bool fixed = true;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;
    template <class Out>
    static void write(Out& out, const Bits<N>& bits) {
        for (std::size_t at = 0; at < N; at += 8) {
            unsigned byte = 0;
            for (std::size_t i = at; i < N && i < at + 8; ++i) byte |= unsigned{bits[i]} << (i - at);
            out(static_cast<std::uint8_t>(byte));
        }
    }
    static void read(Decoder& in, Bits<N>& bits) {
        for (std::size_t at = 0; at < N; at += 8) {
            const unsigned byte = in.u8();
            for (std::size_t i = at; i < at + 8; ++i) {
                const bool bit = (byte >> (i - at) & 1U) != 0;
                if (i < N)
                    bits[i] = bit;
                else if (bit)
                    return in.fail(Errc::protocol);
            }
        }
    }
};

}  // namespace cinnabar::rpc
