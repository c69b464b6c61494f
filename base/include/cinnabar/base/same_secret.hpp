// SPDX-License-Identifier: BSD-3-Clause
// Compares a secret with what a peer presents, in the same number of instructions whatever the two are. A comparison of
// two words by == may end at the first half that differs, on processors with smaller words. For longer secrets, use
// CRYPTO_memcmp of OpenSSL. Pure.
#pragma once

#include <cstdint>

namespace cinnabar {

[[nodiscard]] inline bool same_secret(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t difference = a ^ b;
    // Its highest bit is set unless the difference is 0.
    return ((difference | (std::uint64_t{0} - difference)) >> 63) == 0;
}

}  // namespace cinnabar
