// SPDX-License-Identifier: BSD-3-Clause
// Faults that a server injects, to show how clients report them.
#pragma once

#include <chrono>
#include <cstdint>

namespace cinnabar::tools::perf {

struct Faults {
    std::chrono::milliseconds stall{0};        // answers nothing for this long ...
    std::chrono::milliseconds stall_every{0};  // ... once per this period; 0: never
    std::uint64_t drop_every = 0;              // every nth call gets no answer; 0: none
    std::uint64_t corrupt_every = 0;           // every nth answer and every nth transfer has one bit flipped; 0: none
    std::uint64_t die_after = 0;               // the process kills itself after this many calls or transfers; 0: never

    [[nodiscard]] bool any() const noexcept {
        return stall_every.count() > 0 || drop_every > 0 || corrupt_every > 0 || die_after > 0;
    }
};

}  // namespace cinnabar::tools::perf
