// SPDX-License-Identifier: BSD-3-Clause
#include "perf/schedule.hpp"

#include <cmath>

namespace cinnabar::tools::perf {

Schedule::Schedule(double rate, Arrivals arrivals, std::uint64_t begin_ns, std::uint64_t seed) noexcept
    : gap_ns_(1e9 / rate), arrivals_(arrivals), begin_ns_(begin_ns), random_(seed) {}

void Schedule::advance() noexcept {
    ++number_;
    if (arrivals_ == Arrivals::even) {
        offset_ns_ = gap_ns_ * static_cast<double>(number_);  // not summed up, because rounding errors would accumulate
        return;
    }
    constexpr double one_over_2_53 = 1.0 / 9007199254740992.0;
    const double uniform = (static_cast<double>(random_.next() >> 11) + 0.5) * one_over_2_53;
    offset_ns_ -= gap_ns_ * std::log(uniform);
}

}  // namespace cinnabar::tools::perf
