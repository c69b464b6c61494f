// SPDX-License-Identifier: BSD-3-Clause
// A byte pattern that depends on position and seed, so that missing, stale, misplaced or flipped bytes are detected.
// Both sides must make the same one, so it is a part of the protocol. Pure functions.
#pragma once

#include <cinnabar/base/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cinnabar::tools::perf {

namespace detail {

inline constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;

// A compiler unrolls a block, since its length is constant. A small call has one or a few.
inline constexpr std::size_t block_words = 8;
inline constexpr std::size_t block_bytes = block_words * sizeof(std::uint64_t);

// Consecutive seeds give unrelated first words.
[[nodiscard]] constexpr std::uint64_t first_word(std::uint64_t seed) noexcept {
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    return seed ^ (seed >> 27) ^ 0x5bd1e995;
}

}  // namespace detail

inline void fill_pattern(Bytes bytes, std::uint64_t seed) noexcept {
    std::uint64_t word = detail::first_word(seed);
    std::size_t at = 0;
    for (; at + detail::block_bytes <= bytes.size(); at += detail::block_bytes) {
        for (std::size_t i = 0; i < detail::block_words; ++i, word += detail::step)
            std::memcpy(bytes.data() + at + i * sizeof word, &word, sizeof word);
    }
    for (; at + sizeof word <= bytes.size(); at += sizeof word, word += detail::step)
        std::memcpy(bytes.data() + at, &word, sizeof word);
    if (at < bytes.size()) std::memcpy(bytes.data() + at, &word, bytes.size() - at);
}

[[nodiscard]] inline bool has_pattern(ConstBytes bytes, std::uint64_t seed) noexcept {
    std::uint64_t word = detail::first_word(seed);
    std::size_t at = 0;
    for (; at + detail::block_bytes <= bytes.size(); at += detail::block_bytes) {
        std::uint64_t differing = 0;
        for (std::size_t i = 0; i < detail::block_words; ++i, word += detail::step) {
            std::uint64_t found = 0;
            std::memcpy(&found, bytes.data() + at + i * sizeof found, sizeof found);
            differing |= found ^ word;
        }
        if (differing != 0) return false;
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

}  // namespace cinnabar::tools::perf
