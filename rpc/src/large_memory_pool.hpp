// SPDX-License-Identifier: BSD-3-Clause
// Keeps the memory of completed large arguments and results for reuse, because faulting in fresh pages costs many times
// more than copying into them. A region is reused only for requests that round to the same size; sizes are at most a
// sixteenth larger than requested. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace cinnabar::rpc {

class LargeMemoryPool {
  public:
    // Keeps at most `bytes_max`.
    explicit LargeMemoryPool(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

    // Memory of `bytes`, with unspecified contents. Errors: bulk::Region::allocate.
    [[nodiscard]] Result<bulk::Region> take(std::uint64_t bytes);
    // Takes back memory from take(). Does not keep it if a peer may still access it.
    void give(bulk::Region region) noexcept;
    // Frees all memory, and keeps none from now on.
    void close() noexcept;
    [[nodiscard]] std::uint64_t bytes() noexcept;

  private:
    static constexpr std::size_t regions_max = 64;

    [[nodiscard]] bulk::Region take_kept(std::uint64_t room) noexcept;
    // Returns an empty region if `region` was kept; otherwise returns a region that the caller must free without the
    // lock before it tries again.
    [[nodiscard]] bulk::Region keep(bulk::Region& region) noexcept;
    bulk::Region remove(std::size_t index) noexcept;

    std::mutex mutex_;
    std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    std::array<bulk::Region, regions_max> kept_;  // whole regions, oldest first
    std::size_t count_ = 0;
};

}  // namespace cinnabar::rpc
