// SPDX-License-Identifier: BSD-3-Clause
// ProbeOrder: visits each rank below `end` once, in random order, and then again in another order. It stores no list,
// so its size does not depend on the number of members.
#pragma once

#include "swim/claim.hpp"

#include <cinnabar/base/random.hpp>

#include <numeric>

namespace cinnabar::group {

class ProbeOrder {
  public:
    // Returns the next rank; no_rank if there are none.
    [[nodiscard]] Rank next(Rank end, Random& random) noexcept {
        if (end == 0) return no_rank;
        if (left_ == 0 || end != end_) begin(end, random);
        --left_;
        at_ = static_cast<Rank>((std::uint64_t{at_} + step_) % end_);
        return at_;
    }

  private:
    void begin(Rank end, Random& random) noexcept {
        end_ = left_ = end;
        at_ = static_cast<Rank>(random.below(end));
        do step_ = static_cast<Rank>(1 + random.below(end));
        while (std::gcd(step_, end) != 1);
    }
    Rank end_ = 0;
    Rank left_ = 0;
    Rank at_ = 0;
    Rank step_ = 1;
};

}  // namespace cinnabar::group
