// SPDX-License-Identifier: BSD-3-Clause
// Which of the last message numbers were taken. Pure.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace cinnabar::tls {

class ReplayWindow {
  public:
    // How far behind the highest number a message may arrive.
    static constexpr std::size_t width = 1024;

    // Marks a number as taken. False: it was taken before, or is `width` or more behind the highest.
    [[nodiscard]] bool take(std::uint64_t number) noexcept {
        if (number >= next_) {
            move_to(number + 1);
        } else if (next_ - number > width || taken_[number % width]) {
            return false;
        }
        taken_[number % width] = true;
        return true;
    }

  private:
    void move_to(std::uint64_t next) noexcept {
        if (next - next_ >= width) taken_.reset();
        for (std::uint64_t n = next_; next - next_ < width && n < next; ++n) taken_[n % width] = false;
        next_ = next;
    }

    std::bitset<width> taken_;  // by number, modulo width
    std::uint64_t next_ = 0;    // the number after the highest
};

}  // namespace cinnabar::tls
