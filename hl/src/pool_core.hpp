// SPDX-License-Identifier: BSD-3-Clause
// The threads and the queues of a handler pool.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/pool.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar::hl {

class PoolCore final : public Executor {
  public:
    // `instead`: if not null, the pool has no threads and its handlers run on this executor. `loops_have_threads`: the
    // node's loops have progress threads.
    PoolCore(PoolOptions options, Executor* instead, bool loops_have_threads)
        : options_(std::move(options)), instead_(instead), loops_have_threads_(loops_have_threads) {}
    // Requires: stopped.
    ~PoolCore();

    [[nodiscard]] Result<void> start();
    // Runs what is queued, then ends and joins the threads.
    void stop() noexcept;

    [[nodiscard]] Executor* instead() const noexcept { return instead_; }

    // Resumes a handler that has begun: never refused, and before requests that have not begun.
    void post(Job& job) noexcept override;
    // Queues a new request; overloaded: queue_max requests wait already.
    [[nodiscard]] Errc post_new(Job& job, Priority priority) noexcept;
    [[nodiscard]] std::uint32_t queued() const noexcept;
    // Whether this thread has posted to a pool since the last call.
    [[nodiscard]] static bool take_posted() noexcept;

  private:
    static constexpr unsigned turns_per_low = 16;
    void work(unsigned index) noexcept;
    void push_locked(WorkQueue& queue, Job& job) noexcept;
    [[nodiscard]] Work* next_locked() noexcept;

    const PoolOptions options_;
    Executor* const instead_;
    const bool loops_have_threads_;
    mutable std::mutex mutex_;
    std::condition_variable work_came_;
    WorkQueue begun_;
    std::array<WorkQueue, 3> fresh_;
    std::uint32_t fresh_count_ = 0;
    std::atomic<std::uint32_t> waiting_{0};  // jobs in all queues
    unsigned turn_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cinnabar::hl
