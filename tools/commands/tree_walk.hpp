// SPDX-License-Identifier: BSD-3-Clause
// Lists a folder of a server and all below it, several folders at once, for fetch, copy and verify.
#pragma once

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace cinnabar::tools {

// What to walk, and the functions that receive the entries. Paths are relative to the folder.
struct Walk {
    std::string name;    // of the folder on the server
    std::string prefix;  // prepended to each path for the filter
    const files::Filter& filter;
    files::ExtendedKinds extended;
    // Called for each entry that passes the filter, for a folder before its contents. Returns false to skip a folder's
    // contents.
    std::function<bool(const files::Entry& entry)> found;
    // Called for a folder that could not be listed.
    std::function<void(const std::string& below, const Error& error)> failed;
    // Called for an entry that the filter rejects.
    std::function<void()> left_out;
    // The maximum number of entries in the whole tree; the walk fails if the server lists more.
    std::uint64_t entries_max = 10'000'000;
};
// Walks the tree. `first`: the listing of the folder itself. `walk` must live until the task ends. protocol: the server
// lists more than Walk::entries_max entries. Also errors that end the session.
[[nodiscard]] hl::Task<Result<void>> walk_tree(files::Client& session, const Walk& walk, files::Listing first);

// Returns whether a name may be a file, given the code with which listing the name has failed: a server lists folders
// only.
[[nodiscard]] constexpr bool may_be_file(Errc code) noexcept {
    return code == Errc::invalid_argument || code == Errc::not_found || code == Errc::permission;
}

}  // namespace cinnabar::tools
