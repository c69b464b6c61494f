// SPDX-License-Identifier: BSD-3-Clause
// The threads and the queues of a handler pool.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/na/addr.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace cinnabar::hl {

class PoolCore final : public Executor {
  public:
    // Starts no thread yet. `instead`: if not null, the pool has no threads and its handlers run on this executor.
    // `loops_have_threads`: whether the node's loops have progress threads.
    PoolCore(PoolOptions options, Executor* instead, bool loops_have_threads)
        : options_(std::move(options)), instead_(instead), loops_have_threads_(loops_have_threads) {}
    // Requires: stopped.
    ~PoolCore();

    [[nodiscard]] Result<void> start();
    // Runs the queued jobs, then ends and joins the threads.
    void stop() noexcept;

    [[nodiscard]] const PoolOptions& options() const noexcept { return options_; }
    [[nodiscard]] Executor* instead() const noexcept { return instead_; }

    // Queues a handler that has begun. It is never refused, and runs before requests that have not begun.
    void post(Job& job) noexcept override;
    // Queues a new request of `peer`, whose address must live until the job runs. overloaded: queue_max requests are
    // waiting, or the peer has as many requests waiting as places would remain free (a peer's first request may take
    // the last place). out_of_memory.
    [[nodiscard]] Errc post_new(NewJob& job, Priority priority, const na::Addr& peer) noexcept;
    [[nodiscard]] std::uint32_t queued() const noexcept;
    struct Load {
        std::uint32_t running = 0;              // threads that run a handler
        std::uint32_t resumed = 0;              // handlers that have begun and wait for a thread
        std::array<std::uint32_t, 3> queued{};  // requests that have not begun, by Priority
    };
    [[nodiscard]] Load load() const noexcept;
    // Whether this thread has posted to a pool since the last call.
    [[nodiscard]] static bool take_posted() noexcept;

  private:
    static constexpr unsigned turns_per_low = 16;
    static constexpr unsigned looks_before_sleep = 4;
    static constexpr std::size_t peers_kept = 1024;
    void work(unsigned index) noexcept;
    void push_locked(WorkQueue& queue, Job& job) noexcept;
    void unlock_and_wake(std::unique_lock<std::mutex>& lock) noexcept;
    void rest(std::unique_lock<std::mutex>& lock) noexcept;
    [[nodiscard]] WorkItem* next_locked() noexcept;
    [[nodiscard]] WorkItem* next_new_locked() noexcept;
    [[nodiscard]] std::uint32_t* waiting_of_locked(const na::Addr& peer) noexcept;

    const PoolOptions options_;
    Executor* const instead_;
    const bool loops_have_threads_;
    mutable std::mutex mutex_;
    std::condition_variable work_came_;
    WorkQueue begun_;
    std::array<WorkQueue, 3> fresh_;
    std::array<std::uint32_t, 3> fresh_counts_{};  // of each of these queues
    std::uint32_t fresh_count_ = 0;                // of all
    std::uint32_t running_ = 0;
    std::uint32_t sleeping_ = 0;
    // Whether a thread is about to look at the queues, because the thread was notified, or yields before it sleeps.
    // While jobs wait, either coming_ is true or no thread sleeps.
    bool coming_ = false;
    // The number of requests in `fresh_` of each peer. Entries with a count of 0 are kept for reuse while there are
    // few. If the address that such an entry belongs to is freed, and another peer's address is allocated at the same
    // place, the entry serves that peer.
    std::unordered_map<const na::AddrBody*, std::uint32_t> fresh_of_;
    std::size_t peers_max_ = peers_kept;
    std::atomic<std::uint32_t> waiting_{0};  // jobs in all queues
    std::atomic<std::uint32_t> waking_{0};   // threads in notify_one()
    unsigned turn_ = 0;
    bool stopping_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace cinnabar::hl
