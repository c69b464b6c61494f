// SPDX-License-Identifier: BSD-3-Clause
// The cost of posting a prepared transfer of 15,000 blocks.
#pragma once

#include <cstdint>

namespace cinnabar::bench {

struct PostCost {
    double us = 0;          // of the posting thread, median of many posts
    double wire_bytes = 0;  // of the arguments
};
enum class List : std::uint8_t {
    strided,  // blocks of 4 KiB, every other one
    random,   // different numbers each time, out of 2^20 blocks of 512 bytes
};
// Runs in this process over tcp; waits for each post before the next. Throws std::runtime_error (or BadResult).
[[nodiscard]] PostCost measure_posts(List list, unsigned posts);

}  // namespace cinnabar::bench
