// SPDX-License-Identifier: BSD-3-Clause
#include "session/stream_count.hpp"

#include <algorithm>

namespace cinnabar::files {

bool StreamCount::moved(std::uint64_t bytes, Clock::time_point now) noexcept {
    if (!measures_ || waits_) return false;
    ++windows_;
    if (windows_ <= windows_before) {
        begun_ = now;
        return false;
    }
    bytes_ += bytes;
    const std::chrono::duration<double> took = now - begun_;
    if (windows_ < windows_before + windows_measured || took < measured) return false;
    const double rate = static_cast<double>(bytes_) / took.count();
    const bool helps = rate > rate_before_ * growth_min;
    rate_before_ = rate;
    if (!helps) {
        settle(wanted_ / 2);
        return true;
    }
    measures_ = wanted_ < most_;
    if (!measures_) return false;
    wanted_ = std::min(wanted_ * 2, most_);
    waits_ = true;
    return true;
}

void StreamCount::begin() noexcept {
    waits_ = false;
    pause();
}

void StreamCount::pause() noexcept {
    windows_ = 0;
    bytes_ = 0;
}

void StreamCount::settle(unsigned connections) noexcept {
    wanted_ = std::max(1u, connections);
    measures_ = false;
}

}  // namespace cinnabar::files
