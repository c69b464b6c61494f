// SPDX-License-Identifier: BSD-3-Clause
// Compares a secret with a value from a peer, in a number of instructions that does not depend on the two values. On
// processors with words of 32 bits, == may stop at the first half that differs. For longer secrets, use CRYPTO_memcmp
// of OpenSSL. Pure.
#pragma once

#include <cstdint>

namespace cinnabar {

[[nodiscard]] inline bool same_secret(std::uint64_t a, std::uint64_t b) noexcept {
    const std::uint64_t difference = a ^ b;
    // Its highest bit is set unless the difference is 0.
    return ((difference | (std::uint64_t{0} - difference)) >> 63) == 0;
}

}  // namespace cinnabar
