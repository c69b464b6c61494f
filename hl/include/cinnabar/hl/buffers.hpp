// SPDX-License-Identifier: BSD-3-Clause
// A pool of registered buffers. A buffer is taken by size and returns to the pool when it is destroyed, so memory is
// registered once and reused. Thread-safe.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/buffer_pool.hpp>
#include <cinnabar/bulk/region.hpp>

#include <array>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::hl {

// May outlive the node.
class Buffer {
  public:
    Buffer() = default;
    explicit operator bool() const noexcept { return static_cast<bool>(held_); }
    [[nodiscard]] Bytes bytes() const noexcept { return held_.bytes().first(size_); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] const bulk::Region& region() const noexcept { return region_; }
    // Lets a Buffer be passed to pull and push. Keep the Buffer until the transfer has ended.
    operator bulk::Region() const noexcept { return region_; }

  private:
    friend class Buffers;
    Buffer(bulk::PooledBuffer held, std::size_t size)
        : held_(std::move(held)), region_(held_.region().slice(0, size)), size_(size) {}
    bulk::PooledBuffer held_;
    bulk::Region region_;
    std::size_t size_ = 0;
};

// A Buffer read as an array of T. May outlive the node.
template <typename T>
class Fetched {
  public:
    Fetched() = default;
    explicit Fetched(Buffer buffer) noexcept : buffer_(std::move(buffer)) {}

    [[nodiscard]] std::span<T> values() const noexcept {
        if (!buffer_) return {};
        return {reinterpret_cast<T*>(buffer_.bytes().data()), buffer_.size() / sizeof(T)};
    }
    [[nodiscard]] auto begin() const noexcept { return values().begin(); }
    [[nodiscard]] auto end() const noexcept { return values().end(); }
    [[nodiscard]] std::size_t size() const noexcept { return values().size(); }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    [[nodiscard]] T& operator[](std::size_t index) const noexcept { return values()[index]; }
    // The underlying buffer, to lend it or to push from it.
    [[nodiscard]] const Buffer& buffer() const noexcept { return buffer_; }

  private:
    Buffer buffer_;
};

class CINNABAR_API Buffers {
  public:
    explicit Buffers(std::uint64_t bytes_max) noexcept : bytes_left_(bytes_max) {}

    // Takes a buffer of `bytes`; the memory behind it is rounded up to a power of two. overloaded: the node's
    // buffer_bytes_max is used up; out_of_memory; invalid_argument: 0 bytes.
    [[nodiscard]] Result<Buffer> take(std::size_t bytes);

  private:
    static constexpr std::size_t smallest_bytes = 4096;
    static constexpr std::size_t slab_bytes = std::size_t{1} << 20;  // a larger buffer gets its own slab
    struct Class {
        std::vector<bulk::BufferPool> slabs;
        std::size_t last = 0;  // index of the slab that last had a free buffer
    };
    std::mutex mutex_;
    std::array<Class, 64> classes_;
    std::uint64_t bytes_left_;
};

}  // namespace cinnabar::hl
