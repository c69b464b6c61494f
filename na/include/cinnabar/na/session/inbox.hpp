// SPDX-License-Identifier: BSD-3-Clause
// An inbox holds connections that the port of another context accepted for this one. Any thread may add to the inbox
// while it holds the lock of the transport's PortTable, which keeps the port alive; the owner of the context empties
// it. Bounded, so that a context that is not driven cannot use up the process's descriptors.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace cinnabar::na {

template <typename Handover>
class Inbox {
  public:
    static constexpr std::size_t waiting_max = 1024;

    [[nodiscard]] std::size_t waiting() const noexcept {
        const std::lock_guard lock(mutex_);
        return handovers_.size();
    }
    // Whether waiting_max connections wait.
    [[nodiscard]] bool full() const noexcept { return waiting() >= waiting_max; }
    // False: out of memory, and `handover` is unchanged. Requires: not full().
    [[nodiscard]] bool put(Handover& handover) noexcept {
        static_assert(std::is_nothrow_move_constructible_v<Handover>);
        const std::lock_guard lock(mutex_);
        try {
            handovers_.push_back(std::move(handover));
        } catch (const std::bad_alloc&) {
            return false;
        }
        filled_.store(true, std::memory_order_seq_cst);
        return true;
    }
    // Sequentially consistent: a thread about to sleep must see what was put before.
    [[nodiscard]] bool empty() const noexcept { return !filled_.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool seems_empty() const noexcept { return !filled_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::vector<Handover> take_all() {
        const std::lock_guard lock(mutex_);
        filled_.store(false, std::memory_order_relaxed);
        return std::exchange(handovers_, {});
    }

    // Calls `visit` for each; returns how many there were.
    template <typename F>
    unsigned take_each(F&& visit) {
        if (seems_empty()) return 0;
        unsigned did = 0;
        for (Handover& each : take_all()) visit(std::move(each)), ++did;
        return did;
    }

  private:
    mutable std::mutex mutex_;
    std::atomic<bool> filled_{false};
    std::vector<Handover> handovers_;
};

}  // namespace cinnabar::na
