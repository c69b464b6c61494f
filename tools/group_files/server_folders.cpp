// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/server_folders.hpp"

#include "commands/listings.hpp"
#include "commands/session.hpp"

#include <cinnabar/files/batch.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <optional>
#include <set>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

// The name and the folders above it, from the outermost in.
std::vector<std::string> path_to(const std::string& name) {
    std::vector<std::string> path;
    for (std::size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1))
        path.push_back(name.substr(0, end));
    path.push_back(name);
    return path;
}

using Failures = std::map<std::string, Error>;

// If `name` or a folder above it has failed, the failure of the outermost of them; otherwise null.
const Error* failure_on(const Failures& failed, const std::string& name) {
    if (failed.empty()) return nullptr;
    for (const auto& folder : path_to(name)) {
        const auto failure = failed.find(folder);
        if (failure != failed.end()) return &failure->second;
    }
    return nullptr;
}

}  // namespace

bool ServerFolders::is_missing(std::size_t server, const std::string& folder) const {
    if (!folders_.contains(folder)) return false;
    const auto here = at_.find(server);
    if (here == at_.end()) return true;
    const auto known = here->second.find(folder);
    return known == here->second.end() || !known->second;
}

hl::Task<Result<void>> ServerFolders::make(std::size_t server, files::Client& client, std::string name) {
    const auto path = path_to(name);
    for (const auto& folder : path) {
        if (!is_missing(server, folder)) continue;
        Result<void> made = co_await client.make_folder(folder);
        if (!made) co_return made;
        at_[server][folder] = true;
    }
    co_return Result<void>();
}

// Makes the folders depth by depth, so that nothing is made below a folder that has failed: a link may have that
// folder's name, and what is below would be made where the link leads.
hl::Task<std::vector<Result<void>>> ServerFolders::make_all(std::size_t server, files::Client& client,
                                                            const std::vector<std::string>& names) {
    std::map<std::size_t, std::set<std::string>> missing;  // by depth
    for (const auto& name : names) {
        const auto path = path_to(name);
        for (std::size_t depth = 0; depth < path.size(); ++depth) {
            if (is_missing(server, path[depth])) missing[depth].insert(path[depth]);
        }
    }
    Failures failed;
    for (const auto& [depth, folders] : missing) {
        std::vector<files::NewEntry> entries;
        for (const auto& folder : folders) {
            if (!failure_on(failed, folder)) entries.push_back({files::MakeKind::folder, folder, {}, {}, false});
        }
        auto making = client.make_many(entries);
        const std::vector<Result<void>> made = co_await std::move(making);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            if (made[i]) at_[server][entries[i].name] = true;
            if (!made[i]) failed.emplace(entries[i].name, made[i].error());
        }
    }
    std::vector<Result<void>> results;
    for (const auto& name : names) {
        const Error* const failure = failure_on(failed, name);
        results.push_back(failure ? Result<void>(*failure) : Result<void>());
    }
    co_return results;
}

void ServerFolders::are_there(std::size_t server, const std::string& name) {
    for (std::size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
        auto folder = name.substr(0, end);
        if (folders_.contains(folder)) at_[server].try_emplace(std::move(folder), false);
    }
}

// In reverse order, because the entries of a folder sort after the folder itself.
hl::Task<void> ServerFolders::finish_at(std::size_t server, files::Client& client, Report& report) {
    std::vector<std::string> found;  // not made by this command
    for (const auto& [folder, made] : at_[server]) {
        if (!made) found.push_back(folder);
    }
    auto looking = look_each(client, found);
    const std::vector<Result<files::Seen>> seen = co_await std::move(looking);
    std::set<std::string> right;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const auto& wanted = folders_.at(found[i]);
        if (seen[i] && client.precision().same_mode_and_time(seen[i]->entry.attributes, wanted)) right.insert(found[i]);
    }
    std::vector<files::NewEntry> unfinished;
    const auto& folders = at_[server];
    for (auto at = folders.rbegin(); at != folders.rend(); ++at) {
        const auto& folder = at->first;
        if (!right.contains(folder))
            unfinished.push_back({files::MakeKind::finish_folder, folder, {}, folders_.at(folder), false});
    }
    auto finishing = client.make_many(unfinished);
    const std::vector<Result<void>> finished = co_await std::move(finishing);
    for (std::size_t i = 0; i < unfinished.size(); ++i) {
        if (finished[i]) continue;
        Report::File failed;
        failed.name = unfinished[i].name;
        failed.kind = Report::Kind::hidden;
        report.failed(failed, finished[i].error());
        if (ends_all(finished[i].code())) co_return;
    }
}

hl::Task<void> ServerFolders::finish(Sessions& sessions, Report& report) {
    std::vector<hl::Task<void>> finishing;
    for (const auto& [server, folders] : at_) {
        if (auto* const client = sessions.client(server)) finishing.push_back(finish_at(server, *client, report));
    }
    if (!finishing.empty()) (void)co_await hl::when_all(std::move(finishing));
}

}  // namespace cinnabar::tools::group_files
