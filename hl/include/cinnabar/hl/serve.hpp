// SPDX-License-Identifier: BSD-3-Clause
// Serving: how handlers are registered and run. A handler served with on_arrival runs while its request is being read,
// ahead of requests that wait for the loop. on_arrival is the fastest way, for functions that compute and answer within
// microseconds. Such a handler must not block, wait for a call, or drive a node. A request with arguments over 192
// bytes runs on the loop instead.
#pragma once

#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/root.hpp>
#include <cinnabar/rpc/handler.hpp>

#include <memory>
#include <optional>

namespace cinnabar::hl {

struct CINNABAR_API ServeOptions {
    std::shared_ptr<PoolCore> pool;  // null: on the loop
    Priority priority = Priority::normal;
    rpc::ProviderId provider = 0;
    bool on_arrival = false;
    bool urgent = false;  // rpc::Handler::urgent

    void set_pool(const Pool& wanted) noexcept;
};

struct OnPool {
    Pool pool;
    Priority priority;
    void apply(ServeOptions& options) const noexcept {
        options.set_pool(pool);
        options.priority = priority;
    }
};
[[nodiscard]] inline OnPool on(Pool pool, Priority priority = Priority::normal) { return {std::move(pool), priority}; }

struct OnArrival {
    void apply(ServeOptions& options) const noexcept { options.on_arrival = true; }
};
inline constexpr OnArrival on_arrival;

struct WithProvider {
    rpc::ProviderId id;
    void apply(ServeOptions& options) const noexcept { options.provider = id; }
};
[[nodiscard]] inline WithProvider provider(rpc::ProviderId id) noexcept { return {id}; }

// The part of a handler's registration that does not depend on its types.
struct CINNABAR_API ServedBase {
    NodeCore* node = nullptr;
    ServeOptions options;
    RpcStats* stats = nullptr;
    std::string_view name;
    bool is_callback = false;  // it runs as a callback of trigger(), if it is a plain function

    // Counts a handler that may run for longer than the call that starts it. False once the node is being destroyed.
    [[nodiscard]] bool enter() noexcept;
    static void leave(void* node) noexcept;
    [[nodiscard]] Executor* pool() const noexcept;
    [[nodiscard]] Errc post_to_pool(NewJob& job, const na::Addr& peer) noexcept;
    [[nodiscard]] static Result<void> add(std::shared_ptr<ServedBase> served, const RpcName& rpc, std::uint16_t shape,
                                          void (*run)(rpc::Request&, void*) noexcept);
};

namespace detail {

// How a handler takes its arguments: plain or as a Request.
template <typename F, typename R>
struct Shape;

template <typename F, typename R, typename... In>
struct ShapeOf {
    using Input = typename R::Input;
    static constexpr bool plain = std::is_invocable_v<F&, In...>;
    static constexpr bool with_request = !plain && std::is_invocable_v<F&, Request<Input>>;
    static_assert(plain || with_request,
                  "cinnabar: the handler takes neither the arguments of this Rpc nor a Request of them");

    static decltype(auto) call(F& f, RequestState& state, Input& input) {
        if constexpr (with_request) {
            return f(Request<Input>(state, input));
        } else if constexpr (sizeof...(In) == 0) {
            return f();
        } else if constexpr (sizeof...(In) == 1) {
            return f(std::move(input));
        } else {
            return std::apply([&f](In&... in) -> decltype(auto) { return f(std::move(in)...); }, input);
        }
    }
    using Returned = decltype(call(std::declval<F&>(), std::declval<RequestState&>(), std::declval<Input&>()));
};
template <typename F, typename Out, typename... In>
struct Shape<F, Rpc<Out(In...)>> : ShapeOf<F, Rpc<Out(In...)>, In...> {};
template <typename F, typename... In>
struct Shape<F, OneWay<In...>> : ShapeOf<F, OneWay<In...>, In...> {};

template <typename T>
struct Unwrap {
    using type = T;
    static constexpr bool task = false;
};
template <typename T>
struct Unwrap<Task<T>> {
    using type = T;
    static constexpr bool task = true;
};
template <typename T>
struct UnwrapResult {
    using type = T;
};
template <typename T>
struct UnwrapResult<Result<T>> {
    using type = T;
};

// Continues on a thread of the pool. Fails if the queue is full or this peer has used up its share.
struct HopToPool {
    ServedBase& served;
    const na::Addr& peer;
    NewJob job;
    Errc refused = Errc::ok;

    [[nodiscard]] bool await_ready() const noexcept { return served.pool() == nullptr; }
    bool await_suspend(std::coroutine_handle<> handle) noexcept {
        job.resumes(handle);
        // A thread of the pool may destroy this frame before post_to_pool returns.
        const Errc taken = served.post_to_pool(job, peer);
        if (taken == Errc::ok) return true;
        refused = taken;
        return false;
    }
    [[nodiscard]] Errc await_resume() const noexcept { return refused; }
};

// Sets current_trace() while a plain handler runs.
class TraceScope {
  public:
    explicit TraceScope(const RequestState& state) noexcept {
        if (state.traced()) [[unlikely]]
            before_ = exchange_current_trace(state.trace());
    }
    ~TraceScope() {
        if (before_) [[unlikely]]
            (void)exchange_current_trace(*before_);
    }
    TraceScope(const TraceScope&) = delete;
    TraceScope& operator=(const TraceScope&) = delete;

