// SPDX-License-Identifier: BSD-3-Clause
// Whether nothing comes from a peer any more.
#pragma once

#include <cstdint>

namespace cinnabar::bulk {

// Looked at `looks` times in the time that a peer may be silent for, and it lasts when as many looks in a row have
// found nothing. A process that was held up itself looks late, but only once, so that it does not blame its peers.
class Silence {
  public:
    static constexpr int looks = 4;

    // `come`: bytes so far.
    [[nodiscard]] bool lasts(std::uint64_t come) noexcept {
        count_ = come == seen_ ? count_ + 1 : 0;
        seen_ = come;
        return count_ >= looks;
    }
    // Nothing is expected, so that this look does not count, nor do those before it.
    void excuse(std::uint64_t come) noexcept {
        count_ = 0;
        seen_ = come;
    }

  private:
    std::uint64_t seen_ = 0;
    int count_ = 0;
};

}  // namespace cinnabar::bulk
