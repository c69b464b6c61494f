// SPDX-License-Identifier: BSD-3-Clause
#include "late_closes.hpp"

#include <cinnabar/base/background.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstddef>
#include <new>
#include <utility>

namespace cinnabar::shm {

// Allocates nothing, because descriptors must be closed even when there is no memory.
LateCloses& LateCloses::of_process() noexcept {
    alignas(LateCloses) static std::byte place[sizeof(LateCloses)];
    static LateCloses& made = []() -> LateCloses& {
        auto* const first = new (place) LateCloses;
        // A forked child has none of the threads. The thread that forks takes the mutex, so that none of them holds it.
        (void)::pthread_atfork([] { of_process().mutex_.lock(); }, [] { of_process().mutex_.unlock(); },
                               [] {
                                   of_process().mutex_.unlock();
                                   new (place) LateCloses;
                               });
        return *first;
    }();
    return made;
}

void LateCloses::add(UniqueFd fd, uid_t user) noexcept {
    const std::lock_guard lock(mutex_);
    try {
        accounts_[user].waiting.push_back(std::move(fd));
    } catch (const std::bad_alloc&) {
        return;
    }
    ++waiting_;
    if (threads_ < std::min<std::size_t>(accounts_.size(), threads_max) && run_in_background(&LateCloses::run, this)) {
        ++threads_;
    }
}

bool LateCloses::crowded_by(uid_t user) const noexcept {
    const std::lock_guard lock(mutex_);
    const auto at = accounts_.find(user);
    return at != accounts_.end() && at->second.waiting.size() >= of_user_max;
}

bool LateCloses::crowded() const noexcept {
    const std::lock_guard lock(mutex_);
    return waiting_ >= waiting_max;
}

void* LateCloses::run(void* self) {
    auto& closes = *static_cast<LateCloses*>(self);
    std::unique_lock lock(closes.mutex_);
    for (;;) {
        const auto next = std::find_if(closes.accounts_.begin(), closes.accounts_.end(),
                                       [](const auto& entry) { return !entry.second.served; });
        if (next == closes.accounts_.end()) break;
        next->second.served = true;
        closes.serve(next->second, lock);
        closes.accounts_.erase(next);
    }
    --closes.threads_;
    return nullptr;
}

void LateCloses::serve(Account& account, std::unique_lock<std::mutex>& lock) noexcept {
    while (!account.waiting.empty()) {
        UniqueFd& fd = account.waiting.front();  // push_back does not move it
        lock.unlock();
        fd.reset();
        lock.lock();
        account.waiting.pop_front();
        --waiting_;
    }
}

}  // namespace cinnabar::shm
