// SPDX-License-Identifier: BSD-3-Clause
// Rpc and OneWay: the contract of a call, which both sides share: the call's name and the types of its arguments and
// result.
//
//     inline constexpr cinnabar::Rpc<int(Pair)> sum{"sum"};
//     inline constexpr cinnabar::OneWay<Event> note{"note"};   // no reply: the origin only learns that it was sent
//
// The id is a hash of the name, made at compile time. At run time the shapes of the types are compared, so that two
// sides with different types get an error. Plain values.
#pragma once

#include <cinnabar/rpc/proc.hpp>
#include <cinnabar/rpc/proc_addr.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace cinnabar::hl {

// A contract without its types.
struct RpcName {
    std::string_view text;  // static storage
    rpc::RpcId id = 0;
    bool one_way = false;
    bool idempotent = false;
};

// Marks a contract whose handler may run twice with the same arguments, because the second run changes nothing: `inline
// constexpr cinnabar::Rpc<Value(Key)> get{"get", cinnabar::idempotent};`. A Caller (hl/caller.hpp) retries calls by
// such a contract even if the handler may already have run.
struct Idempotent {};
inline constexpr Idempotent idempotent{};

namespace detail {

template <typename... In>
struct InputOf {
    using type = std::tuple<In...>;
};
template <>
struct InputOf<> {
    using type = rpc::Empty;
};
template <typename In>
struct InputOf<In> {
    using type = In;
};

template <typename T>
inline constexpr bool is_view = false;
template <typename C, typename Traits>
inline constexpr bool is_view<std::basic_string_view<C, Traits>> = true;
template <typename T>
inline constexpr bool is_view<std::span<T>> = true;

// Whether a decoded T holds views into the message. A type with its own proc function declares this by a member `static
// constexpr bool proc_borrows`; without that member, `Unknown` is assumed.
template <bool Unknown, typename T, typename... Seen>
consteval bool borrows() {
    if constexpr ((false || ... || std::is_same_v<T, Seen>))
        return false;
    else if constexpr (is_view<T>)
        return true;
    else if constexpr (requires { T::proc_borrows; })
        return T::proc_borrows;
    else if constexpr (rpc::Codec<T>::kind.letter == 'x')
        return Unknown;
    else
        return []<typename... Part>(rpc::TypeList<Part...>) {
            return (false || ... || borrows<Unknown, Part, T, Seen...>());
        }(typename rpc::Codec<T>::Parts{});
}

template <typename T>
using OutputOf = std::conditional_t<std::is_void_v<T>, rpc::Empty, T>;

template <typename... In>
consteval void check_arguments() {
    static_assert(sizeof...(In) <= 4, "cinnabar: an Rpc has at most four arguments; put them into a struct");
    static_assert((true && ... && std::is_same_v<In, std::remove_cvref_t<In>>),
                  "cinnabar: name argument types without const and reference: they travel by value");
    static_assert((true && ... && rpc::Procable<In>),
                  "cinnabar: an argument type of this Rpc cannot be encoded; give it a proc function "
                  "(cinnabar/rpc/proc.hpp says how). The reason:");
    (rpc::detail::explain<In>(rpc::TypeList<>{}), ...);
}

template <typename Out>
consteval void check_result() {
    static_assert(std::is_same_v<Out, std::remove_cvref_t<Out>>,
                  "cinnabar: name the result type without const and reference: it travels by value");
    if constexpr (!std::is_void_v<Out>) {
        static_assert(rpc::Procable<Out>,
                      "cinnabar: the result type of this Rpc cannot be encoded; give it a proc function "
                      "(cinnabar/rpc/proc.hpp says how). The reason:");
        rpc::detail::explain<Out>(rpc::TypeList<>{});
        static_assert(!borrows<false, Out>(),
                      "cinnabar: a result cannot hold views: the message that they would point into is gone when the "
                      "caller looks; use std::string or std::vector");
    }
}

}  // namespace detail

// Base of Rpc and OneWay; R is one of them.
template <typename R>
class Contract {
  public:
    [[nodiscard]] constexpr const RpcName& name() const noexcept { return name_; }

  private:
    friend R;
    consteval Contract(std::string_view name, bool one_way, bool repeatable = false)
        : name_{name, rpc::rpc_id(name), one_way, repeatable} {}
    RpcName name_;
};

template <typename Signature>
class Rpc;

template <typename Out, typename... In>
class Rpc<Out(In...)> : public Contract<Rpc<Out(In...)>> {
  public:
    using Result = Out;
    using Arguments = std::tuple<In...>;
    static constexpr std::size_t arity = sizeof...(In);
    using Output = detail::OutputOf<Out>;                 // type in the reply
    using Input = typename detail::InputOf<In...>::type;  // type in the request: the argument, or a tuple

    // `name` must have static storage.
    consteval explicit Rpc(std::string_view name) : Contract<Rpc>(name, false) {
        detail::check_arguments<In...>();
        detail::check_result<Out>();
    }
    consteval Rpc(std::string_view name, Idempotent) : Contract<Rpc>(name, false, true) {
        detail::check_arguments<In...>();
        detail::check_result<Out>();
    }
};

template <typename... In>
class OneWay : public Contract<OneWay<In...>> {
  public:
    using Result = void;
    using Arguments = std::tuple<In...>;
    static constexpr std::size_t arity = sizeof...(In);
    using Output = rpc::Empty;
    using Input = typename detail::InputOf<In...>::type;

    consteval explicit OneWay(std::string_view name) : Contract<OneWay>(name, true) {
        detail::check_arguments<In...>();
    }
};

}  // namespace cinnabar::hl
