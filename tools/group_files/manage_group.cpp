// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/manage_group.hpp"

#include "commands/address.hpp"
#include "group_files/every_server.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

// The names on each server. bad_address: a name is empty, or see folder_of().
Result<std::vector<std::string>> names_of(const ManageOptions& options) {
    CINNABAR_TRY(const auto folder, folder_of(options.group));
    std::vector<std::string> names;
    for (const auto& name : options.names) {
        const auto own = join_name(name, {});  // without a trailing '/'
        if (own.empty()) return Error{Errc::bad_address, "with --group, NAME is a name on each server"};
        names.push_back(join_name(folder, own));
    }
    return names;
}

void tell_missing(const std::deque<Manager>& servers, const std::vector<std::string>& names, bool all_answered,
                  Manager& group) {
    if (std::ranges::all_of(servers, &Manager::was_lost)) return;
    const auto why = all_answered ? "no server of the group has it" : "no server that answered has it";
    for (const auto& name : names) {
        const auto lacks = [&](const Manager& server) { return server.was_lost() || server.missing().contains(name); };
        if (std::ranges::all_of(servers, lacks)) group.fail(name, Error{Errc::not_found, why});
    }
}

void tell_differing(const std::deque<Manager>& servers, Manager& group) {
    struct First {
        std::uint64_t checksum;
        const Manager* server;
    };
    std::map<std::string_view, First> first_by_name;
    std::set<std::string_view> told;
    for (const auto& server : servers) {
        for (const auto& [name, checksum] : server.checksums()) {
            const auto& first = first_by_name.try_emplace(name, First{checksum, &server}).first->second;
            if (first.checksum == checksum || !told.insert(name).second) continue;
            group.fail(name, Error{Errc::bad_checksum, "its copies differ: remove it with --group and save it again",
                                   first.server->server() + " has " + checksum_text(first.checksum) + ", " +
                                       server.server() + " has " + checksum_text(checksum)});
        }
    }
}

}  // namespace

ExitCode manage_group(const ManageOptions& options, ManageWork work) {
    const Interrupt interrupt;
    const auto names = names_of(options);
    if (!names) {
        complain(names.error().message());
        return ExitCode::usage;
    }
    Manager group(options);
    const auto& member = options.group.members.front();
    const auto servers = find_servers(options.group, options, interrupt);
    if (!servers) {
        group.fail(member, servers.error());
        return group.exit();
    }
    std::deque<Manager> managers;  // one for each server that could be reached
    const ServerWork at_server = [&](const Server& server, files::Client& session) {
        return work(managers.emplace_back(options, server.address), session, *names);
    };
    ProgressBar none;
    Report report(options.json ? Report::Style::json : Report::Style::people, {}, none);
    const auto asked = at_every_server(*servers, options, interrupt, report, at_server);
    if (asked.ended)
        group.fail(member, *asked.ended);
    else
        tell_missing(managers, *names, !asked.lost, group);
    tell_differing(managers, group);
    if (asked.ended) return exit_code(asked.ended->code);
    if (asked.lost) return exit_code(asked.lost->code);
    for (const auto& manager : managers) {
        if (manager.exit() != ExitCode::ok) return manager.exit();
    }
    return group.exit();
}

}  // namespace cinnabar::tools::group_files
