// SPDX-License-Identifier: BSD-3-Clause
#include "session/disk.hpp"

namespace cinnabar::files {

Disk::Disk(unsigned threads) {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { serve(); });
}

Disk::~Disk() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    changed_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void Disk::queue(Errand& errand) noexcept {
    bool wake = false;
    {
        const std::lock_guard lock(mutex_);
        errand.next = nullptr;
        if (last_)
            last_->next = &errand;
        else
            first_ = &errand;
        last_ = &errand;
        wake = idle_ > 0;
    }
    if (wake) changed_.notify_one();
}

void Disk::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [&] { return first_ || closing_; });
        --idle_;
        if (!first_) return;
        Errand& errand = *first_;
        first_ = errand.next;
        if (!first_) last_ = nullptr;
        lock.unlock();
        hl::Executor* const executor = errand.executor;
        errand.work(errand);
        if (executor) executor->post(errand.job);  // the task may resume and destroy the errand
        lock.lock();
    }
}

}  // namespace cinnabar::files
