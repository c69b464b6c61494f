// SPDX-License-Identifier: BSD-3-Clause
// BufferPool: buffers of one size, cut from one registered allocation and reused. Thread-safe. After make(), a
// BufferPool takes no lock unless a buffer is in quarantine.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/region.hpp>

#include <memory>
#include <utility>

namespace cinnabar::bulk {

class BufferPool;

// A buffer taken from a pool. When a PooledBuffer is destroyed, its memory returns to the pool: at once or, if the
// memory is in quarantine (Region::quarantined), after the quarantine has ended. May outlive the BufferPool.
class CINNABAR_API PooledBuffer {
  public:
    PooledBuffer() = default;
    PooledBuffer(PooledBuffer&& other) noexcept;
    PooledBuffer& operator=(PooledBuffer&& other) noexcept;
    ~PooledBuffer();

    explicit operator bool() const noexcept { return shared_ != nullptr; }
    [[nodiscard]] Bytes bytes() const noexcept;
    [[nodiscard]] const Region& region() const noexcept { return region_; }

  private:
    friend class BufferPool;
    std::shared_ptr<struct BufferPoolShared> shared_;
    Region region_;
    std::uint32_t index_ = 0;
};

class CINNABAR_API BufferPool {
  public:
    // invalid_argument: 0 bytes or 0 buffers. out_of_memory.
    [[nodiscard]] static Result<BufferPool> make(std::size_t buffer_bytes, std::uint32_t buffers);
    // Takes a buffer; empty if none is free.
    [[nodiscard]] PooledBuffer try_take() noexcept;
    [[nodiscard]] std::size_t buffer_bytes() const noexcept;
    [[nodiscard]] std::uint32_t buffers_free() const noexcept;

  private:
    std::shared_ptr<struct BufferPoolShared> shared_;
};

}  // namespace cinnabar::bulk
