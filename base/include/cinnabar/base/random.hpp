// SPDX-License-Identifier: BSD-3-Clause
// Random numbers: a small seeded generator for the simulator, jitter and tests, and the generator of the operating
// system for secrets.
#pragma once

#include <cinnabar/base/export.hpp>

#include <cstdint>

namespace cinnabar {

// splitmix64: the same seed gives the same numbers on every machine. Not for secrets. Not thread-safe.
class Random {
  public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    std::uint64_t next() noexcept {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // Uniform in [0, bound); 0 if bound is 0.
    std::uint64_t below(std::uint64_t bound) noexcept {
        return bound ? static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64) : 0;
    }
    // True with probability 1 / one_in; never if one_in is 0.
    bool chance(std::uint64_t one_in) noexcept { return one_in != 0 && below(one_in) == 0; }

  private:
    std::uint64_t state_;
};

// Returns 64 random bits from the operating system, for keys and incarnations; never 0. Aborts if the system cannot
// provide random bits. Any thread.
[[nodiscard]] CINNABAR_API std::uint64_t secret_u64() noexcept;

}  // namespace cinnabar
