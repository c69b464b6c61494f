// SPDX-License-Identifier: BSD-3-Clause
// A member of a group, as a view shows it. Plain values.
#pragma once

#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cinnabar::group {

// A member's number in its group. Each number is given out once; only the member that had it may return under it, with
// another incarnation. With SwimOptions::reuse_ranks_after, the number of a member that has long been gone is given to
// another process: Member::process tells the two apart, as does the incarnation.
using Rank = std::uint32_t;
inline constexpr Rank no_rank = ~Rank{0};

enum class State : std::uint8_t {
    alive,
    suspect,   // does not answer, but is still called like a living member until it is excluded
    left,      // by leave()
    excluded,  // the others consider it dead; it rejoins by itself if it is not
};

[[nodiscard]] constexpr bool is_present(State state) noexcept {
    return state == State::alive || state == State::suspect;
}
[[nodiscard]] constexpr std::string_view to_string(State state) noexcept {
    constexpr std::string_view names[] = {"alive", "suspect", "left", "excluded"};
    return names[static_cast<unsigned>(state) & 3];
}

// Key-value pairs that a member publishes when it joins: at most labels_max pairs, and labels_bytes_max in total.
using Labels = std::map<std::string, std::string>;
inline constexpr std::size_t labels_max = 16;
inline constexpr std::size_t labels_bytes_max = 1024;

struct Member {
    Rank rank = no_rank;
    std::uint32_t incarnation = 0;  // the life of this rank: from 1, and larger with each later one
    State state = State::alive;
    std::uint64_t process = 0;  // random; distinguishes a restarted process from one that was excluded and came back
    na::Addr address;           // all endpoints
    Labels labels;
};

}  // namespace cinnabar::group
