// SPDX-License-Identifier: BSD-3-Clause
// The threads of a pool: which job is next, who is woken for it, and when a thread rests.
#include "pool_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/na/context.hpp>

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace cinnabar::hl {
namespace {
thread_local bool posted = false;
}  // namespace

bool PoolCore::take_posted() noexcept { return std::exchange(posted, false); }

std::uint32_t Pool::queued() const noexcept { return core_->queued(); }
Executor& Pool::executor() const noexcept { return core_->instead() ? *core_->instead() : *core_; }

void ServeOptions::set_pool(const Pool& wanted) noexcept {
    if (wanted.core_ && !wanted.core_->instead()) pool = wanted.core_;
}

PoolCore::~PoolCore() { CINNABAR_ASSERT(threads_.empty()); }

Result<void> PoolCore::start() {
    if (options_.threads == 0 || options_.queue_max == 0) {
        return Error(Errc::invalid_argument, "PoolOptions::threads and queue_max must be at least 1");
    }
    if (instead_) return {};
    try {
        for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& refused) {
        stop();
        return Error(Errc::out_of_memory, "a thread of the pool could not be started", options_.name,
                     refused.code().value());
    }
    return {};
}

void PoolCore::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    work_came_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    while (waking_.load(std::memory_order_acquire) != 0) ::sched_yield();
}

void PoolCore::push_locked(WorkQueue& queue, Job& job) noexcept {
    job.work.user = &job;
    queue.push_back(job.work);
    waiting_.store(waiting_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    posted = true;
}

// Unlocks, and wakes a thread if jobs wait and no thread is about to look at the queues. Wakes only one thread, because
// waking a thread takes longer than a short handler; the woken thread wakes the next one if it leaves jobs in the
// queues.
void PoolCore::unlock_and_wake(std::unique_lock<std::mutex>& lock) noexcept {
    const bool wakes = sleeping_ != 0 && !coming_ && waiting_.load(std::memory_order_relaxed) != 0;
    if (!wakes) return lock.unlock();
    coming_ = true;
    // Makes stop() wait: the job may end, and the node be closed, while this thread is still in notify_one().
    waking_.fetch_add(1, std::memory_order_relaxed);
    lock.unlock();  // first, because the woken thread may preempt this one, and would then wait for the lock
    work_came_.notify_one();
    waking_.fetch_sub(1, std::memory_order_release);
}

void PoolCore::post(Job& job) noexcept {
    std::unique_lock lock(mutex_);
    push_locked(begun_, job);
    unlock_and_wake(lock);
}

// Queues a request. Waiting requests of one peer may take as many places in the queue as remain free; a peer's first
// request may take the last place.
Errc PoolCore::post_new(NewJob& job, Priority priority, const na::Addr& peer) noexcept {
    std::unique_lock lock(mutex_);
    if (fresh_count_ == options_.queue_max) return Errc::overloaded;
    job.waiting = waiting_of_locked(peer);
    if (!job.waiting) return Errc::out_of_memory;
    const std::uint32_t left = options_.queue_max - fresh_count_ - 1;
    if (*job.waiting != 0 && *job.waiting >= left) return Errc::overloaded;
    ++*job.waiting;
    ++fresh_count_;
    ++fresh_counts_[static_cast<std::size_t>(priority)];
    push_locked(fresh_[static_cast<std::size_t>(priority)], job);
    unlock_and_wake(lock);
    return Errc::ok;
}

std::uint32_t* PoolCore::waiting_of_locked(const na::Addr& peer) noexcept {
    try {
        if (fresh_of_.size() >= peers_max_) {
            std::erase_if(fresh_of_, [](const auto& each) { return each.second == 0; });
            peers_max_ = std::max(peers_kept, 2 * fresh_of_.size());
        }
        return &fresh_of_[peer.empty() ? nullptr : &peer.body()];
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::uint32_t PoolCore::queued() const noexcept {
    const std::lock_guard lock(mutex_);
    return fresh_count_;
}

PoolCore::Load PoolCore::load() const noexcept {
    const std::lock_guard lock(mutex_);
    return {running_, waiting_.load(std::memory_order_relaxed) - fresh_count_, fresh_counts_};
}

WorkItem* PoolCore::next_locked() noexcept {
    if (WorkItem* work = begun_.pop_front()) return work;
    if (fresh_count_ == 0) return nullptr;
    WorkItem* const work = next_new_locked();
    --fresh_count_;
    --*static_cast<NewJob*>(static_cast<Job*>(work->user))->waiting;
    return work;
}

WorkItem* PoolCore::next_new_locked() noexcept {
    const auto take = [this](std::size_t priority) noexcept {
        WorkItem* const work = fresh_[priority].pop_front();
        if (work) --fresh_counts_[priority];
        return work;
    };
    if (++turn_ % turns_per_low == 0) {
        for (std::size_t i = fresh_.size(); i-- > 0;) {
            if (WorkItem* work = take(i)) return work;
        }
    }
    for (std::size_t i = 0; i < fresh_.size(); ++i) {
        if (WorkItem* work = take(i)) return work;
    }
    return nullptr;
}

// Rests until the queues should be looked at again. One thread at a time yields a few times before it sleeps, because
// the thread that posts may need the same processor. So while requests keep coming, one thread stays awake, and no
// thread has to be woken.
void PoolCore::rest(std::unique_lock<std::mutex>& lock) noexcept {
    const auto let_others_run = [&lock] {
        lock.unlock();
        ::sched_yield();
        lock.lock();
    };
    const auto has_nothing = [this] { return waiting_.load(std::memory_order_relaxed) == 0 && !stopping_; };
    if (!coming_) {
        coming_ = true;
        for (unsigned i = 0; i < looks_before_sleep && has_nothing(); ++i) let_others_run();
        coming_ = false;
        if (!has_nothing()) return;
    }
    ++sleeping_;
    work_came_.wait(lock);
    --sleeping_;
    let_others_run();  // if this thread has preempted the one that posts, that one posts the rest first
    coming_ = false;
}

void PoolCore::work(unsigned index) noexcept {
    const std::string name = options_.name.substr(0, 11) + "." + std::to_string(index % 1000);
    (void)::pthread_setname_np(::pthread_self(), name.c_str());
    const Turn turn(*this);
    if (loops_have_threads_) na::Context::gather_while(&waiting_);
    std::unique_lock lock(mutex_);
    for (;;) {
        if (WorkItem* next = next_locked()) {
            waiting_.store(waiting_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
            ++running_;
            unlock_and_wake(lock);
            Job& job = *static_cast<Job*>(next->user);
            job.body(job);
            lock.lock();
            --running_;
            continue;
        }
        if (stopping_) return;
        rest(lock);
    }
}

}  // namespace cinnabar::hl
