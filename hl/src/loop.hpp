// SPDX-License-Identifier: BSD-3-Clause
// Loop: one rpc context of a node as an executor. A Loop chooses the thread that drives the context: a thread of the
// node, or one of the waiting threads. Reference-counted: operations hold the Loop, so it may outlive its context.
#pragma once

#include "only_turn.hpp"
#include "stopped_scopes.hpp"

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/intrusive_queue.hpp>
#include <cinnabar/hl/executor.hpp>
#include <cinnabar/rpc/context.hpp>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar::hl {

class NodeCore;
class Waiter;

// The longest sleep. Arbitrary: every event that a sleeper must see wakes it.
inline constexpr Microseconds sleep_max{3'600'000'000};

// A timer that ends early when the loop closes.
struct Sleeper {
    ListLink<Sleeper> link;
    void (*end)(Sleeper& self) noexcept = nullptr;
};

class Loop final : public Executor {
  public:
    // first: of the loops of its node.
    Loop(NodeCore& node, std::unique_ptr<rpc::Context> context, bool first, bool threaded, TimeSource* simulated_clock);

    // Any thread. Those in turns of the loop, and so most, are counted without an atomic instruction.
    void acquire() noexcept {
        if (here())
            ++held_in_turns_;
        else
            references_.fetch_add(1, std::memory_order_relaxed);
    }
    void release() noexcept {
        if (here())
            --held_in_turns_;
        else if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete this;
    }

    // Null once closed() is true.
    [[nodiscard]] rpc::Context* context() noexcept { return context_.get(); }
    [[nodiscard]] NodeCore& node() noexcept { return node_; }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    // Whether turns of this loop count without atomic additions (RpcStats), since no other loop of the node does.
    [[nodiscard]] bool counts_alone() const noexcept { return counts_alone_; }

    void post(Job& job) noexcept override;
    [[nodiscard]] TimeSource& clock() noexcept override { return clock_; }
    [[nodiscard]] TimeUs now_us() noexcept {
        if (simulated_clock_) [[unlikely]]
            return clock_.now_us();
        return steady_ns() / 1'000u;  // the real clock, without a virtual call
    }

    // One round: progress for at most `timeout`, then completion callbacks. Requires: the calling thread leads, or the
    // clock is simulated.
    void drive(Microseconds timeout) noexcept;
    void drive_alone(Microseconds timeout) noexcept;
    // The clock of a simulated network; null if the loop uses the real clock. On a simulated clock, `drive` drives all
    // loops of that clock (shared_clock.hpp).
    [[nodiscard]] TimeSource* simulated_clock() const noexcept { return simulated_clock_; }
    void run_completions() noexcept;
    // Makes progress and runs urgent handlers (rpc::Handler::urgent) in place of the loop's thread, if the loop is
    // stuck: its thread has been in the same run_completions() since the last help_if_stuck(). True: the loop is stuck.
    // Only StuckWatch calls this.
    [[nodiscard]] bool help_if_stuck() noexcept;

    // Starts a thread that drives the loop until stop_driving(). out_of_memory: the system gives no thread.
    [[nodiscard]] Result<void> start_thread();
    [[nodiscard]] bool needs_driver() const noexcept { return !threaded_ && !leaving(); }
    // Drives one round without waiting, unless another thread leads. Any thread, also in a turn of this loop.
    void poll() noexcept;
    // Asks to lead the loop. Only one thread at a time leads a loop, and only that thread drives it, so turns of a loop
    // exclude each other. True: the caller must drive the loop and then call stop_leading. False: another thread leads;
    // the waiter is kicked when that thread may have stopped.
    [[nodiscard]] bool try_lead(Waiter& waiter) noexcept;
    void stop_leading() noexcept;
    void forget(Waiter& waiter) noexcept;
    // True once stop_driving() was called: a thread that drives must return.
    [[nodiscard]] bool leaving() const noexcept { return leaving_.load(std::memory_order_acquire); }
    // True once there is no turn any more, nor will be: close() has ended. What turns wrote is visible.
    [[nodiscard]] bool over() const noexcept {
        return references_.load(std::memory_order_acquire) < held_until_closed / 2;
    }

    // Makes all driving threads return and waits for them.
    void stop_driving() noexcept;
    // Cancels everything in flight and closes the context, on the calling thread. Requires: stop_driving().
    void close() noexcept;

    // The number of calls that have ended and whose outcome is still in the context's memory. Calls whose outcome a
    // coroutine of this loop takes at once are not counted.
    std::atomic<std::uint32_t> results_held{0};

    StoppedScopes stopped_scopes{*this};

    // Sleeping tasks. Used only by the owner of the context.
    IntrusiveList<Sleeper, &Sleeper::link> sleepers;

  private:
    ~Loop();
    void run_thread() noexcept;
    // As the public one, without a waiter.
    [[nodiscard]] bool try_lead() noexcept;
    // Whether the calling thread leads.
    [[nodiscard]] bool leads() const noexcept;
    NodeCore& node_;
    std::unique_ptr<rpc::Context> context_;
    TimeSource& clock_;  // the context's
    const bool counts_alone_;
    const bool threaded_;
    TimeSource* const simulated_clock_;
    // More than can be released before close() adds held_in_turns_ to it, and takes this away.
    static constexpr std::int64_t held_until_closed = std::int64_t{1} << 62;
    std::atomic<std::int64_t> references_{held_until_closed + 1};
    // What was acquired in turns, less what was released in turns. May be negative.
    std::int64_t held_in_turns_ = 0;
    std::atomic<bool> leaving_{false};
    std::atomic<bool> closed_{false};
    std::atomic<std::uint32_t> posting_{0};  // threads inside post()
    std::thread thread_;
    WorkItem ring_;
    std::atomic<std::uint32_t> turns_{0};  // odd while thread_ is in run_completions()
    std::uint32_t seen_turn_ = 0;          // by help_if_stuck()

    // Names the thread that leads; null: none does. Of a threaded loop, thread_ leads until it ends.
    std::atomic<const void*> leader_{nullptr};
    // Whether stop_leading() has somebody to tell. Written before a look at leader_, and read after leader_ was
    // cleared.
    std::atomic<bool> awaited_{false};
    std::mutex leader_mutex_;
    std::condition_variable leader_left_;
    std::vector<Waiter*> followers_;
    [[no_unique_address]] TurnThread turn_thread_;
};

}  // namespace cinnabar::hl
