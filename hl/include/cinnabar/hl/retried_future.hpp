// SPDX-License-Identifier: BSD-3-Clause
// RetriedFuture: the outcome of a call that a Caller is making, for code without coroutines. Like Future.
#pragma once

#include <cinnabar/hl/attempts.hpp>
#include <cinnabar/hl/waiter.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace cinnabar::hl {

class Loop;
template <typename Out>
class Retried;

namespace detail {

// Shared by the future and the task that makes the call.
class CINNABAR_API RetriedState {
  public:
    explicit RetriedState(const CallerRef& caller);
    RetriedState(const RetriedState&) = delete;
    RetriedState& operator=(const RetriedState&) = delete;
    ~RetriedState();

    [[nodiscard]] bool done() const noexcept;
    // Returns false if the call has not ended after `span`. Requires: Waiter::may_block().
    [[nodiscard]] bool wait(Microseconds span) noexcept;
    // Stores the outcome by calling keep() under the lock.
    template <typename Keep>
    void finish(Keep keep) {
        const std::lock_guard lock(mutex_);
        keep();
        finished();
    }
    std::stop_source stop;

  private:
    void finished() noexcept;
    mutable std::mutex mutex_;
    Loop& loop_;  // holds a reference
    Waiter* waiter_ = nullptr;
    bool done_ = false;
};

}  // namespace detail

template <typename Out>
class [[nodiscard]] RetriedFuture {
  public:
    RetriedFuture() = default;
    RetriedFuture(RetriedFuture&&) noexcept = default;
    RetriedFuture& operator=(RetriedFuture&& other) noexcept {
        RetriedFuture taken(std::move(other));
        std::swap(state_, taken.state_);
        return *this;
    }
    // Cancels the call if it has not ended, without waiting; see ~Future.
    ~RetriedFuture() {
        if (state_) cancel();
    }

    // False after get() has returned the outcome, and after a move.
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
    [[nodiscard]] bool ready() const noexcept { return state_->done(); }
    // Like Future::wait_for.
    [[nodiscard]] bool wait_for(Microseconds span) const noexcept { return state_->wait(span); }
    // Like Future::get.
    [[nodiscard]] Result<Out> get() {
        if (!ready()) {
            if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
            (void)state_->wait(Microseconds::max());
        }
        const std::shared_ptr<State> taken = std::move(state_);
        return *std::move(taken->outcome);
    }
    // Cancels the call. It still has an outcome, which get() returns.
    void cancel() noexcept { state_->stop.request_stop(); }

  private:
    friend class Retried<Out>;
    struct State : detail::RetriedState {
        using detail::RetriedState::RetriedState;
        std::optional<Result<Out>> outcome;
    };
    RetriedFuture(const detail::CallerRef& caller, Task<Result<Out>> task) : state_(std::make_shared<State>(caller)) {
        auto stoppable = with_stop(std::move(task), state_->stop.get_token());
        const Errc refused = detail::spawn_for(caller, keep(state_, std::move(stoppable)));
        if (refused == Errc::ok) return;
        state_->finish([&] { state_->outcome.emplace(Error(refused, advice(refused))); });
    }
    static Task<void> keep(std::shared_ptr<State> state, Task<Result<Out>> task) {
        std::optional<Result<Out>> outcome;
        try {
            outcome.emplace(co_await task);
        } catch (...) {
            outcome.emplace(detail::error_of_exception());
        }
        state->finish([&] { state->outcome = std::move(outcome); });
    }

    std::shared_ptr<State> state_;
};

}  // namespace cinnabar::hl
