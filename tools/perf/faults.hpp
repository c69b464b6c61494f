// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a server on purpose, so that one can see what a client tells of it.
#pragma once

#include <chrono>
#include <cstdint>

namespace cinnabar::tools::perf {

struct Faults {
    std::chrono::milliseconds stall{0};        // answers nothing for so long ...
    std::chrono::milliseconds stall_every{0};  // ... once in so long; 0: never
    std::uint64_t drop_every = 0;              // every nth call gets no answer; 0: none
    std::uint64_t corrupt_every = 0;           // every nth answer, and every nth slot moved, has one bit turned
    std::uint64_t die_after = 0;               // calls, or transfers; then the process is gone

    [[nodiscard]] bool any() const noexcept {
        return stall_every.count() > 0 || drop_every > 0 || corrupt_every > 0 || die_after > 0;
    }
};

}  // namespace cinnabar::tools::perf
