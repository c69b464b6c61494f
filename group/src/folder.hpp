// SPDX-License-Identifier: BSD-3-Clause
// The files by which members find each other in a folder. All of it blocks.
//
//   member-RANK   written by that member: "cinnabar member", run, incarnation, address, a line each
//   roster        written by rank 0 when all have come: "cinnabar roster", run, then the addresses by rank
//
// A file is written whole, and then takes its name, so nobody reads half of it. What has another run is of another life
// of the group. The incarnation counts the starts of a member within a run.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/member.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::group {

struct Announced {
    std::uint64_t incarnation = 0;
    std::string address;
};

// Writes the file of a member, with the incarnation after that of its last one. io.
[[nodiscard]] Result<void> announce(const std::string& folder, const std::string& run, Rank rank,
                                    const std::string& address);
// None: it has not come yet, or the file is of another run. protocol: it makes no sense. io.
[[nodiscard]] Result<std::optional<Announced>> announced(const std::string& folder, const std::string& run, Rank rank);

[[nodiscard]] Result<void> write_roster(const std::string& folder, const std::string& run,
                                        const std::vector<std::string>& addresses);
// Empty: there is none of this run yet. protocol: it has not `size` addresses. io.
[[nodiscard]] Result<std::vector<std::string>> find_roster(const std::string& folder, const std::string& run,
                                                           Rank size);

// Reads the files of those in `addresses` that are empty. Once none is, all are read again, since a member may have
// been started anew meanwhile. True: all have come.
[[nodiscard]] Result<bool> collect(const std::string& folder, const std::string& run,
                                   std::vector<std::string>& addresses);

}  // namespace cinnabar::group
