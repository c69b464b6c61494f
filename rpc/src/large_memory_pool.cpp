// SPDX-License-Identifier: BSD-3-Clause
#include "large_memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace cinnabar::rpc {
namespace {

constexpr std::uint64_t step_min = 4096;

// Rounds up to one of sixteen sizes per power of two.
std::uint64_t room_for(std::uint64_t bytes) noexcept {
    const std::uint64_t step = std::max(std::bit_floor(bytes) / 16, step_min);
    return (bytes + step - 1) / step * step;
}

}  // namespace

Result<bulk::Region> LargeMemoryPool::take(std::uint64_t bytes) {
    const std::uint64_t room = room_for(bytes);
    if (const bulk::Region kept = take_kept(room)) return kept.slice(0, bytes);
    auto made = bulk::Region::allocate(static_cast<std::size_t>(room), na::Access::read_write);
    if (!made) return made;
    return made->slice(0, bytes);
}

void LargeMemoryPool::give(bulk::Region region) noexcept {
    region = region.whole();
    if (region.quarantined()) return;
    while (region) {
        const bulk::Region too_many = keep(region);
    }
}

void LargeMemoryPool::close() noexcept {
    std::unique_lock lock(mutex_);
    bytes_max_ = 0;
    while (count_ != 0) {
        bulk::Region last = remove(count_ - 1);
        lock.unlock();
        last = {};
        lock.lock();
    }
}

std::uint64_t LargeMemoryPool::bytes() noexcept {
    const std::lock_guard lock(mutex_);
    return bytes_;
}

// Prefers the region that was used last, which may still be in a cache.
bulk::Region LargeMemoryPool::take_kept(std::uint64_t room) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = count_; i-- != 0;) {
        if (kept_[i].bytes() == room) return remove(i);
    }
    return {};
}

bulk::Region LargeMemoryPool::keep(bulk::Region& region) noexcept {
    const std::lock_guard lock(mutex_);
    if (region.bytes() > bytes_max_) return std::move(region);
    if (count_ == regions_max || bytes_ + region.bytes() > bytes_max_) return remove(0);
    bytes_ += region.bytes();
    kept_[count_++] = std::move(region);
    return {};
}

bulk::Region LargeMemoryPool::remove(std::size_t index) noexcept {
    bulk::Region region = std::move(kept_[index]);
    std::move(kept_.begin() + static_cast<std::ptrdiff_t>(index) + 1,
              kept_.begin() + static_cast<std::ptrdiff_t>(count_), kept_.begin() + static_cast<std::ptrdiff_t>(index));
    kept_[--count_] = {};
    bytes_ -= region.bytes();
    return region;
}

}  // namespace cinnabar::rpc