  private:
    std::optional<TraceContext> before_;
};

}  // namespace detail

template <typename R, typename F>
struct Served : ServedBase {
    using Shape = detail::Shape<F, R>;
    using Input = typename R::Input;
    using Output = typename R::Output;
    using Returned = typename Shape::Returned;
    using Plain = typename detail::UnwrapResult<typename detail::Unwrap<Returned>::type>::type;
    static constexpr bool coroutine = detail::Unwrap<Returned>::task;
    static constexpr bool fallible = detail::is_result<typename detail::Unwrap<Returned>::type>;

    static_assert(std::is_void_v<typename R::Result> ? std::is_void_v<Plain> : std::is_convertible_v<Plain, Output>,
                  "cinnabar: the handler does not return the result type of this Rpc (nor a Result, a Task, or a Task "
                  "of a Result of it)");

    explicit Served(F function) : f(std::move(function)) {}
    F f;

    // Plain functions on the loop: no frame, no copy of the arguments.
    static void run_inline(rpc::Request& request, void* target) noexcept requires(!coroutine) {
        auto& self = *static_cast<Served*>(target);
        RequestState state(self, request, self.begins_inline());
        Input input{};
        if (!state.decode(input)) return;
        const detail::TraceScope trace(state);
        try {
            if constexpr (std::is_void_v<Returned>) {
                Shape::call(self.f, state, input);
                state.answer(rpc::Empty{});
            } else {
                answer(state, Shape::call(self.f, state, input));
            }
        } catch (...) {
            state.answer_exception();
        }
    }

    // Coroutines, and everything on a pool.
    static void run_detached(rpc::Request& request, void* target) noexcept {
        auto& self = *static_cast<Served*>(target);
        if (!self.enter()) {
            request.respond_error(Errc::shutting_down);
            return request.release();
        }
        const detail::Root root = handle(self, request);
        root.handle.promise().ended = &ServedBase::leave;
        root.handle.promise().user = self.node;
        root.handle.resume();
    }

  private:
    // A callback that still destroys much behind its answer does not end with it.
    [[nodiscard]] RequestState::Begins begins_inline() const noexcept {
        constexpr bool ends_with_answer = std::is_trivially_destructible_v<Input> &&
                                          (std::is_void_v<Plain> || std::is_trivially_destructible_v<Plain>);
        return ends_with_answer && is_callback ? RequestState::Begins::as_callback : RequestState::Begins::at_once;
    }
    static detail::Root handle(Served& self, rpc::Request& request) {
        const bool on_pool = self.pool() != nullptr;
        RequestState state(self, request, on_pool ? RequestState::Begins::later : RequestState::Begins::at_once);
        // If the arguments contain views, the request keeps the bytes that they refer to until it ends. Otherwise the
        // receive slot is freed as soon as the arguments are decoded, without a copy.
        constexpr bool borrows = detail::borrows<true, Input>();
        if constexpr (borrows) request.detach();
        Input input{};
        if (!state.decode(input)) co_return;
        if constexpr (!borrows) request.release_input();
        const TaskContext context{&state.executor(), request.deadline(), nullptr, &state};
        co_await detail::AdoptContext{&context};
        if (const Errc refused = co_await detail::HopToPool{self, request.source(), {}}; refused != Errc::ok) {
            state.answer_error(refused);
            co_return;
        }
        if (on_pool) state.begins();
        try {
            if constexpr (!coroutine) {
                const detail::TraceScope trace(state);
                if constexpr (std::is_void_v<Returned>) {
                    Shape::call(self.f, state, input);
                    state.answer(rpc::Empty{});
                } else {
                    answer(state, Shape::call(self.f, state, input));
                }
            } else if constexpr (std::is_void_v<typename detail::Unwrap<Returned>::type>) {
                co_await Shape::call(self.f, state, input);
                state.answer(rpc::Empty{});
            } else {
                answer(state, co_await Shape::call(self.f, state, input));
            }
        } catch (...) {
            state.answer_exception();
        }
    }

    template <typename T>
    static void answer(RequestState& state, T&& returned) {
        if constexpr (!fallible) {
            answer_value(state, std::forward<T>(returned));
        } else if (!returned.ok()) {
            state.answer_error(returned.error());
        } else if constexpr (std::is_void_v<Plain>) {
            state.answer(rpc::Empty{});
        } else {
            answer_value(state, *std::forward<T>(returned));
        }
    }
    template <typename T>
    static void answer_value(RequestState& state, T&& value) {
        if constexpr (std::is_same_v<std::remove_cvref_t<T>, Output>) {
            state.answer(value);
        } else {
            state.answer(static_cast<Output>(std::forward<T>(value)));
        }
    }
};

template <typename R, typename F, typename... Option>
Result<void> NodeRef::serve(const R& rpc, F f, Option... options) const {
    using Serving = Served<R, F>;
    constexpr bool at_once = (std::is_same_v<Option, OnArrival> || ...);
    static_assert(!at_once || (!Serving::coroutine && !(std::is_same_v<Option, OnPool> || ...)),
                  "cinnabar: on_arrival is for plain functions, and not with a pool");
    auto served = std::make_shared<Serving>(std::move(f));
    served->node = core_;
    (options.apply(served->options), ...);
    auto* run = &Serving::run_detached;
    if constexpr (!Serving::coroutine) {
        if (!served->options.pool) run = &Serving::run_inline;
    }
    return ServedBase::add(std::move(served), rpc.name(), rpc::shape_of<typename R::Input>(), run);
}

}  // namespace cinnabar::hl
