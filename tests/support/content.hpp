// SPDX-License-Identifier: BSD-3-Clause
// File contents for tests.
#pragma once

#include "support/folder.hpp"

#include <cstdint>
#include <string>

namespace cinnabar::support {

// Pseudo-random bytes; another seed gives other bytes.
inline std::string pattern(std::size_t bytes, unsigned seed = 1) {
    std::string text(bytes, '\0');
    std::uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
    for (char& byte : text) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        byte = static_cast<char>(state >> 56);
    }
    return text;
}

}  // namespace cinnabar::support
