// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/servers.hpp"

#include "commands/address.hpp"
#include "commands/reach.hpp"
#include "commands/session.hpp"
#include "group_files/member.hpp"
#include "group_files/root_identity.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace cinnabar::tools::group_files {
namespace {

using cinnabar::group::Group;
using cinnabar::group::GroupOptions;
using cinnabar::group::View;

// How long Group::follow() tries to reach a member. The first attempt is short, because follow() retries until its time
// is over, even if nobody listens. After a timeout, a second attempt has more time, because the member may be slow.
constexpr Microseconds first_time{300'000};
constexpr Microseconds answer_max{5'000'000};

struct Answer {
    View view;
    bool proven;  // by a transport that keeps strangers out
};

Result<Answer> answer_of(const std::string& member, const std::string& name, const SessionOptions& options,
                         const Interrupt& interrupt) {
    CINNABAR_TRY(const auto reached, reach_by(member, options));
    GroupOptions follower;
    follower.name = name;
    follower.join_time = first_time;
    auto group = sync_wait(Group::follow(reached.node, {member}, follower), interrupt.token());
    follower.join_time = answer_max;
    if (group.code() == Errc::timed_out)
        group = sync_wait(Group::follow(reached.node, {member}, std::move(follower)), interrupt.token());
    if (group) return Answer{group->view(), keeps_strangers_out(reached)};
    Error error = std::move(group).error();
    if (error.code == Errc::no_such_rpc) error.hint = "its server is in no group: start it with --group";
    if (error.code == Errc::not_found) error.hint = "wrong group: see --group-name";
    error.subject = printable(member);
    return error;
}

// Leaves out self://, which other processes cannot reach.
std::string address_of(const cinnabar::group::Member& member) {
    std::string address;
    const auto listens_at = member.address();
    for (const auto& endpoint : listens_at.body().endpoints) {
        if (!endpoint.starts_with("self://")) address += (address.empty() ? "" : ",") + endpoint;
    }
    return address;
}

}  // namespace

Result<std::vector<Server>> servers_in(const View& view) {
    std::vector<Server> servers;
    for (const auto rank : view.present()) {
        const auto& member = *view.find(rank);
        const auto labels = member.labels();
        const auto label = labels.find(std::string(save_label));
        if (label == labels.end() || !is_identity(label->second)) continue;
        auto address = address_of(member);
        std::erase_if(servers,
                      [&](const Server& other) { return other.identity == label->second || other.address == address; });
        if (servers.size() == servers_max)
            return Error{Errc::too_large, "the group has more than 1024 servers that save files"};
        servers.push_back({label->second, std::move(address)});
    }
    return servers;
}

Result<std::vector<Server>> find_servers(const GroupAddress& group, const SessionOptions& options,
                                         const Interrupt& interrupt) {
    std::optional<Error> failed;
    for (const auto& uri : group.members) {
        CINNABAR_TRY(const auto remote, parse_remote_path(uri));
        auto answer = answer_of(remote.server, group.name, options, interrupt);
        if (answer) {
            CINNABAR_TRY(auto servers, servers_in(answer->view));
            for (auto& server : servers) server.must_prove = answer->proven;
            if (!servers.empty()) return servers;
            return Error{Errc::unsupported, "no member of that group saves files", printable(remote.server)};
        }
        if (!failed) failed = std::move(answer).error();
        if (interrupt.happened()) break;
    }
    return *std::move(failed);
}

std::vector<std::string> identities_of(const std::vector<Server>& servers) {
    std::vector<std::string> identities;
    for (const auto& server : servers) identities.push_back(server.identity);
    return identities;
}

Result<std::string> folder_of(const GroupAddress& group) {
    std::optional<std::string> folder;
    for (const auto& uri : group.members) {
        CINNABAR_TRY(auto remote, parse_remote_path(uri));
        if (folder && *folder != remote.path)
            return Error{Errc::bad_address, "give all members the same folder", printable(uri)};
        folder = std::move(remote.path);
    }
    return folder.value_or("");
}

}  // namespace cinnabar::tools::group_files
