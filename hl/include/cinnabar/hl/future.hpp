// SPDX-License-Identifier: BSD-3-Clause
// Future: the outcome of a call that has been sent, for plain code that asks later. Movable; used by one thread at a
// time.
#pragma once

#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <mutex>

namespace cinnabar::hl {

namespace detail {

// Shared by the future and the call in flight; the last of the two frees it.
template <typename Out>
struct FutureState : Framed {
    explicit FutureState(CallOf<Out> call) : op(std::move(call)) {}

    CallOf<Out> op;
    std::mutex mutex;
    std::optional<Result<Out>> outcome;
    Waiter* waiter = nullptr;
    std::atomic<int> holders{2};

    void complete() noexcept {
        {
            const std::lock_guard lock(mutex);
            outcome.emplace(op.outcome());
            if (waiter) waiter->finish();
        }
        leave();
    }
    void leave() noexcept {
        if (holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
};

}  // namespace detail

template <typename Out>
class [[nodiscard]] Future {
  public:
    Future() = default;
    Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Future& operator=(Future&& other) noexcept {
        Future taken(std::move(other));
        std::swap(state_, taken.state_);
        return *this;
    }
    // Cancels the call if it is still in flight, without waiting. The memory that the call lent may be accessed until
    // the call has ended: before you free that memory, use cancel() and get().
    ~Future() {
        if (!state_) return;
        cancel();
        state_->leave();
    }

    // False after get() has returned the outcome and after a move.
    [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
    [[nodiscard]] bool ready() const noexcept {
        const std::lock_guard lock(state_->mutex);
        return state_->outcome.has_value();
    }
    // Blocks until the outcome is ready, for at most `span`. True: the outcome is ready. Drives the node if the node
    // has no thread of its own. Requires: not on a loop or pool thread, nor inside a task.
    [[nodiscard]] bool wait_for(Microseconds span) const noexcept { return wait(span); }
    // Blocks until the call has ended and returns its outcome. would_deadlock: called on a loop or pool thread or
    // inside a task, and the outcome is not ready; the future stays valid.
    [[nodiscard]] Result<Out> get() {
        if (!ready()) {
            if (!Waiter::may_block()) return Error{Errc::would_deadlock, advice(Errc::would_deadlock)};
            (void)wait(Microseconds::max());
        }
        Future taken(std::move(*this));
        return *std::move(taken.state_->outcome);
    }
    // Cancels the call. It still has an outcome, which get() returns.
    void cancel() noexcept {
        const std::lock_guard lock(state_->mutex);
        if (!state_->outcome) state_->op.cancel();
    }

  private:
    friend class Pending<Out>;
    explicit Future(detail::CallOf<Out> op) : state_(new detail::FutureState<Out>(std::move(op))) {
        using State = detail::FutureState<Out>;
        state_->op.user = state_;
        const auto ended = [](detail::CallOp& self) noexcept { static_cast<State*>(self.user)->complete(); };
        if (!state_->op.start(nullptr, ended)) state_->complete();
    }
    bool wait(Microseconds span) const noexcept {
        CINNABAR_ASSERT(Waiter::may_block());
        Waiter waiter;
        waiter.relies_on(state_->op.loop());
        {
            const std::lock_guard lock(state_->mutex);
            if (state_->outcome) return true;
            state_->waiter = &waiter;
        }
        (void)waiter.wait_for(span);
        const std::lock_guard lock(state_->mutex);
        state_->waiter = nullptr;
        return state_->outcome.has_value();
    }
    detail::FutureState<Out>* state_ = nullptr;
};

template <typename Out>
Future<Out> Pending<Out>::future() {
    return Future<Out>(std::move(op_));
}

}  // namespace cinnabar::hl
