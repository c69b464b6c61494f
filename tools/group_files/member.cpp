// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/member.hpp"

#include "commands/address.hpp"
#include "commands/reach.hpp"
#include "group_files/root_identity.hpp"

#include <cinnabar/hl/sync_wait.hpp>

#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools::group_files {
namespace {

using cinnabar::group::Group;
using cinnabar::group::GroupOptions;

Result<GroupOptions> member_options(const ServeOptions& options) {
    GroupOptions group;
    group.name = options.group_name;
    CINNABAR_TRY(group.labels[std::string(save_label)], identity_of_root(options.root));
    return group;
}

Result<Group> join(const ServeOptions& options, const hl::Node& node, const Interrupt& interrupt) {
    CINNABAR_TRY(GroupOptions group, member_options(options));
    if (!options.roster_file.empty()) {
        CINNABAR_TRY(auto roster, cinnabar::group::read_roster(options.roster_file));
        return Group::start(node, std::move(roster), std::move(group));
    }
    if (options.join.empty()) return Group::create(node, std::move(group));
    return sync_wait(Group::join(node, options.join, std::move(group)), interrupt.token());
}

}  // namespace

Result<void> check_group(const ServeOptions& options) {
    if (!options.group) return {};
    if (options.insecure && options.key_file.empty()) return {};
    for (const auto& uri : options.listen) {
        CINNABAR_TRY(const bool local, stays_on_host(uri));
        if (proves_peers(uri) || (local && admits_own_user_only(uri))) continue;
        return Error{Errc::invalid_argument,
                     "strangers could join the group there, since only the save service asks for the key: listen on "
                     "tcps://, ofis:// or shm://, or give --insecure and no key",
                     uri};
    }
    return {};
}

// Makes the policy for the group's RPCs. Anyone may see the view, because clients find the servers in it. Callers of
// the kind `dialled` may do what members may, because members also call over connections that this server has dialled;
// the transport has proven that the other side of such a connection is a server. But that server need not be a member:
// `cinnabar copy` makes this server dial an address that the client chooses. So a client that may save can help a peer
// that has a server's certificate to become a member.
Result<std::shared_ptr<const rpc::Policy>> group_policy(const ServeOptions& options) {
    if (options.members.empty()) return std::shared_ptr<const rpc::Policy>();
    const std::vector<std::string> anyone{"anyone"};
    auto members = options.members;
    members.emplace_back("dialled");
    const std::string all_of_group = "cinnabar.group.*";
    const std::vector<rpc::Policy::Rule> rules{
        {"members", true, members, {all_of_group}, {}},
        {"clients", true, anyone, {"cinnabar.group.view", "cinnabar.group.follow"}, {}},
        {"others", false, anyone, {all_of_group}, {}},
        {"files", true, anyone, {"*"}, {}},
    };
    return rpc::Policy::make(rules);
}

Result<std::optional<Group>> become_member(const ServeOptions& options, const hl::Node& node,
                                           const Interrupt& interrupt) {
    if (!options.group) return std::optional<Group>();
    CINNABAR_TRY(auto group, join(options, node, interrupt));
    return std::optional<Group>(std::move(group));
}

}  // namespace cinnabar::tools::group_files
