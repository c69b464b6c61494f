// SPDX-License-Identifier: BSD-3-Clause
// What it takes to post a list of 15,000 blocks that was prepared.
#pragma once

#include <cstdint>

namespace cinnabar::bench {

struct PostCost {
    double us = 0;          // of the thread that posts, the median of many
    double wire_bytes = 0;  // of the arguments
};
enum class List : std::uint8_t {
    strided,  // blocks of 4 KiB, every other one
    random,   // other numbers each time, of 2^20 blocks of 512 bytes
};
// In this process alone, over tcp; each post is waited for before the next. Throws std::runtime_error (or BadResult).
[[nodiscard]] PostCost measure_posts(List list, unsigned posts);

}  // namespace cinnabar::bench
