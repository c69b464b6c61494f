// SPDX-License-Identifier: BSD-3-Clause
#include "commands/removal.hpp"

#include "commands/session.hpp"
#include "terminal/json.hpp"

#include <cinnabar/files/batch.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/name.hpp>

#include <cstddef>
#include <optional>
#include <utility>

namespace cinnabar::tools {
namespace {

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
    Result<void> done = co_await remove_below(top_);
    if (!done) co_return done;
    done = co_await flush();
    if (!done) co_return done;
    co_return co_await remove_one(manager_, session_, top_);
}

hl::Task<Result<void>> TreeRemoval::remove_below(const std::string& folder) {
    Result<files::Listing> listing = co_await session_.list(folder, {}, top_);
    if (!listing) co_return std::move(listing).error();
    for (const auto& entry : listing->entries) {
        Result<void> done = co_await remove_entry(folder, entry);
        if (!done) co_return done;
    }
    co_return Result<void>();
}

hl::Task<Result<void>> TreeRemoval::remove_entry(const std::string& folder, const files::Entry& entry) {
    const auto name = folder + "/" + entry.name;
    Result<void> done = files::check_name(name);  // the server might report endlessly nested folders
    if (done && entry.kind == files::EntryKind::folder) done = co_await remove_below(name);
    if (done) co_return co_await add(name);
    if (ends_all(done.code())) co_return done;
    manager_.fail(name, done.error());
    co_return Result<void>();
}

hl::Task<Result<void>> TreeRemoval::add(const std::string& name) {
    names_.push_back(name);
    if (names_.size() < files::batch_entries_max) co_return Result<void>();
    co_return co_await flush();
}

hl::Task<Result<void>> TreeRemoval::flush() {
    const auto names = std::exchange(names_, {});
    const auto outcomes = co_await session_.remove_many(names, top_);
    std::optional<Error> end;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto& outcome = outcomes[i];
        if (outcome) {
            tell_removed(manager_, names[i]);
        } else if (!ends_all(outcome.code())) {
            manager_.fail(names[i], outcome.error());
        } else if (!end) {
            end = outcome.error();
        }
    }
    if (end) co_return *end;
    co_return Result<void>();
}

}  // namespace cinnabar::tools
