// SPDX-License-Identifier: BSD-3-Clause
#include "commands/tree_walk.hpp"

#include "commands/address.hpp"
#include "commands/listings.hpp"
#include "commands/session.hpp"

#include <cinnabar/files/entry.hpp>

#include <deque>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

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

// Takes the next folders to be listed.
std::vector<std::string> take_some(std::deque<std::string>& folders) {
    std::vector<std::string> some;
    while (!folders.empty() && some.size() < listed_at_once) {
        some.push_back(std::move(folders.front()));
        folders.pop_front();
    }
    return some;
}

}  // namespace

hl::Task<Result<void>> walk_tree(files::Client& session, const Walk& walk, files::Listing first) {
    const Error endless{Errc::protocol, "the server lists a tree without end"};
    std::deque<std::string> folders;
    files::ListingBudget budget;
    budget.entries = walk.entries_max;
    if (!budget.take(first.entries.size(), 0)) co_return endless;
    tell_of(walk, {}, std::move(first.entries), folders);
    while (!folders.empty()) {
        const auto some = take_some(folders);
        budget.bytes = files::ListingBudget().bytes;  // of these listings; entries are counted for the whole walk
        std::vector<std::string> names;
        for (const auto& below : some) names.push_back(join_name(walk.name, below));
        auto listing = list_each(session, std::move(names), walk.extended, budget);
        std::vector<Result<files::Listing>> listings = co_await std::move(listing);
        if (budget.exceeded) co_return endless;
        for (std::size_t i = 0; i < some.size(); ++i) {
            auto& listed = listings[i];
            if (!listed && ends_all(listed.code())) co_return std::move(listed).error();
            if (!listed) {
                walk.failed(some[i], listed.error());
                continue;
            }
            tell_of(walk, some[i], std::move(listed->entries), folders);
        }
    }
    co_return Result<void>();
}

}  // namespace cinnabar::tools
