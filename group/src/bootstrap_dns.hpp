// SPDX-License-Identifier: BSD-3-Clause
// Members that find each other by DNS: by the addresses of a host, or by the SRV records of a service.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/group/bootstrap.hpp>
#include <cinnabar/group/group.hpp>

#include <netinet/in.h>

#include <optional>
#include <string>
#include <vector>

namespace cinnabar::group {

using NameServer = std::optional<sockaddr_in>;  // empty: as the system is configured

// As addresses_of_service(). Blocks for as long as the name server does.
[[nodiscard]] CINNABAR_API Result<std::vector<std::string>> look_up_service(const std::string& uri,
                                                                            const NameServer& server);

// Join a group by the addresses of a host, or of a service. Both functions try for GroupOptions::join_time in all, and
// resolve the name again for each attempt, because members that started later may have been added to it. Errors of
// Group::join, then those of the name.
[[nodiscard]] hl::Task<Result<Group>> join_by_host(hl::NodeRef node, std::string uri, GroupOptions options);
[[nodiscard]] CINNABAR_API hl::Task<Result<Group>> join_by_service(hl::NodeRef node, std::string uri,
                                                                   GroupOptions options, NameServer server = {});

}  // namespace cinnabar::group
