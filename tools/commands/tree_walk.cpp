// SPDX-License-Identifier: BSD-3-Clause
#include "commands/tree_walk.hpp"

#include "commands/address.hpp"
#include "commands/session.hpp"

#include <deque>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

// If a server lists more, the walk fails.
constexpr std::size_t tree_entries_max = 10'000'000;

// Reports the entries of one folder, and appends the folders in it to `folders`.
void tell_of(const Walk& walk, const std::string& below, std::vector<files::Entry> entries,
             std::deque<std::string>& folders) {
    for (auto& entry : entries) {
        if (!below.empty()) entry.name = below + "/" + entry.name;
        const bool folder = entry.kind == files::EntryKind::folder;
        if (!walk.filter.takes(walk.prefix + entry.name, folder)) {
            walk.left_out();
        } else if (walk.found(entry) && folder) {
            folders.push_back(entry.name);
        }
    }
}

}  // namespace

hl::Task<Result<void>> walk_tree(files::Client& session, const Walk& walk, files::Listing first) {
    std::deque<std::string> folders;
    std::size_t count = first.entries.size();
    tell_of(walk, {}, std::move(first.entries), folders);
    while (!folders.empty()) {
        const auto below = std::move(folders.front());
        folders.pop_front();
        const auto name = join_name(walk.name, below);
        Result<files::Listing> listed = co_await session.list(name, walk.extended);
        if (!listed && ends_all(listed.code())) co_return std::move(listed).error();
        if (!listed) {
            walk.failed(below, listed.error());
            continue;
        }
        count += listed->entries.size();
        if (count > tree_entries_max) co_return Error{Errc::protocol, "the server lists a tree without end"};
        tell_of(walk, below, std::move(listed->entries), folders);
    }
    co_return Result<void>();
}

}  // namespace cinnabar::tools
