// SPDX-License-Identifier: BSD-3-Clause
// One rpc context of a node as an executor, and the question who drives it: a thread of the node's own, or one of the
// threads that wait for something. Counted: operations hold it, so that it outlives its context.
#pragma once

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

// A timer that a closing loop ends early.
struct Sleeper {
    ListLink<Sleeper> link;
    void (*end)(Sleeper& self) noexcept = nullptr;
};

class Loop final : public Executor {
  public:
    Loop(NodeCore& node, std::unique_ptr<rpc::Context> context, bool threaded, TimeSource* simulated_clock);

    void acquire() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

    // Null once the node is gone; then `closed()`.
    [[nodiscard]] rpc::Context* context() noexcept { return context_.get(); }
    [[nodiscard]] NodeCore& node() noexcept { return node_; }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    void post(Job& job) noexcept override;
    [[nodiscard]] TimeUs now_us() noexcept override { return context_->now_us(); }

    // One round: progress for at most `timeout`, then the completions. Any thread.
    void drive(Microseconds timeout) noexcept;
    void drive_alone(Microseconds timeout) noexcept;
    // Null on the machine's clock; else `drive` drives all loops of that clock (shared_clock.hpp).
    [[nodiscard]] TimeSource* simulated_clock() const noexcept { return simulated_clock_; }
    void run_completions() noexcept;

    // A thread of its own drives it, from start_thread() to stop_driving().
    void start_thread();
    [[nodiscard]] bool needs_driver() const noexcept { return !threaded_ && !leaving(); }
    // True when the caller is to drive now; else it is kicked when that may have changed. Paired with stop_leading.
    [[nodiscard]] bool try_lead(Waiter& waiter) noexcept;
    void stop_leading() noexcept;
    void forget(Waiter& waiter) noexcept;
    // Drivers leave as soon as they see it.
    [[nodiscard]] bool leaving() const noexcept { return leaving_.load(std::memory_order_acquire); }

    // Ends driving by anybody and waits until they have left.
    void stop_driving() noexcept;
    // Ends what is in flight and closes the context; the caller drives it last. Requires: stop_driving().
    void close() noexcept;

    // Results that were delivered and still lie in the context.
    std::atomic<std::uint32_t> results_held{0};

    // Tasks that sleep. The owner of the context.
    IntrusiveList<Sleeper, &Sleeper::link> sleepers;

  private:
    ~Loop();
    NodeCore& node_;
    std::unique_ptr<rpc::Context> context_;
    const bool threaded_;
    TimeSource* const simulated_clock_;
    std::atomic<std::uint32_t> references_{1};
    std::atomic<bool> leaving_{false};
    std::atomic<bool> closed_{false};
    std::atomic<std::uint32_t> posting_{0};  // threads inside post()
    std::thread thread_;
    Work ring_;

    std::mutex leader_mutex_;
    std::condition_variable leader_left_;
    std::vector<Waiter*> followers_;
    bool led_ = false;
};

}  // namespace cinnabar::hl
