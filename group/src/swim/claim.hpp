// SPDX-License-Identifier: BSD-3-Clause
// Claims: statements that members exchange about a member. Claims about one rank are ordered, and the later one wins,
// so the order and number of deliveries do not matter.
#pragma once

#include <cinnabar/base/error.hpp>
#include <cinnabar/group/member.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/rpc/proc.hpp>
#include <cinnabar/rpc/proc_addr.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::group {

// Where a member listens, and its labels; fixed for one incarnation.
struct Profile {
    na::Addr address;
    Labels labels;
    bool side_loop = false;  // it is probed through its side loop (hl/side_loop.hpp)

    [[nodiscard]] bool well_formed() const noexcept {
        std::size_t bytes = 0;
        for (const auto& [name, value] : labels) bytes += name.size() + value.size();
        return address.listens() && labels.size() <= labels_max && bytes <= labels_bytes_max;
    }
};

// The highest incarnation; claims about higher ones are ignored as lies.
inline constexpr std::uint32_t incarnation_max = 1u << 31;

[[nodiscard]] constexpr bool is_life(std::uint32_t incarnation) noexcept {
    return incarnation != 0 && incarnation <= incarnation_max;
}

// If ranks are given again (SwimOptions::reuse_ranks_after), each process that holds a rank in turn has this many
// incarnations of it. A process that has used up its incarnations gives up the rank.
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
    Rank by = no_rank;                       // the member that suspects it; itself: it is said to have left
    std::shared_ptr<const Profile> profile;  // may be null, except in the first claim about an incarnation

    template <class P>
    void proc(P& p) {
        p(rank, incarnation, refutation, state, process, by);
        bool described = profile != nullptr;
        p(described);
        if constexpr (P::decoding) {
            if (p.ok() && state > State::excluded) p.fail(Errc::protocol);
            if (!described || !p.ok()) return;
            auto read = std::make_shared<Profile>();
            p(read->address, read->labels, read->side_loop);
            if (p.ok() && !read->well_formed()) p.fail(Errc::protocol);
            profile = std::move(read);
        } else if (described) {
            p(profile->address, profile->labels, profile->side_loop);
        }
    }
};

}  // namespace cinnabar::group
