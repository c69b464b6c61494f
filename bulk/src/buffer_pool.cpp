// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/base/test_yield.hpp>
#include <cinnabar/bulk/buffer_pool.hpp>

#include <unistd.h>

#include <atomic>
#include <limits>
#include <vector>

namespace cinnabar::bulk {

struct BufferPoolShared {
    BufferPoolShared(Region memory, std::size_t bytes, std::size_t step, std::uint32_t buffers)
        : region(std::move(memory)),
          count(buffers),
          buffer_bytes(bytes),
          stride(step),
          slots(ThreadUse::many, buffers),
          free(buffers),
          kept_out(std::make_unique<std::atomic<bool>[]>(buffers)) {}

    // Buffers in quarantine are given back, too: the lends in quarantine keep their memory alive.
    ~BufferPoolShared() {
        for (std::uint32_t index = 0; index < count; ++index) {
            if (kept_out[index].load(std::memory_order_acquire)) give_back(index);
        }
    }
    BufferPoolShared(const BufferPoolShared&) = delete;
    BufferPoolShared& operator=(const BufferPoolShared&) = delete;

    [[nodiscard]] Region buffer(std::uint32_t index) const { return region.slice(index * stride, buffer_bytes); }
    void give_back(std::uint32_t index) noexcept {
        slots.release(*slots.at(index));
        free.fetch_add(1, std::memory_order_release);
    }
    // Frees buffers whose quarantine has ended.
    void readmit() noexcept {
        for (std::uint32_t index = 0; kept_out_count.load(std::memory_order_relaxed) > 0 && index < count; ++index) {
            if (!kept_out[index].load(std::memory_order_acquire) || buffer(index).quarantined()) continue;
            CINNABAR_TEST_YIELD("buffer pool: a quarantine has ended");
            if (!kept_out[index].exchange(false, std::memory_order_acquire)) continue;
            // Another thread may have readmitted it meanwhile, and it may have been lent, and kept out, once more.
            if (buffer(index).quarantined()) {
                kept_out[index].store(true, std::memory_order_release);
                continue;
            }
            kept_out_count.fetch_sub(1, std::memory_order_relaxed);
            give_back(index);
        }
    }

    const Region region;
    const std::uint32_t count;
    const std::size_t buffer_bytes;
    const std::size_t stride;  // rounded up to whole pages
    // One slot for each buffer. SlotPool rounds its limit up to whole blocks, so the count `free` limits the slots in
    // use to the number of buffers. The slot freed last is reused first, so the extra slots, which have higher indices,
    // are never reached.
    SlotPool<PoolSlot> slots;
    std::atomic<std::uint32_t> free;
    // Buffers that were returned while a peer may still access them.
    const std::unique_ptr<std::atomic<bool>[]> kept_out;
    std::atomic<std::uint32_t> kept_out_count{0};
};

namespace {

// Makes all slots now, so that try_take never waits for the lock under which the slot pool grows.
bool fill(BufferPoolShared& shared, std::uint32_t buffers) {
    std::vector<PoolSlot*> taken;
    taken.reserve(buffers);
    while (taken.size() < buffers) {
        PoolSlot* slot = shared.slots.acquire();
        if (!slot) break;
        taken.push_back(slot);
    }
    const bool all = taken.size() == buffers;
    while (!taken.empty()) {
        shared.slots.release(*taken.back());
        taken.pop_back();
    }
    return all;
}

}  // namespace

Result<BufferPool> BufferPool::make(std::size_t buffer_bytes, std::uint32_t buffers) {
    if (buffer_bytes == 0 || buffers == 0)
        return Error(Errc::invalid_argument, "a buffer pool needs at least one buffer of at least one byte");
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (buffer_bytes > (std::numeric_limits<std::size_t>::max() - page) / buffers) {
        return Error(Errc::out_of_memory, "more bytes than the machine can address");
    }
    const std::size_t stride = (buffer_bytes + page - 1) / page * page;
    if (stride > std::numeric_limits<std::size_t>::max() / buffers) {
        return Error(Errc::out_of_memory, "more bytes than the machine can address");
    }
    CINNABAR_TRY(Region region, Region::allocate(stride * buffers, na::Access::read_write));
    BufferPool pool;
    pool.shared_ = std::make_shared<BufferPoolShared>(std::move(region), buffer_bytes, stride, buffers);
    if (!fill(*pool.shared_, buffers)) return Error(Errc::out_of_memory, "no memory for the slots of a buffer pool");
    return pool;
}

PooledBuffer BufferPool::try_take() noexcept {
    PooledBuffer buffer;
    if (!shared_) return buffer;
    if (shared_->kept_out_count.load(std::memory_order_relaxed) > 0) shared_->readmit();
    std::uint32_t free = shared_->free.load(std::memory_order_relaxed);
    do {
        if (free == 0) return buffer;
    } while (!shared_->free.compare_exchange_weak(free, free - 1, std::memory_order_acquire));
    PoolSlot* slot = shared_->slots.acquire();
    CINNABAR_ASSERT(slot);
    buffer.shared_ = shared_;
    buffer.index_ = slot->slot_index;
    buffer.region_ = shared_->buffer(slot->slot_index);
    return buffer;
}

std::size_t BufferPool::buffer_bytes() const noexcept { return shared_ ? shared_->buffer_bytes : 0; }

std::uint32_t BufferPool::buffers_free() const noexcept {
    if (!shared_) return 0;
    if (shared_->kept_out_count.load(std::memory_order_relaxed) > 0) shared_->readmit();
    return shared_->free.load(std::memory_order_relaxed);
}

PooledBuffer::PooledBuffer(PooledBuffer&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)),
      region_(std::exchange(other.region_, Region())),
      index_(other.index_) {}

PooledBuffer& PooledBuffer::operator=(PooledBuffer&& other) noexcept {
    std::swap(shared_, other.shared_);
    std::swap(region_, other.region_);
    std::swap(index_, other.index_);
    return *this;
}

PooledBuffer::~PooledBuffer() {
    if (!shared_) return;
    if (std::exchange(region_, Region()).quarantined()) {
        shared_->kept_out_count.fetch_add(1, std::memory_order_relaxed);
        shared_->kept_out[index_].store(true, std::memory_order_release);
        return;
    }
    shared_->give_back(index_);
}

Bytes PooledBuffer::bytes() const noexcept { return region_.contiguous(); }

}  // namespace cinnabar::bulk
