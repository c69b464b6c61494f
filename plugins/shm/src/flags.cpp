// SPDX-License-Identifier: BSD-3-Clause
#include "flags.hpp"

#include <cinnabar/base/assert.hpp>

namespace cinnabar::shm {

static_assert(std::size_t{64} * (Flags::groups_max + 1) <= Flags::bytes);

std::uint32_t Flags::take() noexcept {
    if (!memory_ && Segment::make("cinnabar-flags", bytes, memory_, fd_) != Errc::ok) {
        memory_.reset();
        fd_.reset();
        return none;
    }
    for (std::uint32_t group = 0; group < groups_max; ++group) {
        const std::uint64_t taken = taken_[group];
        if (~taken == 0) continue;
        const auto free = static_cast<std::uint32_t>(std::countr_one(taken));
        taken_[group] = taken | std::uint64_t{1} << free;
        return group * detail::flags_per_group + free;
    }
    return none;
}

void Flags::give_back(std::uint32_t flag) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << flag % detail::flags_per_group;
    std::uint64_t& taken = taken_[flag / detail::flags_per_group];
    CINNABAR_ASSERT((taken & bit) != 0);
    taken &= ~bit;
}

}  // namespace cinnabar::shm
