// SPDX-License-Identifier: BSD-3-Clause
// Memory of large arguments and results that are over, kept for the next ones: the pages of fresh memory cost many
// times what copying into it does. Only a region of the same room is used again; rooms are of few sizes, and at most a
// sixteenth larger than what they are for. Any thread.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/region.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace cinnabar::rpc {

class OverflowPool {
  public:
    // Keeps at most `bytes_max`.
    explicit OverflowPool(std::uint64_t bytes_max) noexcept : bytes_max_(bytes_max) {}

    // Memory of `bytes`, in which anything may be. Errors: bulk::Region::allocate.
    [[nodiscard]] Result<bulk::Region> take(std::uint64_t bytes);
    // Takes back what take() gave. Memory that a peer may still access is not kept.
    void give(bulk::Region region) noexcept;
    // Frees all, and keeps nothing from now on.
    void close() noexcept;
    [[nodiscard]] std::uint64_t bytes() noexcept;

  private:
    static constexpr std::size_t regions_max = 64;

    [[nodiscard]] bulk::Region take_kept(std::uint64_t room) noexcept;
    // Empty when it is kept; else what is to be freed, outside of the lock, before it is tried again.
    [[nodiscard]] bulk::Region keep(bulk::Region& region) noexcept;
    bulk::Region remove(std::size_t index) noexcept;

    std::mutex mutex_;
    std::uint64_t bytes_max_;
    std::uint64_t bytes_ = 0;
    std::array<bulk::Region, regions_max> kept_;  // whole ones; the oldest first
    std::size_t count_ = 0;
};

}  // namespace cinnabar::rpc
