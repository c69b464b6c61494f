// SPDX-License-Identifier: BSD-3-Clause
// Claims: statements that members exchange about a member. Claims about one rank are ordered, and the later one wins,
// so the order and number of deliveries do not matter.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/group/member.hpp>
#include <cinnabar/group/profile.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/proc.hpp>
#include <cinnabar/rpc/proc_addr.hpp>

#include <cstdint>

namespace cinnabar::group {

// The highest incarnation; claims about higher ones are ignored as lies.
inline constexpr std::uint32_t incarnation_max = 1u << 31;

[[nodiscard]] constexpr bool is_life(std::uint32_t incarnation) noexcept {
    return incarnation != 0 && incarnation <= incarnation_max;
}

// How many incarnations of a rank each of its holders has, if ranks are given again (SwimOptions::reuse_ranks_after). A
// process that has used up its incarnations gives up the rank.
inline constexpr std::uint32_t lives_per_holder = 64;

// The number of the process that holds a rank in that incarnation; 0: the first.
[[nodiscard]] constexpr std::uint32_t holder_of(std::uint32_t incarnation) noexcept {
    return incarnation == 0 ? 0 : (incarnation - 1) / lives_per_holder;
}
[[nodiscard]] constexpr std::uint32_t first_life_of(std::uint32_t holder) noexcept {
    return holder * lives_per_holder + 1;
}

struct Claim {
    static constexpr bool proc_borrows = false;

    Rank rank = no_rank;
    std::uint32_t incarnation = 0;
    std::uint32_t refutation = 0;  // how often the member has refuted a suspicion in this incarnation
    State state = State::alive;
    std::uint64_t process = 0;
    Rank by = no_rank;  // the member that suspects it; itself: it is said to have left
    Profile profile;    // may be empty, except in the first claim about an incarnation

    template <class P>
    void proc(P& p) {
        p(rank, incarnation, refutation, state, process, by);
        bool described = static_cast<bool>(profile);
        p(described);
        if constexpr (P::decoding) {
            if (p.ok() && state > State::excluded) p.fail(Errc::protocol);
            if (!described || !p.ok()) return;
            na::Addr address;
            Labels labels;
            bool side_loop = false;
            p(address, labels, side_loop);
            if (!p.ok()) return;
            if (!Profile::can_have(address, labels)) return p.fail(Errc::protocol);
            profile = Profile(address, labels, side_loop);
        } else if (described) {
            p.raw(profile.encoded().data(), profile.encoded().size());
        }
    }
};

}  // namespace cinnabar::group
