// SPDX-License-Identifier: BSD-3-Clause
// SlotPool: a bounded pool of objects at stable addresses. The pool grows in blocks; slots are found by index and
// reused without being constructed again. With ThreadUse::many, free slots are in a lock-free list; with
// ThreadUse::one, in a stack of pointers.
#pragma once

#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/smaller.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace cinnabar {

enum class ThreadUse : std::uint8_t { one, many };

// Base of the objects in a SlotPool.
struct PoolSlot {
    std::uint32_t slot_index = 0;
    std::atomic<std::uint32_t> slot_next{0};  // index + 1 of the next free slot
};

// A PoolSlot for objects that are aligned to a cache line: the first members of such an object share a line with the
// members of PoolSlot.
struct alignas(64) AlignedPoolSlot : PoolSlot {};

// A pool of T, which derives from PoolSlot and is default-constructible. A slot keeps its state between uses; the user
// of the pool resets the state.
template <typename T>
class SlotPool {
  public:
    static constexpr std::uint32_t block_slots = 64;

    static constexpr std::uint32_t slots_limit = (1u << 21) - block_slots;

    // Allocates only a table of slots_max / 64 pointers. slots_max is limited to slots_limit.
    SlotPool(ThreadUse threads, std::uint32_t slots_max)
        : threads_(threads),
          blocks_max_((smaller_of(slots_max, slots_limit) + block_slots - 1) / block_slots),
          blocks_(std::make_unique<std::atomic<T*>[]>(blocks_max_)) {}

    SlotPool(const SlotPool&) = delete;
    SlotPool& operator=(const SlotPool&) = delete;

    // Requires: every slot was released.
    ~SlotPool() {
        CINNABAR_ASSERT(taken() == 0);
        for (std::uint32_t i = 0; i < blocks_max_; ++i) delete[] blocks_[i].load(std::memory_order_relaxed);
    }

    // Null if the limit is reached or no memory is left.
    [[nodiscard, gnu::always_inline]] T* acquire() noexcept {
        if (threads_ == ThreadUse::one && free_count_ != 0) return free_[--free_count_];
        return acquire_or_grow();
    }
    // Acquires a slot; null if none is left. `prepare(first)` initialises block_slots new slots before any of these can
    // be acquired, and returns false if no memory is left.
    template <typename F>
    [[nodiscard]] T* acquire(F&& prepare) noexcept {
        if (threads_ == ThreadUse::one) {
            if (free_count_ == 0 && !grow(prepare)) return nullptr;
            return free_[--free_count_];
        }
        for (;;) {
            if (T* slot = pop()) return slot;
            if (!grow(prepare)) return nullptr;
        }
    }

    [[gnu::always_inline]] void release(T& slot) noexcept {
        if (threads_ == ThreadUse::many) return push_released(slot);
        free_[free_count_++] = &slot;
    }

    // Null if no slot with this index has been made yet. Any index may be passed.
    [[nodiscard, gnu::always_inline]] T* at(std::uint32_t index) const noexcept {
        const std::uint32_t block = index / block_slots;
        if (block >= blocks_max_) return nullptr;
        T* slots = blocks_[block].load(std::memory_order_acquire);
        return slots ? slots + index % block_slots : nullptr;
    }
    // Requires: the slot has been made. For the holder of an acquired slot, who need not check an index of its own.
    [[nodiscard, gnu::always_inline]] T* made(std::uint32_t index) const noexcept {
        return blocks_[index / block_slots].load(std::memory_order_acquire) + index % block_slots;
    }

    // The number of acquired slots; exact on one thread, a snapshot on many.
    [[nodiscard]] std::uint32_t taken() const noexcept {
        if (threads_ == ThreadUse::one) return blocks_used_ * block_slots - free_count_;
        const std::uint64_t head = head_.load(std::memory_order_relaxed);
        return static_cast<std::uint32_t>((head >> acquired_shift) - (head >> released_shift)) & count_mask;
    }
    [[nodiscard]] std::uint32_t slots_max() const noexcept { return blocks_max_ * block_slots; }
    // Visits every slot that was made, acquired or free.
    template <typename F>
    void for_each(F&& visit) {
        for (std::uint32_t i = 0; i < blocks_max_; ++i) {
            T* slots = blocks_[i].load(std::memory_order_acquire);
            for (std::uint32_t k = 0; slots && k < block_slots; ++k) visit(slots[k]);
        }
    }

