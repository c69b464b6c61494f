// SPDX-License-Identifier: BSD-3-Clause
// A member of a group, as a view shows it. Plain values.
#pragma once

#include <cinnabar/group/profile.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <string_view>

namespace cinnabar::group {

// A member's number in its group. Each number is assigned once; only the member that had the number may return under
// it, with another incarnation. With SwimOptions::reuse_ranks_after, the number of a member that has long been gone is
// given to another process: Member::process tells the two processes apart, as does the incarnation.
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

struct Member {
    Rank rank = no_rank;
    std::uint32_t incarnation = 0;  // the life of this rank: from 1, and larger with each later one
    State state = State::alive;
    std::uint64_t process = 0;  // random; distinguishes a restarted process from one that was excluded and came back
    Profile profile;            // empty for a member of which only the end is known

    [[nodiscard]] na::Addr address() const { return profile.address(); }
    [[nodiscard]] Labels labels() const { return profile.labels(); }
};

}  // namespace cinnabar::group
