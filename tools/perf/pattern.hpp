// SPDX-License-Identifier: BSD-3-Clause
// A byte pattern that depends on position and seed, so that missing, stale, misplaced or flipped bytes are detected.
// Both sides must make the same pattern, so the pattern is a part of the protocol. Pure functions.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cinnabar::tools::perf {

namespace detail {

inline constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;

// Two words at a time: compilers add, store and compare them as one. A small call has one block or a few.
using TwoWords = std::uint64_t __attribute__((vector_size(16)));
inline constexpr std::size_t block_bytes = 64;
inline constexpr TwoWords block_steps[] = {{0, step}, {2 * step, 3 * step}, {4 * step, 5 * step}, {6 * step, 7 * step}};
inline constexpr std::uint64_t block_step = 8 * step;

// Consecutive seeds give unrelated first words.
[[nodiscard]] constexpr std::uint64_t first_word(std::uint64_t seed) noexcept {
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    return seed ^ (seed >> 27) ^ 0x5bd1e995;
}

inline void fill_block(std::byte* to, std::uint64_t word) noexcept {
    for (const TwoWords& steps : block_steps) {
        const TwoWords two = TwoWords{word, word} + steps;
        std::memcpy(to, &two, sizeof two);
        to += sizeof two;
    }
}
[[nodiscard]] inline bool has_block(const std::byte* from, std::uint64_t word) noexcept {
    TwoWords differing{};
    for (const TwoWords& steps : block_steps) {
        TwoWords found;
        std::memcpy(&found, from, sizeof found);
        differing |= found ^ (TwoWords{word, word} + steps);
        from += sizeof found;
    }
    return (differing[0] | differing[1]) == 0;
}

}  // namespace detail

// The pattern whose first word is `word`. Calls of one block, which are the usual ones, take no loop.
inline void fill_pattern_from(Bytes bytes, std::uint64_t word) noexcept {
    if (bytes.size() == detail::block_bytes) return detail::fill_block(bytes.data(), word);
    std::size_t at = 0;
    for (; at + detail::block_bytes <= bytes.size(); at += detail::block_bytes, word += detail::block_step)
        detail::fill_block(bytes.data() + at, word);
    for (; at + sizeof word <= bytes.size(); at += sizeof word, word += detail::step)
        std::memcpy(bytes.data() + at, &word, sizeof word);
    if (at < bytes.size()) std::memcpy(bytes.data() + at, &word, bytes.size() - at);
}
[[nodiscard]] inline bool has_pattern_from(ConstBytes bytes, std::uint64_t word) noexcept {
    if (bytes.size() == detail::block_bytes) return detail::has_block(bytes.data(), word);
    std::size_t at = 0;
    for (; at + detail::block_bytes <= bytes.size(); at += detail::block_bytes, word += detail::block_step) {
        if (!detail::has_block(bytes.data() + at, word)) return false;
    }
    std::uint64_t differing = 0;
    for (; at + sizeof word <= bytes.size(); at += sizeof word, word += detail::step) {
        std::uint64_t found = 0;
        std::memcpy(&found, bytes.data() + at, sizeof found);
        differing |= found ^ word;
    }
    if (at < bytes.size() && std::memcmp(bytes.data() + at, &word, bytes.size() - at) != 0) return false;
    return differing == 0;
}

// Consecutive seeds give unrelated patterns.
inline void fill_pattern(Bytes bytes, std::uint64_t seed) noexcept {
    fill_pattern_from(bytes, detail::first_word(seed));
}
[[nodiscard]] inline bool has_pattern(ConstBytes bytes, std::uint64_t seed) noexcept {
    return has_pattern_from(bytes, detail::first_word(seed));
}

}  // namespace cinnabar::tools::perf
