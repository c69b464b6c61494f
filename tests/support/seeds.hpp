// SPDX-License-Identifier: BSD-3-Clause
// The seeds that random tests walk. CINNABAR_SEEDS says how many (300 by default, more in `./dev test --full` and
// `./dev soak`); CINNABAR_SEED=n runs seed n alone, which is how a failure is replayed.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace cinnabar::test {

inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Calls `body(seed)` for each seed and stops at the first that fails; the failure names the seed. A test whose seeds
// are dear divides their number by `cost`.
template <typename F>
void for_each_seed(F&& body, std::uint64_t cost = 1) {
    const std::uint64_t none = ~std::uint64_t{0};
    const std::uint64_t only = number_from_environment("CINNABAR_SEED", none);
    const std::uint64_t count = number_from_environment("CINNABAR_SEEDS", 300);
    const std::uint64_t first = only == none ? 0 : only;
    const std::uint64_t last = only == none ? (count + cost - 1) / cost : only + 1;
    for (std::uint64_t seed = first; seed < last; ++seed) {
        SCOPED_TRACE("replay with CINNABAR_SEED=" + std::to_string(seed));
        body(seed);
        if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace cinnabar::test
