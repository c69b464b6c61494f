// SPDX-License-Identifier: BSD-3-Clause
// Walks a folder of a server to its end.
#pragma once

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/hl/task.hpp>

#include <functional>
#include <string>

namespace cinnabar::tools {

// What is walked, and what the walk tells. Paths are relative to the folder.
struct Walk {
    std::string name;    // of the folder on the server
    std::string prefix;  // what the filter sees before each path
    const files::Filter& filter;
    files::ExtendedKinds extended;
    // Of each entry that the filter takes, folders before what is in them. False: a folder is not looked into.
    std::function<bool(const files::Entry& entry)> found;
    // A folder that could not be listed.
    std::function<void(const std::string& below, const Error& error)> failed;
    // An entry that the filter does not take.
    std::function<void()> left_out;
};
// `first` is the listing of the folder itself. Errors that end the session; protocol: the tree has no end. `walk` must
// live until the task ends.
[[nodiscard]] hl::Task<Result<void>> walk_tree(files::Client& session, const Walk& walk, files::Listing first);

// What a server lists is a folder. What it says is none, or does not list, may be a file.
[[nodiscard]] constexpr bool may_be_file(Errc code) noexcept {
    return code == Errc::invalid_argument || code == Errc::not_found || code == Errc::permission;
}

}  // namespace cinnabar::tools
