// SPDX-License-Identifier: BSD-3-Clause
#include "pool_core.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/serve.hpp>

#include <pthread.h>

#include <system_error>

namespace cinnabar::hl {

std::uint32_t Pool::queued() const noexcept { return core_->queued(); }
Executor& Pool::executor() const noexcept { return core_->instead() ? *core_->instead() : *core_; }

void ServeOptions::set_pool(const Pool& wanted) noexcept {
    if (wanted.core_ && !wanted.core_->instead()) pool = wanted.core_;
}

PoolCore::~PoolCore() { CINNABAR_ASSERT(threads_.empty()); }

Result<void> PoolCore::start() {
    if (options_.threads == 0 || options_.queue_max == 0) {
        return Error(Errc::invalid_argument, "a pool needs threads, and room in its queue");
    }
    if (instead_) return {};
    try {
        for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& refused) {
        stop();
        return Error(Errc::out_of_memory, "no thread for the pool", options_.name, refused.code().value());
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
}

void PoolCore::post(Job& job) noexcept {
    job.work.user = &job;
    const std::lock_guard lock(mutex_);
    begun_.push_back(job.work);
    work_came_.notify_one();
}

Errc PoolCore::post_new(Job& job, Priority priority) noexcept {
    job.work.user = &job;
    const std::lock_guard lock(mutex_);
    if (fresh_count_ == options_.queue_max) return Errc::overloaded;
    ++fresh_count_;
    fresh_[static_cast<std::size_t>(priority)].push_back(job.work);
    work_came_.notify_one();
    return Errc::ok;
}

std::uint32_t PoolCore::queued() const noexcept {
    const std::lock_guard lock(mutex_);
    return fresh_count_;
}

Work* PoolCore::next_locked() noexcept {
    if (Work* work = begun_.pop_front()) return work;
    if (fresh_count_ == 0) return nullptr;
    --fresh_count_;
    if (++turn_ % turns_per_low == 0) {
        for (std::size_t i = fresh_.size(); i-- > 0;) {
            if (Work* work = fresh_[i].pop_front()) return work;
        }
    }
    for (WorkQueue& queue : fresh_) {
        if (Work* work = queue.pop_front()) return work;
    }
    return nullptr;
}

void PoolCore::work(unsigned index) noexcept {
    const std::string name = options_.name.substr(0, 11) + "." + std::to_string(index % 1000);
    (void)::pthread_setname_np(::pthread_self(), name.c_str());
    const Turn turn(*this);
    std::unique_lock lock(mutex_);
    for (;;) {
        if (Work* next = next_locked()) {
            lock.unlock();
            Job& job = *static_cast<Job*>(next->user);
            job.body(job);
            lock.lock();
            continue;
        }
        if (stopping_) return;
        work_came_.wait(lock);
    }
}

}  // namespace cinnabar::hl
