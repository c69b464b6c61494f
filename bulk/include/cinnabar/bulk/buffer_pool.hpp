// SPDX-License-Identifier: BSD-3-Clause
// Equal buffers of one registered allocation, for servers that receive all day. Any thread; no lock after the start.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/bulk/region.hpp>

#include <memory>
#include <utility>

namespace cinnabar::bulk {

class BufferPool;

// One buffer out of the pool; goes back when it is destroyed. The pool may be destroyed before it.
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
    // out_of_memory when the memory is not to be had.
    [[nodiscard]] static Result<BufferPool> make(std::size_t buffer_bytes, std::uint32_t buffers);
    // An empty buffer when all are out.
    [[nodiscard]] PooledBuffer try_take() noexcept;
    [[nodiscard]] std::size_t buffer_bytes() const noexcept;
    [[nodiscard]] std::uint32_t buffers_free() const noexcept;

  private:
    std::shared_ptr<struct BufferPoolShared> shared_;
};

}  // namespace cinnabar::bulk
