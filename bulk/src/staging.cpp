// SPDX-License-Identifier: BSD-3-Clause
#include "staging.hpp"

#include <bit>

namespace cinnabar::bulk {

Errc Staging::prepare(const std::shared_ptr<na::Transport>& transport) {
    if (memory_) return Errc::ok;
    auto region = Region::allocate(buffer_bytes * buffers, na::Access::read_write, transport);
    if (!region) return region.error().code;
    auto memory = region->memory_on(transport);
    if (!memory) return memory.error().code;
    region_ = *std::move(region);
    memory_ = *memory;
    free_ = (1u << buffers) - 1;
    return Errc::ok;
}

std::uint32_t Staging::take() noexcept {
    if (free_ == 0) return none;
    const auto index = static_cast<std::uint32_t>(std::countr_zero(free_));
    free_ &= free_ - 1;
    return index;
}

void Staging::give(std::uint32_t index) noexcept { free_ |= 1u << index; }

}  // namespace cinnabar::bulk
