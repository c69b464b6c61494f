// SPDX-License-Identifier: BSD-3-Clause
#include "hot_lanes.hpp"

#include <utility>

namespace cinnabar::tcp {
namespace {

// Reads in a row without data before a lane is no longer hot.
constexpr std::uint16_t misses_max = 256;
// For how many rounds no lane is hot after more were active than can be hot.
constexpr std::uint32_t rounds_off = 1024;

}  // namespace

void HotLanes::add(Lane& lane) noexcept {
    lane.misses = 0;
    if (lane.hot || rounds_off_ > 0 || !host_.spins()) return;
    if (count_ == count_max) {
        while (count_ > 0) cool(count_ - 1);
        rounds_off_ = rounds_off;
        return;
    }
    lane.hot = true;
    hot_[count_++] = &lane;
    if (lane.urgent()) std::swap(hot_[0], hot_[count_ - 1]);
}

void HotLanes::cool(std::size_t index) noexcept {
    hot_[index]->hot = false;
    hot_[index] = hot_[--count_];
}

void HotLanes::remove(Lane& lane) noexcept {
    for (std::size_t i = 0; lane.hot && i < count_; ++i) {
        if (hot_[i] == &lane) cool(i);
    }
}

unsigned HotLanes::receive() noexcept {
    if (rounds_off_ > 0) --rounds_off_;
    unsigned did = 0;
    for (std::size_t i = 0; i < count_;) {
        Lane& lane = *hot_[i];
        ++lane.misses;
        did += lane.receive();
        if (i >= count_ || hot_[i] != &lane) continue;  // receive() removed it, or all
        if (lane.misses > misses_max) {
            cool(i);
        } else {
            ++i;
        }
    }
    return did;
}

}  // namespace cinnabar::tcp
