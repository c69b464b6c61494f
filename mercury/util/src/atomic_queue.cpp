// SPDX-License-Identifier: BSD-3-Clause
// Each cell has a turn counter: in lap n of the ring a push waits for 2n, and a pop for 2n + 1.
#include <mercury_atomic_queue.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <new>

namespace {

struct Cell {
    std::atomic<std::uint64_t> turn{0};
    void* entry = nullptr;
};

}  // namespace

struct hg_atomic_queue {
    explicit hg_atomic_queue(unsigned count) : cells(std::make_unique<Cell[]>(count)), size(count) {}

    std::unique_ptr<Cell[]> cells;
    std::uint64_t size;
    alignas(HG_MEM_CACHE_LINE_SIZE) std::atomic<std::uint64_t> pushed{0};
    alignas(HG_MEM_CACHE_LINE_SIZE) std::atomic<std::uint64_t> popped{0};
};

struct hg_atomic_queue* hg_atomic_queue_alloc(unsigned int count) try {
    return std::has_single_bit(count) ? new hg_atomic_queue(count) : nullptr;
} catch (const std::bad_alloc&) {
    return nullptr;
}

void hg_atomic_queue_free(struct hg_atomic_queue* hg_atomic_queue) { delete hg_atomic_queue; }

int hg_atomic_queue_push(struct hg_atomic_queue* hg_atomic_queue, void* entry) {
    auto& queue = *hg_atomic_queue;
    for (std::uint64_t at = queue.pushed.load(std::memory_order_relaxed);;) {
        Cell& cell = queue.cells[at & (queue.size - 1)];
        const std::uint64_t mine = at / queue.size * 2;
        const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
        if (turn < mine) return HG_UTIL_FAIL;
        if (turn > mine) {  // another push took it
            at = queue.pushed.load(std::memory_order_relaxed);
        } else if (queue.pushed.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
            cell.entry = entry;
            cell.turn.store(mine + 1, std::memory_order_release);
            return HG_UTIL_SUCCESS;
        }
    }
}

void* hg_atomic_queue_pop_mc(struct hg_atomic_queue* hg_atomic_queue) {
    auto& queue = *hg_atomic_queue;
    for (std::uint64_t at = queue.popped.load(std::memory_order_relaxed);;) {
        Cell& cell = queue.cells[at & (queue.size - 1)];
        const std::uint64_t mine = at / queue.size * 2 + 1;
        const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
        if (turn < mine) return nullptr;
        if (turn > mine) {  // another pop took it
            at = queue.popped.load(std::memory_order_relaxed);
        } else if (queue.popped.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
            void* const entry = cell.entry;
            cell.turn.store(mine + 1, std::memory_order_release);
            return entry;
        }
    }
}

void* hg_atomic_queue_pop_sc(struct hg_atomic_queue* hg_atomic_queue) {
    return hg_atomic_queue_pop_mc(hg_atomic_queue);
}

bool hg_atomic_queue_is_empty(const struct hg_atomic_queue* hg_atomic_queue) {
    return hg_atomic_queue_count(hg_atomic_queue) == 0;
}

unsigned int hg_atomic_queue_count(const struct hg_atomic_queue* hg_atomic_queue) {
    // In this order the difference is never negative.
    const std::uint64_t popped = hg_atomic_queue->popped.load(std::memory_order_acquire);
    const std::uint64_t pushed = hg_atomic_queue->pushed.load(std::memory_order_acquire);
    return static_cast<unsigned>(pushed - popped);
}
