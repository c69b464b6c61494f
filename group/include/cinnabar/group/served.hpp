// SPDX-License-Identifier: BSD-3-Clause
// Wraps a typed handler into one that takes and returns bytes. A handler takes the arguments, or CallInfo and the
// arguments, and returns T, Result<T>, Task<T> or Task<Result<T>>. The handler of a bulk call takes a Portion after the
// arguments.
#pragma once

#include <cinnabar/group/erased.hpp>
#include <cinnabar/hl/serve.hpp>

#include <tuple>
#include <type_traits>
#include <utility>

namespace cinnabar::group::detail {

// More: the types of the parameters after the arguments.
template <typename R, typename F, typename... More>
struct Handling;

template <typename F, typename Out, typename... In, typename... More>
struct Handling<hl::Rpc<Out(In...)>, F, More...> {
    using Input = typename hl::Rpc<Out(In...)>::Input;
    using Output = hl::detail::OutputOf<Out>;
    static constexpr bool informed = std::is_invocable_v<F&, const CallInfo&, In..., More...>;
    static_assert(informed || std::is_invocable_v<F&, In..., More...>,
                  "cinnabar: the handler takes neither the arguments of this Rpc nor CallInfo and the arguments (and, "
                  "of a bulk call, a Portion)");
    static_assert(!hl::detail::borrows<true, Input>(),
                  "cinnabar: the arguments of a group's call cannot hold views; use std::string or std::vector");

    static decltype(auto) call(F& f, const CallInfo& info, Input& input, const More&... more) {
        const auto with = [&](auto&... in) -> decltype(auto) {
            if constexpr (informed)
                return f(info, std::move(in)..., more...);
            else
                return f(std::move(in)..., more...);
        };
        if constexpr (sizeof...(In) == 0)
            return with();
        else if constexpr (sizeof...(In) == 1)
            return with(input);
        else
            return std::apply(with, input);
    }
    using Returned = decltype(call(std::declval<F&>(), std::declval<const CallInfo&>(), std::declval<Input&>(),
                                   std::declval<const More&>()...));
};

template <typename Output, typename T>
LocalOutcome outcome_of(T&& returned) {
    using Plain = std::remove_cvref_t<T>;
    LocalOutcome outcome;
    if constexpr (hl::detail::is_result<Plain>) {
        if (!returned.ok()) return {returned.error().code, returned.error().app_code, returned.error().subject, {}};
        if constexpr (!std::is_void_v<typename Plain::value_type>)
            outcome.code = encode_into(outcome.output, static_cast<Output>(*std::forward<T>(returned)));
    } else {
        outcome.code = encode_into(outcome.output, static_cast<Output>(std::forward<T>(returned)));
    }
    return outcome;
}

template <typename R, typename F, typename... More>
hl::Task<LocalOutcome> run_handler(std::shared_ptr<F> f, const CallInfo& info, const Encoded& bytes, More... more) {
    using Handler = Handling<R, F, More...>;
    using Returned = typename Handler::Returned;
    typename Handler::Input input{};
    LocalOutcome outcome;
    outcome.code = rpc::decode(ConstBytes(bytes), input);
    if (outcome.code != Errc::ok) co_return outcome;
    try {
        if constexpr (hl::detail::is_task<Returned>) {
            auto task = Handler::call(*f, info, input, more...);
            if constexpr (std::is_void_v<typename Returned::value_type>) {
                co_await task;
            } else {
                auto returned = co_await task;
                outcome = outcome_of<typename Handler::Output>(std::move(returned));
            }
        } else if constexpr (std::is_void_v<Returned>) {
            Handler::call(*f, info, input, more...);
        } else {
            outcome = outcome_of<typename Handler::Output>(Handler::call(*f, info, input, more...));
        }
    } catch (...) {
        hl::detail::log_exception("a handler of a group");
        outcome.code = Errc::handler_failed;
    }
    co_return outcome;
}

template <typename R>
ServedRpc served_as(const R& rpc) {
    ServedRpc served;
    served.name = rpc.name().text;
    served.id = rpc.name().id;
    served.shape = rpc::shape_of<typename R::Input>();
    return served;
}

template <typename R, typename F>
ServedRpc served_bulk_by(const R& rpc, F function) {
    ServedRpc served = served_as(rpc);
    served.run_bulk = [f = std::make_shared<F>(std::move(function))](const CallInfo& info, const Encoded& input,
                                                                     Portion portion) {
        return run_handler<R, F, Portion>(f, info, input, std::move(portion));
    };
    return served;
}

template <typename R, typename F>
ServedRpc served_by(const R& rpc, F function) {
    ServedRpc served = served_as(rpc);
    served.run = [f = std::make_shared<F>(std::move(function))](const CallInfo& info, const Encoded& input) {
        return run_handler<R, F>(f, info, input);
    };
    return served;
}

}  // namespace cinnabar::group::detail
