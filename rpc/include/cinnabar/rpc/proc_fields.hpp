// SPDX-License-Identifier: BSD-3-Clause
// Determines the fields of a record. A record is a std::pair or std::tuple, a type with a `proc_fields` function found
// by ADL (`auto proc_fields(T& v) { return std::tie(v.a, v.b); }`), or an aggregate without bases of at most
// `aggregate_fields_max` fields, which needs no function. Everything is decided at compile time.
#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cinnabar::rpc {

inline constexpr std::size_t aggregate_fields_max = 32;
// Each element of a C array inside an aggregate counts as one initializer. std::array has no such limit.
inline constexpr std::size_t aggregate_initializers_max = 256;

template <class... T>
struct TypeList {
    static constexpr std::size_t size = sizeof...(T);
};

namespace detail {

// Converts to any field, as its initializer. Never called, but defined, because checking the constructor of a
// std::optional makes some compilers look for the body.
template <class Whole>
struct AnyField {
    template <class Field>
    requires(!std::is_same_v<std::remove_cv_t<Field>, Whole>) operator Field() const noexcept {
        __builtin_unreachable();
    }
};
template <class Whole>
struct AnyBase {
    template <class Base>
    requires(std::is_base_of_v<Base, Whole> && !std::is_same_v<std::remove_cv_t<Base>, Whole>) operator Base()
        const noexcept {
        __builtin_unreachable();
    }
};

template <class T, std::size_t>
using AnyFieldAt = AnyField<T>;

template <class T, class Before>
struct Initializers;
template <class T, std::size_t... Before>
struct Initializers<T, std::index_sequence<Before...>> {
    static constexpr bool fit = requires { T{AnyFieldAt<T, Before>{}...}; };
    // Whether T accepts the `Before` initializers, then an empty pair of braces, then `After` more initializers.
    template <std::size_t... After>
    static consteval bool fit_around_braces(std::index_sequence<After...>) {
        return requires { T{AnyFieldAt<T, Before>{}..., {}, AnyFieldAt<T, After>{}...}; };
    }
};

template <class T, std::size_t Count>
inline constexpr bool takes = Initializers<T, std::make_index_sequence<Count>>::fit;
template <class T, std::size_t Before, std::size_t After>
inline constexpr bool takes_around_braces =
    Initializers<T, std::make_index_sequence<Before>>::fit_around_braces(std::make_index_sequence<After>{});

// The largest number of initializers that T accepts, known to be at least Low and less than High.
template <class T, std::size_t Low, std::size_t High>
consteval std::size_t initializer_count_between() {
    if constexpr (High - Low == 1) {
        return Low;
    } else {
        constexpr std::size_t middle = Low + (High - Low) / 2;
        if constexpr (takes<T, middle>)
            return initializer_count_between<T, middle, High>();
        else
            return initializer_count_between<T, Low, middle>();
    }
}
// Tries 2, 4, 8, ... first: most aggregates are small, and each probe costs build time.
template <class T, std::size_t High = 2>
consteval std::size_t initializer_count() {
    if constexpr (High > aggregate_initializers_max)
        return High;
    else if constexpr (takes<T, High>)
        return initializer_count<T, High * 2>();
    else
        return initializer_count_between < T, High == 2 ? 0 : High / 2, High > ();
}

template <class T, std::size_t Before, std::size_t Low, std::size_t High>
consteval std::size_t initializers_after() {
    if constexpr (High - Low == 1) {
        return Low;
    } else {
        constexpr std::size_t middle = Low + (High - Low) / 2;
        if constexpr (takes_around_braces<T, Before, middle>)
            return initializers_after<T, Before, middle, High>();
        else
            return initializers_after<T, Before, Low, middle>();
    }
}
// Counts fields. T can accept more initializers than it has fields, since a C array takes one per element if its braces
// are left out. But `{}` initializes a whole field of any type, so the number of initializers that T accepts after a
// `{}` tells where the next field begins.
template <class T, std::size_t Total, std::size_t Before = 0>
consteval std::size_t field_count_from() {
    if constexpr (Before >= Total)
        return 0;
    else if constexpr (takes_around_braces<T, Before, Total - Before - 1> || !takes_around_braces<T, Before, 0>)
        return 1 + field_count_from<T, Total, Before + 1>();  // the second condition: `{}` cannot make that field
    else {
        constexpr std::size_t after = initializers_after<T, Before, 0, Total - Before - 1>();
        return 1 + field_count_from<T, Total, Total - after>();
    }
}

template <class T>
inline constexpr bool has_base = requires {
    T{AnyBase<T>{}};
};

template <class T>
consteval std::size_t aggregate_field_count() {
    if constexpr (std::is_empty_v<T>) {
        return 0;
    } else {
        constexpr std::size_t initializers = initializer_count<T>();
        if constexpr (initializers > aggregate_initializers_max)
            return initializers;
        else
            return field_count_from<T, initializers>();
    }
}

template <std::size_t Count>
struct Unpack;
template <>
struct Unpack<0> {
    template <class T, class F>
    static constexpr decltype(auto) visit(T&, F&& f) {
        return f();
    }
};
// Before C++26, structured bindings cannot have a variable number of names, hence one line for each number.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CINNABAR_BIND(count, ...)                                \
    template <>                                                  \
    struct Unpack<count> {                                       \
        template <class T, class F>                              \
        static constexpr decltype(auto) visit(T& value, F&& f) { \
            auto& [__VA_ARGS__] = value;                         \
            return f(__VA_ARGS__);                               \
        }                                                        \
    };
// clang-format off
CINNABAR_BIND(1, a)
CINNABAR_BIND(2, a, b)
CINNABAR_BIND(3, a, b, c)
CINNABAR_BIND(4, a, b, c, d)
CINNABAR_BIND(5, a, b, c, d, e)
CINNABAR_BIND(6, a, b, c, d, e, g)
CINNABAR_BIND(7, a, b, c, d, e, g, h)
CINNABAR_BIND(8, a, b, c, d, e, g, h, i)
CINNABAR_BIND(9, a, b, c, d, e, g, h, i, j)
CINNABAR_BIND(10, a, b, c, d, e, g, h, i, j, k)
CINNABAR_BIND(11, a, b, c, d, e, g, h, i, j, k, l)
CINNABAR_BIND(12, a, b, c, d, e, g, h, i, j, k, l, m)
CINNABAR_BIND(13, a, b, c, d, e, g, h, i, j, k, l, m, n)
CINNABAR_BIND(14, a, b, c, d, e, g, h, i, j, k, l, m, n, o)
CINNABAR_BIND(15, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p)
CINNABAR_BIND(16, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q)
CINNABAR_BIND(17, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r)
CINNABAR_BIND(18, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s)
CINNABAR_BIND(19, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
CINNABAR_BIND(20, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u)
CINNABAR_BIND(21, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)
CINNABAR_BIND(22, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w)
CINNABAR_BIND(23, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x)
CINNABAR_BIND(24, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y)
CINNABAR_BIND(25, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z)
CINNABAR_BIND(26, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa)
CINNABAR_BIND(27, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb)
CINNABAR_BIND(28, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc)
CINNABAR_BIND(29, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd)
CINNABAR_BIND(30, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee)
CINNABAR_BIND(31, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, gg)
CINNABAR_BIND(32, a, b, c, d, e, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, gg, hh)
// clang-format on
#undef CINNABAR_BIND

template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;

template <class T>
concept HasProcFields = requires(T& value) {
    proc_fields(value);
};

// Stands for the archive in checks for a serialize or save function.
struct AnyArchive {
    template <class... T>
    AnyArchive& operator()(T&&...);
    template <class T>
    AnyArchive& operator&(T&&);
    template <class T>
    AnyArchive& operator<<(T&&);
    template <class T>
    AnyArchive& operator>>(T&&);
};
// Types with a serialize or save function, which defines their encoding. Such a type does not count as a plain
// aggregate, even in files that do not include the bridge that calls these functions (cereal.hpp); otherwise two parts
// of a program could encode it differently.
template <class T>
concept SerializesItself = requires(T& value, AnyArchive& archive) {
    value.serialize(archive);
}
|| requires(T& value, AnyArchive& archive) { value.serialize(archive, 0U); }
|| requires(const T& value, AnyArchive& archive) { value.save(archive); }
|| requires(const T& value, AnyArchive& archive) { value.save(archive, 0U); }
|| requires(const T& value, AnyArchive& archive) { value.save_minimal(archive); }
|| requires(T& value, AnyArchive& archive) { serialize(archive, value); }
|| requires(T& value, AnyArchive& archive) { serialize(archive, value, 0U); }
|| requires(const T& value, AnyArchive& archive) { save(archive, value); }
|| requires(const T& value, AnyArchive& archive) { save(archive, value, 0U); };

template <class T>
concept BaselessAggregate =
    std::is_class_v<T> && std::is_aggregate_v<T> && !is_std_array<T> && !SerializesItself<T> && !has_base<T>;

template <class T>
consteval bool is_plain_aggregate() {
    if constexpr (BaselessAggregate<T>)  // a class that has a field without a default may seem to have no fields
        return aggregate_field_count<T>() <= aggregate_fields_max &&
               (aggregate_field_count<T>() > 0 || std::is_empty_v<T>);
    else
        return false;
}
template <class T>
concept PlainAggregate = is_plain_aggregate<T>();

// Calls f(field, ...) with references to all fields of a record in wire order, and returns the result of f.
template <class T, class F>
constexpr decltype(auto) visit_fields(T& value, F&& f) {
    using Record = std::remove_const_t<T>;
    if constexpr (is_tuple<Record>) return std::apply(std::forward<F>(f), value);
    // `proc_fields` lists the fields for both reading and writing; encoders never write through the references.
    else if constexpr (HasProcFields<Record>)
        return std::apply(std::forward<F>(f), proc_fields(const_cast<Record&>(value)));
    else
        return Unpack<aggregate_field_count<Record>()>::visit(value, std::forward<F>(f));
}

struct ToTypeList {
    template <class... Field>
    constexpr TypeList<Field...> operator()(Field&...) const {
        return {};
    }
};
// A const field stays const here, and is rejected, because it cannot be decoded.
template <class T>
using FieldTypes = decltype(visit_fields(std::declval<T&>(), ToTypeList{}));

}  // namespace detail
}  // namespace cinnabar::rpc
