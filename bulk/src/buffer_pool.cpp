// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/assert.hpp>
#include <cinnabar/bulk/buffer_pool.hpp>

#include <unistd.h>

#include <atomic>
#include <limits>
#include <vector>

namespace cinnabar::bulk {

struct BufferPoolShared {
    BufferPoolShared(Region memory, std::size_t bytes, std::size_t step, std::uint32_t buffers)
        : region(std::move(memory)), buffer_bytes(bytes), stride(step), slots(Threads::many, buffers), free(buffers) {}

    const Region region;
    const std::size_t buffer_bytes;
    const std::size_t stride;  // rounded up to whole pages
    // SlotPool rounds its limit up to whole blocks; the count `free` limits it to the number of buffers. Slots are
    // reused last in, first out, so slots with higher indices are never reached.
    SlotPool<PoolSlot> slots;
    std::atomic<std::uint32_t> free;
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
    std::uint32_t free = shared_->free.load(std::memory_order_relaxed);
    do {
        if (free == 0) return buffer;
    } while (!shared_->free.compare_exchange_weak(free, free - 1, std::memory_order_acquire));
    PoolSlot* slot = shared_->slots.acquire();
    CINNABAR_ASSERT(slot);
    buffer.shared_ = shared_;
    buffer.index_ = slot->slot_index;
    buffer.region_ = shared_->region.slice(slot->slot_index * shared_->stride, shared_->buffer_bytes);
    return buffer;
}

std::size_t BufferPool::buffer_bytes() const noexcept { return shared_ ? shared_->buffer_bytes : 0; }

std::uint32_t BufferPool::buffers_free() const noexcept {
    return shared_ ? shared_->free.load(std::memory_order_relaxed) : 0;
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
    region_ = {};
    shared_->slots.release(*shared_->slots.at(index_));
    shared_->free.fetch_add(1, std::memory_order_release);
}

Bytes PooledBuffer::bytes() const noexcept { return region_.contiguous(); }

}  // namespace cinnabar::bulk
