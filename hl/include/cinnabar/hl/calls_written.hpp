// SPDX-License-Identifier: BSD-3-Clause
// CallsWritten: the base of BasicCalls (calls.hpp), with overloads of `call` for g++ 12, which take each argument by
// forwarding reference and so see whether the argument is a temporary. g++ 12 chooses these overloads for contracts
// whose arguments own memory, so that a call without temporaries may be awaited at once (call.hpp, MustBeNamed). Other
// compilers never choose these overloads.
#pragma once

#include <cinnabar/hl/call.hpp>

#include <tuple>
#include <utility>

namespace cinnabar::hl {
namespace detail {

// Like std::tuple_element, but for an index past the end, ArgumentAt has no member `type`, whereas std::tuple_element
// does not compile. clang 14 needs this, because it substitutes the arguments of an overload before it checks the
// requires clause.
template <std::size_t Index, typename Arguments>
struct ArgumentAt {};
template <std::size_t Index, typename... A>
requires(Index < sizeof...(A)) struct ArgumentAt<Index, std::tuple<A...>>
    : std::tuple_element<Index, std::tuple<A...>> {
};
template <typename R, std::size_t Index>
using Arg = typename ArgumentAt<Index, typename R::Arguments>::type;

// Whether one of these types is destroyed twice when it is a temporary in a co_await. An lvalue is not a temporary.
template <typename... A>
inline constexpr bool fragile = await_breaks_temporaries &&
                                (false || ... ||
                                 (!std::is_lvalue_reference_v<A> && !std::is_trivially_destructible_v<A>));
template <typename Arguments>
inline constexpr bool fragile_arguments = false;
template <typename... In>
inline constexpr bool fragile_arguments<std::tuple<In...>> = fragile<In...>;

// Whether expressions of the types A convert to the arguments of R; one further expression may be the deadline.
template <typename R, typename... A>
consteval bool fits() {
    const auto convert = []<std::size_t... I>(std::index_sequence<I...>) {
        return (true && ... && std::is_convertible_v<std::tuple_element_t<I, std::tuple<A&&...>>, Arg<R, I>>);
    };
    constexpr std::make_index_sequence<R::arity> arguments;
    if constexpr (sizeof...(A) == R::arity) return convert(arguments);
    if constexpr (sizeof...(A) == R::arity + 1)
        return convert(arguments) &&
               std::is_convertible_v<std::tuple_element_t<R::arity, std::tuple<A&&...>>, Microseconds>;
    return false;
}
template <typename R, typename... A>
concept Written = fragile_arguments<typename R::Arguments> && fits<R, A...>();

[[nodiscard]] inline CallOptions call_options(const CallOptions& options) noexcept { return options; }
[[nodiscard]] inline CallOptions call_options(Microseconds deadline) noexcept { return {.deadline = deadline}; }

// Tells BasicCalls how to make calls on a node: the core that calls are made from, and the type that `call` returns:
// Pending, or MustBeNamed where g++ 12 would destroy an argument twice (`fragile`, above).
struct NodeCalls {
    using Core = NodeCore*;
    [[nodiscard]] static NodeCore& of(NodeCore* core) noexcept { return *core; }
    template <typename Out, bool Fragile>
    using Made = std::conditional_t<Fragile, MustBeNamed<Out>, Pending<Out>>;
};

}  // namespace detail

template <typename Kind>
class CallsWritten {
    template <typename R, typename... A>
    using Made = typename Kind::template Made<typename R::Result, detail::fragile<A...>>;

  public:
    template <typename R, typename... A>
    requires detail::Written<R, A...>
    [[nodiscard]] Made<R, A...> call(const R& rpc, const na::Addr& to, A&&... written) const {
        return make_written<Made<R, A...>>(rpc, to, std::forward_as_tuple(std::forward<A>(written)...));
    }
    template <typename R, typename A>
    requires(R::arity == 1 && detail::Written<R, A>)
        [[nodiscard]] Made<R, A> call(const R& rpc, const na::Addr& to, A&& a, const CallOptions& options) const {
        return make_written<Made<R, A>>(rpc, to, std::forward_as_tuple(std::forward<A>(a), options));
    }
    template <typename R, typename A, typename B>
    requires(R::arity == 2 && detail::Written<R, A, B>)
        [[nodiscard]] Made<R, A, B> call(const R& rpc, const na::Addr& to, A&& a, B&& b,
                                         const CallOptions& options) const {
        return make_written<Made<R, A, B>>(rpc, to,
                                           std::forward_as_tuple(std::forward<A>(a), std::forward<B>(b), options));
    }
    template <typename R, typename A, typename B, typename C>
    requires(R::arity == 3 && detail::Written<R, A, B, C>)
        [[nodiscard]] Made<R, A, B, C> call(const R& rpc, const na::Addr& to, A&& a, B&& b, C&& c,
                                            const CallOptions& options) const {
        return make_written<Made<R, A, B, C>>(
            rpc, to, std::forward_as_tuple(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options));
    }
    template <typename R, typename A, typename B, typename C, typename D>
    requires(R::arity == 4 && detail::Written<R, A, B, C, D>)
        [[nodiscard]] Made<R, A, B, C, D> call(const R& rpc, const na::Addr& to, A&& a, B&& b, C&& c, D&& d,
                                               const CallOptions& options) const {
        return make_written<Made<R, A, B, C, D>>(
            rpc, to,
            std::forward_as_tuple(std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), std::forward<D>(d),
                                  options));
    }

  protected:
    explicit CallsWritten(typename Kind::Core core) noexcept : core_(std::move(core)) {}

    // P: the type to return, one of Kind::Made.
    template <typename P, typename R, typename... In>
    P make(const Contract<R>& rpc, const na::Addr& to, const CallOptions& options, const In&... in) const {
        constexpr std::uint16_t shape = rpc::shape_of<typename R::Input>();
        return P(Kind::of(core_), rpc.name(), shape, to, options, in...);
    }

    typename Kind::Core core_ = {};

  private:
    template <typename P, typename R, typename... A>
    P make_written(const R& rpc, const na::Addr& to, std::tuple<A...> written) const {
        return convert_and_make<P>(rpc, to, std::move(written), std::make_index_sequence<R::arity>());
    }
    // Converts the expressions to the arguments of R, as a function call does.
    template <typename P, typename R, typename... A, std::size_t... I>
    P convert_and_make(const R& rpc, const na::Addr& to, std::tuple<A...> written, std::index_sequence<I...>) const {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"  // literals whose value fits convert silently
#pragma GCC diagnostic ignored "-Wsign-conversion"
        const auto make_of = [&](const detail::Arg<R, I>&... in) {
            if constexpr (sizeof...(A) > sizeof...(I))
                return make<P>(rpc, to, detail::call_options(std::get<sizeof...(I)>(written)), in...);
            else
                return make<P>(rpc, to, {}, in...);
        };
        return make_of(std::get<I>(std::move(written))...);
#pragma GCC diagnostic pop
    }
};

}  // namespace cinnabar::hl
