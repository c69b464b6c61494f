// SPDX-License-Identifier: BSD-3-Clause
#include "spread/folders_there.hpp"

#include "commands/entries.hpp"
#include "commands/session.hpp"

#include <cinnabar/hl/when_all.hpp>

#include <utility>

namespace cinnabar::tools::spread {

hl::Task<Result<void>> FoldersThere::make(std::size_t server, files::Client& client, std::string name) {
    for (std::size_t end = name.find('/');; end = name.find('/', end + 1)) {
        const auto folder = name.substr(0, end);
        const auto& here = at_[server];
        const auto known = here.find(folder);
        if (folders_.contains(folder) && (known == here.end() || !known->second)) {
            Result<void> made = co_await client.make_folder(folder);
            if (!made) co_return made;
            at_[server][folder] = true;
        }
        if (end == name.npos) break;
    }
    co_return Result<void>();
}

void FoldersThere::are_there(std::size_t server, const std::string& name) {
    for (std::size_t end = name.find('/'); end != name.npos; end = name.find('/', end + 1)) {
        auto folder = name.substr(0, end);
        if (folders_.contains(folder)) at_[server].try_emplace(std::move(folder), false);
    }
}

// In reverse order, because the entries of a folder sort after the folder itself.
hl::Task<void> FoldersThere::finish_at(std::size_t server, files::Client& client, Report& report) {
    const auto& folders = at_[server];
    for (auto at = folders.rbegin(); at != folders.rend(); ++at) {
        const auto& [folder, made] = *at;
        const auto& attributes = folders_.at(folder);
        if (!made) {
            Result<files::Seen> seen = co_await client.look(folder);
            if (seen && same_time_and_mode(seen->entry.attributes, attributes)) continue;
        }
        Result<void> finished = co_await client.finish_folder(folder, attributes);
        if (finished) continue;
        Report::File failed;
        failed.name = folder;
        failed.kind = Report::Kind::hidden;
        report.failed(failed, finished.error());
        if (ends_all(finished.code())) co_return;
    }
}

hl::Task<void> FoldersThere::finish(Sessions& sessions, Report& report) {
    std::vector<hl::Task<void>> finishing;
    for (const auto& [server, folders] : at_) {
        if (auto* const client = sessions.client(server)) finishing.push_back(finish_at(server, *client, report));
    }
    if (!finishing.empty()) (void)co_await hl::when_all(std::move(finishing));
}

}  // namespace cinnabar::tools::spread
