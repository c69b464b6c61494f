// SPDX-License-Identifier: BSD-3-Clause
// SpareSlot: while a thread runs callbacks, keeps one slot that the thread has released, for the thread's next
// acquire(). So a callback that ends one operation and begins another does not use the SlotPool at all. Define a
// SpareSlot as constinit thread_local; it keeps a slot only inside a SpareScope. One thread.
#pragma once

#include <cinnabar/base/slot_pool.hpp>

#include <utility>

namespace cinnabar {

template <typename T>
struct SpareSlot {
    SlotPool<T>* pool = nullptr;  // null: keeps nothing
    T* slot = nullptr;

    // As SlotPool::acquire.
    [[nodiscard]] T* acquire(SlotPool<T>& from) noexcept {
        if (pool == &from && slot) return std::exchange(slot, nullptr);
        return from.acquire();
    }
    void release(SlotPool<T>& to, T& over) noexcept {
        if (pool != &to || slot) return to.release(over);
        slot = &over;
    }
};

// Lets `spare` keep one slot of `pool` while the SpareScope exists; other threads cannot use that slot meanwhile. The
// destructor releases the slot.
template <typename T>
class SpareScope {
  public:
    SpareScope(SpareSlot<T>& spare, SlotPool<T>& pool) noexcept
        : spare_(spare), outer_(std::exchange(spare, SpareSlot<T>{&pool, nullptr})) {}
    ~SpareScope() {
        if (spare_.slot) spare_.pool->release(*spare_.slot);
        spare_ = outer_;
    }
    SpareScope(const SpareScope&) = delete;
    SpareScope& operator=(const SpareScope&) = delete;

  private:
    SpareSlot<T>& spare_;
    const SpareSlot<T> outer_;
};

}  // namespace cinnabar
