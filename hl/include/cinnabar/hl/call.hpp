// SPDX-License-Identifier: BSD-3-Clause
// Pending: the result of Node::call, a call that has not been sent yet. The arguments are already encoded, so they need
// not outlive Node::call, except for memory lent by a Bulk. Send the call once, in one of four ways:
//
//     Result<int> a = node.call(sum, peer, {2, 3}).wait();                 // blocks; plain code
//     Result<int> b = co_await node.call(sum, peer, {2, 3});               // in a task (g++ 12: see MustBeNamed)
//     node.call(sum, peer, {2, 3}).then([](Result<int> c) { ... });        // callback, from the node's loop
//     Future<int> d = node.call(sum, peer, {2, 3}).future();               // ask later
//
// A Pending that is destroyed unsent sends nothing. A Pending that is awaited must not be destroyed before its call has
// ended.
#pragma once

#include <cinnabar/hl/call_op.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <memory>

namespace cinnabar::hl {

template <typename Kind>
class CallsWritten;
template <typename Out>
class Future;

template <typename Out>
class [[nodiscard]] Pending {
  public:
    Pending(Pending&&) noexcept = default;

    // Sends the call and blocks until the call has ended; drives the node if the node has no thread of its own.
    // would_deadlock: called on a loop or pool thread, or inside a task; nothing was sent.
    [[nodiscard]] Result<Out> wait();
    // Sends the call and runs f(Result<Out>) once when the call has ended, on the loop; if the node is closed, f runs
    // at once on this thread. Exceptions of f are logged.
    template <typename F>
    void then(F f);
    // Sends the call. Destroying the future cancels it.
    [[nodiscard]] Future<Out> future();

    // --- used by co_await
    [[nodiscard]] bool await_ready() const noexcept { return op_.ready(); }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        return op_.start_for(context_of(handle), handle);
    }
    Result<Out> await_resume() noexcept { return op_.outcome(); }

  protected:
    template <typename Kind>
    friend class CallsWritten;
    template <typename... In>
    explicit Pending(NodeCore& node, const RpcName& name, std::uint16_t shape, const na::Addr& to,
                     const CallOptions& options, const In&... in) noexcept
        : op_(node, name, shape, to, options, in...) {}

  private:
    detail::CallOf<Out> op_;
};

namespace detail {

// g++ before 13 destroys some temporaries of an expression with a co_await twice: those inside an aggregate written in
// braces, and the captures of lambdas. This happens at the call site, before this library sees the arguments.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool await_breaks_temporaries = true;
#else
inline constexpr bool await_breaks_temporaries = false;
#endif

}  // namespace detail

// The type of a call that must not be awaited as a temporary with g++ 12, because one of its arguments is, or may be, a
// temporary that owns memory (an argument in braces may be one). The call can be sent like any other, but co_await
// takes only a named one:
//
//     auto call = node.call(put, peer, Item{"a", 3});
//     Result<void> done = co_await call;                // or name the argument: co_await node.call(put, peer, item)
template <typename Out>
class [[nodiscard]] MustBeNamed : public Pending<Out> {
  public:
    struct Awaiter {
        Pending<Out>& call;
        [[nodiscard]] bool await_ready() const noexcept { return call.await_ready(); }
        template <typename Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
            return call.await_suspend(handle);
        }
        Result<Out> await_resume() const noexcept { return call.await_resume(); }
    };
    [[nodiscard]] Awaiter operator co_await() & noexcept { return {*this}; }
    [[nodiscard]] Awaiter operator co_await() && noexcept {
        static_assert(sizeof(Out*) == 0,
                      "cinnabar: g++ 12 destroys temporaries that are arguments of a co_await twice; name the argument "
                      "first (Item item{...}; co_await node.call(put, peer, item)), or name the call (auto call = "
                      "node.call(...); co_await call)");
        return {*this};
    }

  private:
    template <typename Kind>
    friend class CallsWritten;
    using Pending<Out>::Pending;
};

namespace detail {

template <typename A>
inline constexpr bool must_be_named = false;
template <typename Out>
inline constexpr bool must_be_named<MustBeNamed<Out>> = true;

// The state of `then`; frees itself after the callback.
template <typename Out, typename F>
struct Then : Framed {
    CallOf<Out> op;
    F f;
    Job job;

    void run() noexcept {
        const std::unique_ptr<Then> self(this);
        try {
            f(op.outcome());
        } catch (...) {
            log_exception("a callback");
        }
    }
};

}  // namespace detail

template <typename Out>
Result<Out> Pending<Out>::wait() {
    if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
    Waiter waiter;
    waiter.relies_on(op_.loop());
    op_.user = &waiter;
    const auto ended = [](detail::CallOp& op) noexcept { static_cast<Waiter*>(op.user)->finish(); };
    if (op_.start(nullptr, ended)) waiter.wait();
    return op_.outcome();
}

template <typename Out>
template <typename F>
void Pending<Out>::then(F f) {
    using Then = detail::Then<Out, F>;
    auto* state = new Then{{}, std::move(op_), std::move(f), {}};
    state->op.user = state;
    state->job.user = state;
    state->job.body = [](Job& job) noexcept { static_cast<Then*>(job.user)->run(); };
    if (state->op.start(nullptr, [](detail::CallOp& op) noexcept { static_cast<Then*>(op.user)->run(); })) return;
    // A callback never runs inside the call that starts it.
    if (Executor* loop = state->op.open_loop()) return loop->post(state->job);
    state->run();
}

}  // namespace cinnabar::hl
