// SPDX-License-Identifier: BSD-3-Clause
// Options of a group, for members and for those that follow it. A plain value.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/member.hpp>
#include <cinnabar/group/swim_options.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <string>
#include <vector>

namespace cinnabar::group {

struct GroupOptions {
    std::string name = "group";    // members of groups of other names are not accepted
    rpc::ProviderId provider = 0;  // which of several groups of one node; equal at all members
    Labels labels = {};            // of this member
    SwimOptions swim = {};
    Microseconds join_time{30'000'000};  // how long join() and follow() try
    // Collective calls that are under way here, or whose answers are kept for those that ask again: more calls under
    // way are answered `overloaded`, and old answers make room for new ones. One peer may have half of them.
    std::uint32_t calls_max = 4096;
    std::uint32_t followers_max = 256;  // processes that follow the view from here
    std::uint64_t seed = 0;             // of all that is left to chance; 0: a random one
};

// The members of a group that is known beforehand: where each rank listens.
struct Roster {
    std::vector<std::string> addresses;  // by rank
    Rank self = no_rank;                 // no_rank: the one at which the node listens
};
// One address on each line, the first of rank 0; empty lines and those that begin with # do not count. io: the file
// cannot be read; invalid_argument: it has no address, or more than 65,536.
[[nodiscard]] CINNABAR_API Result<Roster> read_roster(const std::string& path);

}  // namespace cinnabar::group
