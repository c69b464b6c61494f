// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/buffers.hpp>

#include <algorithm>
#include <bit>

namespace cinnabar::hl {

Result<Buffer> Buffers::take(std::size_t bytes) {
    if (bytes == 0) return Error{Errc::invalid_argument, "a buffer of 0 bytes: give its size"};
    if (bytes > std::size_t{1} << 62)
        return Error{Errc::overloaded, "larger than NodeOptions::buffer_bytes_max allows: raise that"};
    const std::size_t room = std::bit_ceil(std::max(bytes, smallest_bytes));
    const std::lock_guard lock(mutex_);
    Class& sized = classes_[static_cast<std::size_t>(std::countr_zero(room))];
    for (std::size_t i = 0; i < sized.slabs.size(); ++i) {
        const std::size_t at = (sized.last + i) % sized.slabs.size();
        bulk::PooledBuffer held = sized.slabs[at].try_take();
        if (!held) continue;
        sized.last = at;
        return Buffer(std::move(held), bytes);
    }
    // A smaller slab if the limit leaves no room for a full one.
    std::uint64_t count = std::max<std::uint64_t>(slab_bytes / room, 1);
    count = std::min<std::uint64_t>(count, bytes_left_ / room);
    if (count == 0)
        return Error{Errc::overloaded,
                     "all buffers of this node are in use: release some or raise NodeOptions::buffer_bytes_max"};
    CINNABAR_TRY(bulk::BufferPool made, bulk::BufferPool::make(room, static_cast<std::uint32_t>(count)));
    bytes_left_ -= count * room;
    bulk::PooledBuffer held = made.try_take();
    sized.last = sized.slabs.size();
    sized.slabs.push_back(std::move(made));
    return Buffer(std::move(held), bytes);
}

}  // namespace cinnabar::hl