  private:
    // The head packs three numbers: index + 1 of the first free slot (22 bits), and how many acquisitions and how many
    // releases there were (21 bits each, which prevent the ABA problem and give taken()).
    static constexpr unsigned acquired_shift = 22;
    static constexpr unsigned released_shift = 43;
    static constexpr std::uint32_t count_mask = (1u << 21) - 1;
    static constexpr std::uint64_t index_mask = (std::uint64_t{1} << acquired_shift) - 1;
    static constexpr std::uint64_t one_release = std::uint64_t{1} << released_shift;

    // The head with a new first slot and one more acquisition; the count wraps without a carry into other bits.
    static constexpr std::uint64_t acquired(std::uint64_t head, std::uint32_t first) noexcept {
        constexpr std::uint64_t counted = std::uint64_t{count_mask} << acquired_shift;
        const std::uint64_t count = (head + (std::uint64_t{1} << acquired_shift)) & counted;
        return (head & ~(counted | index_mask)) | count | first;
    }

    T* pop() noexcept {
        std::uint64_t head = head_.load(std::memory_order_acquire);
        for (;;) {
            const auto index = static_cast<std::uint32_t>(head & index_mask);
            if (index == 0) return nullptr;
            T* const slot = made(index - 1);
            const std::uint64_t next = acquired(head, slot->slot_next.load(std::memory_order_relaxed));
            if (head_.compare_exchange_weak(head, next, std::memory_order_acquire, std::memory_order_acquire))
                return slot;
        }
    }

    [[nodiscard, gnu::noinline]] T* acquire_or_grow() noexcept {
        return acquire([](T*) noexcept { return true; });
    }
    [[gnu::noinline]] void push_released(T& slot) noexcept { push(slot, slot, one_release); }

    // Pushes the chain first..last, already linked through slot_next; `count` is added to the head.
    void push(T& first, T& last, std::uint64_t count) noexcept {
        std::uint64_t head = head_.load(std::memory_order_relaxed);
        for (;;) {
            last.slot_next.store(static_cast<std::uint32_t>(head & index_mask), std::memory_order_relaxed);
            const std::uint64_t next = ((head & ~index_mask) + count) | (first.slot_index + 1);
            if (head_.compare_exchange_weak(head, next, std::memory_order_release, std::memory_order_relaxed)) return;
        }
    }

    template <typename F>
    bool grow(F& prepare) noexcept {
        const std::lock_guard lock(grow_mutex_);
        if ((head_.load(std::memory_order_acquire) & index_mask) != 0) return true;
        if (blocks_used_ == blocks_max_) return false;
        if (threads_ == ThreadUse::one && !grow_stack()) return false;
        std::unique_ptr<T[]> block(new (std::nothrow) T[block_slots]);
        if (!block || !prepare(block.get())) return false;
        T* const slots = block.release();
        const std::uint32_t base = blocks_used_ * block_slots;
        for (std::uint32_t k = 0; k < block_slots; ++k) {
            slots[k].slot_index = base + k;
            slots[k].slot_next.store(base + k + 2, std::memory_order_relaxed);
        }
        blocks_[blocks_used_].store(slots, std::memory_order_release);
        ++blocks_used_;
        if (threads_ == ThreadUse::many) {
            push(slots[0], slots[block_slots - 1], 0);
        } else {
            for (std::uint32_t k = block_slots; k > 0; --k) free_[free_count_++] = &slots[k - 1];
        }
        return true;
    }

    // Makes room for one more block. Requires: no slot is free.
    bool grow_stack() noexcept {
        const std::uint32_t slots = (blocks_used_ + 1) * block_slots;
        if (slots <= free_max_) return true;
        const std::uint32_t more = larger_of(slots, 2 * free_max_);
        std::unique_ptr<T*[]> stack(new (std::nothrow) T*[more]);
        if (!stack) return false;
        free_ = std::move(stack);
        free_max_ = more;
        return true;
    }

    const ThreadUse threads_;
    const std::uint32_t blocks_max_;
    std::unique_ptr<std::atomic<T*>[]> blocks_;
    std::atomic<std::uint64_t> head_{0};  // ThreadUse::many
    std::unique_ptr<T*[]> free_;          // ThreadUse::one: a stack
    std::uint32_t free_count_ = 0;
    std::uint32_t free_max_ = 0;
    std::mutex grow_mutex_;
    std::uint32_t blocks_used_ = 0;
};

}  // namespace cinnabar
