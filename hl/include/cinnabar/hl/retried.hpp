// SPDX-License-Identifier: BSD-3-Clause
// Retried: the result of Caller::call, a call that has not been sent yet. Send the call in one of the four ways of
// call.hpp: wait(), co_await, then(f), future(). A Retried that is destroyed unsent makes no call.
#pragma once

#include <cinnabar/hl/attempts.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/retried_future.hpp>
#include <cinnabar/hl/scope.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace cinnabar::hl {

template <typename Out>
class [[nodiscard]] Retried {
  public:
    // Like Pending::wait.
    [[nodiscard]] Result<Out> wait() { return sync_wait(std::move(task_)); }
    // Like Pending::then; exceptions of f are logged.
    template <typename F>
    void then(F f) {
        auto state = std::make_shared<F>(std::move(f));
        const Errc refused = detail::spawn_for(caller_, pass_on(std::move(task_), state));
        if (refused == Errc::ok) return;
        try {
            (*state)(Result<Out>(Error(refused, advice(refused))));
        } catch (...) {
            detail::log_exception("a callback");
        }
    }
    [[nodiscard]] RetriedFuture<Out> future() { return RetriedFuture<Out>(caller_, std::move(task_)); }

    [[nodiscard]] auto operator co_await() noexcept { return task_.operator co_await(); }

  protected:
    template <typename Kind>
    friend class CallsWritten;
    template <typename... In>
    Retried(const detail::CallerRef& caller, const RpcName& name, std::uint16_t shape, const na::Addr& to,
            const CallOptions& options, const In&... in)
        : caller_(caller), task_(make(caller, name, shape, to, options, in...)) {}

  private:
    template <typename... In>
    static Task<Result<Out>> make(const detail::CallerRef& caller, const RpcName& name, std::uint16_t shape,
                                  const na::Addr& to, const CallOptions& options, const In&... in) {
        static_assert((true && ... && std::is_copy_constructible_v<In>),
                      "cinnabar: a Caller copies the arguments, to send them again: they must be copyable");
        Task<Result<Out>> attempts =
            detail::attempt<Out>(detail::Attempts(caller, name, shape, to, options), std::tuple<In...>(in...));
        if (!options.stop) return attempts;
        return with_stop(std::move(attempts), *options.stop);
    }
    template <typename F>
    static Task<void> pass_on(Task<Result<Out>> task, std::shared_ptr<F> f) {
        Result<Out> result = co_await task;
        (*f)(std::move(result));
    }

    detail::CallerRef caller_;
    Task<Result<Out>> task_;
};

// Like MustBeNamed.
template <typename Out>
class [[nodiscard]] MustBeNamedRetried : public Retried<Out> {
  public:
    [[nodiscard]] auto operator co_await() & noexcept { return Retried<Out>::operator co_await(); }
    [[nodiscard]] auto operator co_await() && noexcept {
        static_assert(sizeof(Out*) == 0,
                      "cinnabar: g++ 12 destroys temporaries that are arguments of a co_await twice; name the argument "
                      "first (Item item{...}; co_await caller.call(put, peer, item)), or name the call (auto call = "
                      "caller.call(...); co_await call)");
        return Retried<Out>::operator co_await();
    }

  private:
    template <typename Kind>
    friend class CallsWritten;
    using Retried<Out>::Retried;
};

namespace detail {

struct CallerCalls {
    using Core = CallerRef;
    [[nodiscard]] static const CallerRef& of(const CallerRef& core) noexcept { return core; }
    template <typename Out, bool Fragile>
    using Made = std::conditional_t<Fragile, MustBeNamedRetried<Out>, Retried<Out>>;
};

}  // namespace detail
}  // namespace cinnabar::hl
