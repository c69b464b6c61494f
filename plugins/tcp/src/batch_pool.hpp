// SPDX-License-Identifier: BSD-3-Clause
// Buffers in which lanes collect small messages before sending. Owner of the context only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace cinnabar::tcp {

using BatchBuffer = std::unique_ptr<std::byte[]>;

class BatchPool {
  public:
    static constexpr std::uint32_t batch_bytes = 16 * 1024;

    BatchPool() { free_.reserve(free_max); }

    // Null: out of memory.
    [[nodiscard]] BatchBuffer take() noexcept {
        BatchBuffer batch;
        if (free_.empty()) {
            batch.reset(new (std::nothrow) std::byte[batch_bytes]);
        } else {
            batch = std::move(free_.back());
            free_.pop_back();
        }
        if (batch) ++taken_;
        return batch;
    }
    void give(BatchBuffer batch) noexcept {
        --taken_;
        if (free_.size() < free_max) free_.push_back(std::move(batch));  // does not allocate: capacity is reserved
    }
    [[nodiscard]] std::uint32_t taken() const noexcept { return taken_; }

  private:
    static constexpr std::size_t free_max = 256;
    std::vector<BatchBuffer> free_;
    std::uint32_t taken_ = 0;
};

}  // namespace cinnabar::tcp
