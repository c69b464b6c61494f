// SPDX-License-Identifier: BSD-3-Clause
// How processes that are started together find each other: by a folder that all of them can write, by a host name with
// many addresses, by the SRV records of a service, by a roster, or by seeds. Also reads the settings that `cinnabar
// launch` passes to them. For processes that a PMIx launcher started, or that have an MPI communicator, see pmix.hpp
// and mpi.hpp.
//
//     Group group = (co_await bootstrap(node, Source::from_environment().value())).value();
//
// The library reads files and resolves names on a separate thread, never on a loop. If a file system or a name server
// hangs, that thread hangs with it, but the call still ends in time. Anyone who can write to the folder, or controls
// the DNS name or the name of the service, chooses the members.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/group/group_options.hpp>
#include <cinnabar/hl/node_ref.hpp>
#include <cinnabar/hl/task.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::group {

struct Source {
    // One of:
    //   folder:PATH       a folder that all members can write; needs `rank` and `size`
    //   dns:URI           all addresses of the host in URI ("dns:tcp://members.example:4000") are seeds
    //   srv:URI           the host in URI names a service, and there is no port ("srv:tcp://_group._tcp.example"): its
    //                     SRV records are seeds, tried by priority and weight
    //   roster:PATH       as read_roster(); the rank is `rank`, or the number of the line with the node's address
    //   URI [URI...]      seeds, with spaces between them
    std::string text;
    Rank rank = no_rank;  // dns, srv and seeds: the process of rank 0 creates the group, the others join it
    Rank size = 0;        // folder only
    // folder: names one run of the group. Files that another run left in the folder are ignored.
    std::string run;

    // Reads the variables that `cinnabar launch` sets: CINNABAR_GROUP_SOURCE, _RANK, _SIZE, _RUN. not_found: they are
    // not set; invalid_argument: one of them is malformed.
    [[nodiscard]] CINNABAR_API static Result<Source> from_environment();
};

// Makes this process a member. Returns when its part of the group has started, after GroupOptions::join_time at most;
// wait_for_members() waits for the others. invalid_argument: the source is malformed; timed_out: some members did not
// write their files to the folder; io; otherwise the errors of Group::create, join and start.
[[nodiscard]] CINNABAR_API hl::Task<Result<Group>> bootstrap(hl::NodeRef node, Source source,
                                                             GroupOptions options = {});

// Resolves the host in `uri`. Returns at most 256 addresses, each with the scheme and port of `uri`. bad_address: the
// URI cannot be parsed, or the host has no address. timed_out, canceled: the task timed out or was canceled.
[[nodiscard]] CINNABAR_API hl::Task<Result<std::vector<std::string>>> addresses_of_name(hl::NodeRef node,
                                                                                        std::string uri);

// Reads the SRV records (RFC 2782) of the service that the host in `uri` names. Returns at most 256 addresses, each
// with the scheme and options of `uri` and the host and port of a record, ordered by priority, and within a priority at
// random by weight. The hosts are not resolved. bad_address: `uri` cannot be parsed or has a port, or the service has
// no record. unreachable: no name server answers. protocol: the answer is malformed. io: the name server fails.
// timed_out, canceled: the task timed out or was canceled.
[[nodiscard]] CINNABAR_API hl::Task<Result<std::vector<std::string>>> addresses_of_service(hl::NodeRef node,
                                                                                           std::string uri);

}  // namespace cinnabar::group
