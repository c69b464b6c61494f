// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/work_threads.hpp>

#include <pthread.h>
#include <signal.h>

namespace cinnabar {
namespace {

// While it exists, new threads start with all signals blocked, except those that a fault of the thread itself raises.
class SignalsBlocked {
  public:
    SignalsBlocked() noexcept {
        sigset_t blocked;
        (void)::sigfillset(&blocked);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGXFSZ})
            (void)::sigdelset(&blocked, own);
        (void)::pthread_sigmask(SIG_SETMASK, &blocked, &before_);
    }
    ~SignalsBlocked() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_{};
};

}  // namespace

WorkThreads::WorkThreads(unsigned threads) {
    const SignalsBlocked blocked;
    threads_.reserve(threads);
    try {
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
    } catch (...) {
        stop();  // stops the threads that were started
        throw;
    }
}

WorkThreads::~WorkThreads() { stop(); }

void WorkThreads::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void WorkThreads::queue(WorkItem& work) noexcept {
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        queue_.push_back(work);
        wake = idle_ > 0;
    }
    if (wake) changed_.notify_one();
}

void WorkThreads::serve() noexcept {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [this] { return !queue_.empty() || closing_; });
        --idle_;
        WorkItem* const work = queue_.pop_front();
        if (!work) return;
        lock.unlock();
        work->run(*work);  // may destroy it
        lock.lock();
    }
}

}  // namespace cinnabar
