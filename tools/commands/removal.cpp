// SPDX-License-Identifier: BSD-3-Clause
#include "commands/removal.hpp"

#include "commands/listings.hpp"
#include "commands/session.hpp"
#include "terminal/json.hpp"

#include <cinnabar/files/batch.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace cinnabar::tools {
namespace {

// The maximum number of entries that are listed but not removed yet; with more, the removal ends.
constexpr std::size_t held_entries_max = 10'000'000;

Error endless_tree() { return {Errc::protocol, "the server lists a tree without end"}; }

void tell_removed(const Manager& manager, const std::string& name) {
    if (!manager.options().json) return;
    JsonObject object;
    manager.print({}, object.text("event", "removed").name("name", name));
}

}  // namespace

hl::Task<Result<void>> remove_one(Manager& manager, files::Client& session, const std::string& name) {
    Result<void> removed = co_await session.remove(name);
    if (removed) tell_removed(manager, name);
    co_return removed;
}

hl::Task<Result<void>> TreeRemoval::run() {
    unlisted_.push_back(std::make_shared<Found>(Found{top_, {}, 0}));
    while (!unlisted_.empty() && !end_) {
        auto listing = list_some();
        auto removing = remove_added(false);
        (void)co_await hl::when_all(std::move(listing), std::move(removing));
    }
    if (!end_) co_await remove_added(true);
    if (end_) co_return *end_;
    co_return co_await remove_one(manager_, session_, top_);
}

hl::Task<void> TreeRemoval::list_some() {
    std::vector<std::shared_ptr<Found>> folders;
    std::vector<std::string> names;
    while (!unlisted_.empty() && folders.size() < listed_at_once) {
        folders.push_back(std::move(unlisted_.back()));
        unlisted_.pop_back();
        names.push_back(folders.back()->name);
    }
    files::ListingBudget budget;
    budget.entries = held_entries_max - std::min(held_entries_max, added_.size() + unlisted_.size());
    auto listing = list_each(session_, std::move(names), {}, budget, top_);
    std::vector<Result<files::Listing>> listings = co_await std::move(listing);
    if (budget.exceeded) {
        end(endless_tree());
        co_return;
    }
    for (std::size_t i = 0; i < folders.size(); ++i) {
        Result<files::Listing> listed = std::move(listings[i]);
        if (listed) {
            take(folders[i], *listed);
        } else if (!folders[i]->in || ends_all(listed.code())) {
            end(listed.error());
        } else {
            manager_.fail(folders[i]->name, listed.error());
            close(*folders[i], true);
        }
    }
    if (added_.size() + unlisted_.size() > held_entries_max) end(endless_tree());
}

void TreeRemoval::take(const std::shared_ptr<Found>& folder, const files::Listing& listing) {
    std::vector<std::shared_ptr<Found>> inner;
    for (const auto& entry : listing.entries) {
        auto name = folder->name + "/" + entry.name;
        // The server might report endlessly nested folders.
        if (const auto possible = files::check_name(name); !possible) {
            manager_.fail(name, possible.error());
        } else if (entry.kind == files::EntryKind::folder) {
            inner.push_back(std::make_shared<Found>(Found{std::move(name), folder, 0}));
        } else {
            added_.push_back(std::move(name));
        }
    }
    folder->left = inner.size();
    if (inner.empty()) close(*folder, false);
    std::move(inner.rbegin(), inner.rend(), std::back_inserter(unlisted_));
}

void TreeRemoval::close(const Found& folder, bool failed) {
    if (!failed && folder.in) added_.push_back(folder.name);
    for (auto* outer = folder.in.get(); outer && --outer->left == 0; outer = outer->in.get()) {
        if (outer->in) added_.push_back(outer->name);
    }
}

hl::Task<void> TreeRemoval::remove_added(bool all) {
    while (!end_ && (added_.size() >= files::batch_entries_max || (all && !added_.empty()))) {
        const auto count = static_cast<std::ptrdiff_t>(std::min(added_.size(), files::batch_entries_max));
        std::vector<std::string> names(std::make_move_iterator(added_.begin()),
                                       std::make_move_iterator(added_.begin() + count));
        added_.erase(added_.begin(), added_.begin() + count);
        auto removing = remove_together(std::move(names));
        co_await std::move(removing);
    }
}

hl::Task<void> TreeRemoval::remove_together(std::vector<std::string> names) {
    const auto outcomes = co_await session_.remove_many(names, top_);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto& outcome = outcomes[i];
        if (outcome) {
            tell_removed(manager_, names[i]);
        } else if (ends_all(outcome.code())) {
            end(outcome.error());
        } else {
            manager_.fail(names[i], outcome.error());
        }
    }
}

}  // namespace cinnabar::tools
