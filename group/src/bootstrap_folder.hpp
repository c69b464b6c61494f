// SPDX-License-Identifier: BSD-3-Clause
// The files by which members find each other in a folder. All functions block.
//
//     member-RANK   written by that member: "cinnabar member", run, incarnation, Announcement::line(), one per line
//     roster        written by rank 0 when all have written their files: "cinnabar roster", run, their lines by rank
//
// A file is written under a temporary name and then renamed, so readers never see half of it. Files of another run are
// ignored. The incarnation counts the starts of a member within a run.
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
    std::string line;
};

// Writes the file of a member, with the incarnation after the one in its last file. io.
[[nodiscard]] Result<void> announce(const std::string& folder, const std::string& run, Rank rank,
                                    const std::string& line);
// Empty: the member has not written its file yet, or the file is of another run. protocol: it is malformed. io.
[[nodiscard]] Result<std::optional<Announced>> announced(const std::string& folder, const std::string& run, Rank rank);

[[nodiscard]] Result<void> write_roster(const std::string& folder, const std::string& run,
                                        const std::vector<std::string>& lines);
// Empty: there is no roster of this run yet. protocol: it does not have a line for each of `size` members. io.
[[nodiscard]] Result<std::vector<std::string>> find_roster(const std::string& folder, const std::string& run,
                                                           Rank size);

// Reads the files of the members whose entry in `lines` is empty. Once no entry is empty, reads all files again,
// because a member may have been restarted in between. Returns true if all members have written their files.
[[nodiscard]] Result<bool> collect(const std::string& folder, const std::string& run, std::vector<std::string>& lines);

}  // namespace cinnabar::group
