// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/group_tree.hpp"

#include "commands/address.hpp"
#include "commands/session.hpp"
#include "commands/tree_walk.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

hl::Task<Result<void>> walk_one(files::Client& session, std::size_t server, const FetchOptions& options, Report& report,
                                GroupTree& tree) {
    Result<files::Listing> listing = co_await session.list(tree.where.name, options.extended);
    if (!listing && ends_all(listing.code())) co_return std::move(listing).error();
    if (!listing && (listing.code() == Errc::not_found || listing.code() == Errc::invalid_argument))
        co_return Result<void>();  // it has no such folder
    if (!listing) {
        report.failed({tree.where.name, tree.where.path}, listing.error());
        co_return Result<void>();
    }
    if (tree.servers++ == 0 || is_newer(listing->attributes, tree.attributes)) tree.attributes = listing->attributes;
    std::uint64_t filtered = 0;
    const Walk walk{tree.where.name, tree.where.prefix, options.filter, options.extended,
                    // Stops where names become too long, as a server may report folders without end.
                    [&](const files::Entry& entry) {
                        tree.entries.add(entry, server);
                        return files::check_name(join_name(tree.where.name, entry.name)).ok();
                    },
                    [&](const std::string& below, const Error& error) {
                        Report::File folder;
                        folder.name = join_name(tree.where.name, below);
                        folder.kind = Report::Kind::folder;
                        report.failed(folder, error);
                    },
                    [&] { ++filtered; }};
    auto walking = walk_tree(session, walk, *std::move(listing));
    Result<void> walked = co_await std::move(walking);
    tree.filtered = std::max(tree.filtered, filtered);
    co_return walked;
}

}  // namespace

Asked walk_at_every_server(std::vector<GroupTree>& trees, const std::vector<Server>& servers,
                           const FetchOptions& options, const Interrupt& interrupt, Report& report) {
    std::size_t number = 0;
    const ServerWork work = [&](const Server&, files::Client& session) -> hl::Task<Result<void>> {
        const std::size_t server = ++number;
        for (auto& tree : trees) {
            auto walking = walk_one(session, server, options, report, tree);
            Result<void> walked = co_await std::move(walking);
            if (!walked) co_return walked;
        }
        co_return Result<void>();
    };
    return at_every_server(servers, options, interrupt, report, work);
}

}  // namespace cinnabar::tools::group_files
