// SPDX-License-Identifier: BSD-3-Clause
// Silence: detects that a peer has stopped sending during a transfer (bulk/src/transfer_deadline.cpp) or during the
// pull of a large argument or result (rpc/src/large_values_stall.cpp).
#pragma once

#include <cstdint>

namespace cinnabar::bulk {

// Detects that no new bytes have arrived for the allowed time. The owner calls lasts() `looks` times within that time;
// lasts() returns true when that many calls in a row found no new bytes. If the process itself is held up, the next
// call is late but counts only once, so the peer is not blamed.
class Silence {
  public:
    static constexpr int looks = 4;

    // `come`: the number of bytes that have arrived so far.
    [[nodiscard]] bool lasts(std::uint64_t come) noexcept {
        count_ = come == seen_ ? count_ + 1 : 0;
        seen_ = come;
        return count_ >= looks;
    }
    // Call when no bytes are expected at the moment: restarts the count.
    void excuse(std::uint64_t come) noexcept {
        count_ = 0;
        seen_ = come;
    }

  private:
    std::uint64_t seen_ = 0;
    int count_ = 0;
};

}  // namespace cinnabar::bulk
