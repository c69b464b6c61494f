// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Retried: a coroutine that repeats a call until it succeeds or must not be retried.
#pragma once

#include <cinnabar/hl/call_op.hpp>
#include <cinnabar/hl/call_options.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/sleep.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/hl/trace.hpp>
#include <cinnabar/na/addr.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace cinnabar::hl {

class CallerCore;
class NodeCore;

namespace detail {

struct CallerRef {
    std::shared_ptr<CallerCore> core;
    Priority priority = Priority::normal;
};

// The attempts of one call, without its types.
class CINNABAR_API Attempts {
  public:
    Attempts(const CallerRef& caller, const RpcName& name, std::uint16_t shape, const na::Addr& to,
             const CallOptions& options);

    // Returns the context for everything that follows, with the deadline of the call. `outer` may be null.
    [[nodiscard]] TaskContext begin(const TaskContext* outer);

    template <typename Out, typename... In>
    [[nodiscard]] CallOf<Out> make(const std::tuple<In...>& in) {
        CallOptions options = options_;
        if (trace_) options.trace = &trace_;
        auto call = std::apply(
            [&](const In&... each) { return CallOf<Out>(node(), name_, shape_, to_, options, each...); }, in);
        if (place_ != 0) call.claim_place(place_);
        return call;
    }

    [[nodiscard]] bool has_quota() const noexcept;
    // false: the call has to wait. true: the quota is charged until after_failure() or succeeded().
    [[nodiscard]] bool enters_at_once(std::uint64_t bytes);
    // Waits until the quota admits the attempt. ok: the quota is charged, as above.
    [[nodiscard]] Task<Errc> enter(std::uint64_t bytes);
    // The error of a call that the quota did not admit.
    [[nodiscard]] Error not_let_go(Errc why) const;

    void starts();
    // Returns the pause before the next attempt, or nothing if there is none; failure() then says why.
    [[nodiscard]] std::optional<Microseconds> after_failure(const Error& error, const CallEnd& end);
    void succeeded();
    [[nodiscard]] SleepOp pause_for(Microseconds span) const noexcept { return SleepOp(node(), span); }
    [[nodiscard]] Error failure(Error last) const { return failure(std::move(last), why_no_more_); }
    // The error of a call that was stopped during a pause.
    [[nodiscard]] Error stopped(Errc why, Error last) const;

  private:
    struct Attempt {
        Errc code = Errc::ok;
        rpc::CallPhase phase = rpc::CallPhase::unknown;
        bool was_sent = false;
        TimeUs took_us = 0;
    };
    [[nodiscard]] NodeCore& node() const noexcept;
    void ended() noexcept;
    [[nodiscard]] TimeUs now_us() const noexcept { return clock_->now_us(); }
    [[nodiscard]] std::optional<Microseconds> no_more(std::string_view why) noexcept;
    [[nodiscard]] std::optional<Microseconds> unless_late(Microseconds pause) noexcept;
    [[nodiscard]] Microseconds back_off() const noexcept;
    [[nodiscard]] Error failure(Error last, std::string_view why) const;
    [[nodiscard]] std::string text(std::string_view why) const;

    CallerRef caller_;
    RpcName name_;
    std::uint16_t shape_;
    na::Addr to_;
    CallOptions options_;  // for each attempt
    TraceContext trace_;
    std::optional<Microseconds> span_;  // deadline that covers all attempts
    TimeSource* clock_ = nullptr;       // of the node
    TimeUs deadline_ = time_never;
    TimeUs began_us_ = 0;                        // of the last attempt
    std::optional<std::uint64_t> let_go_bytes_;  // bytes charged to the quota; unset: not admitted
    std::uint64_t place_ = 0;
    std::uint32_t counted_ = 0;  // failed attempts that RetryPolicy::attempts counts
    bool at_once_ = false;       // the one immediate retry, which is not counted, has been made
    std::vector<Attempt> failed_;
    std::string_view why_no_more_;  // static storage
};

template <typename Out>
struct AttemptOf {
    CallOf<Out> op;

    [[nodiscard]] bool await_ready() const noexcept { return op.ready(); }
    template <typename Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        return op.start_for(context_of(handle), handle);
    }
    Result<Out> await_resume() noexcept { return op.outcome(); }
};

template <typename Out, typename... In>
Task<Result<Out>> attempt(Attempts attempts, std::tuple<In...> in) {
    const TaskContext inner = attempts.begin(co_await this_task());
    co_await AdoptContext{&inner};
    for (;;) {
        AttemptOf<Out> call{attempts.make<Out>(in)};
        if (attempts.has_quota() && !attempts.enters_at_once(call.op.bytes())) {
            Task<Errc> wait = attempts.enter(call.op.bytes());
            const Errc entered = co_await wait;
            if (entered != Errc::ok) co_return attempts.not_let_go(entered);
        }
        attempts.starts();
        Result<Out> result = co_await call;
        if (result) {
            attempts.succeeded();
            co_return result;
        }
        const std::optional<Microseconds> pause = attempts.after_failure(result.error(), call.op.end_of());
        if (!pause) co_return attempts.failure(std::move(result).error());
        if (pause->count() == 0) continue;
        const Errc slept = co_await attempts.pause_for(*pause);
        if (slept != Errc::ok) co_return attempts.stopped(slept, std::move(result).error());
    }
}

// closed: the task was not started.
[[nodiscard]] CINNABAR_API Errc spawn_for(const CallerRef& caller, Task<void> task);

}  // namespace detail
}  // namespace cinnabar::hl
