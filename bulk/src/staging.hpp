// SPDX-License-Identifier: BSD-3-Clause
// Staging buffers of one transport, through which runs of very small segments are copied, so that one operation moves a
// whole run. Allocated at first use. Used only by the owner of the context.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/bulk/region.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::bulk {

class Staging {
  public:
    static constexpr std::uint64_t buffer_bytes = 64 * 1024;
    static constexpr std::uint32_t buffers = 16;
    static constexpr std::uint32_t none = ~std::uint32_t{0};

    // Allocates and registers the buffers, unless a call before did so. Returns the error of that.
    [[nodiscard]] Errc prepare(const std::shared_ptr<na::Transport>& transport);
    // The index of a free buffer, or `none`. Requires: prepared.
    [[nodiscard]] std::uint32_t take() noexcept;
    void give(std::uint32_t index) noexcept;
    [[nodiscard]] na::Memory& memory() const noexcept { return *memory_; }
    [[nodiscard]] static std::uint64_t offset(std::uint32_t index) noexcept { return index * buffer_bytes; }
    [[nodiscard]] Bytes bytes(std::uint32_t index, std::uint64_t count) const noexcept {
        return region_.contiguous().subspan(offset(index), count);
    }

  private:
    Region region_;
    na::Memory* memory_ = nullptr;
    std::uint32_t free_ = 0;  // a bit per buffer
};

}  // namespace cinnabar::bulk
