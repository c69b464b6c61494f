// SPDX-License-Identifier: BSD-3-Clause
// Options of a group, for members and for clients that follow it. A plain value.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/group/hybrid_clock.hpp>
#include <cinnabar/group/member.hpp>
#include <cinnabar/group/swim_options.hpp>
#include <cinnabar/group/variable_options.hpp>
#include <cinnabar/hl/retry_policy.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <string>
#include <vector>

namespace cinnabar::group {

struct GroupOptions {
    std::string name = "group";    // members of a group with another name are rejected
    rpc::ProviderId provider = 0;  // distinguishes several groups of one node; the same at all members
    Labels labels = {};            // of this member
    SwimOptions swim = {};
    Microseconds join_time{30'000'000};  // how long join() and follow() try
    // The maximum number of collective calls in progress in this process plus answers kept for repeated requests. Old
    // answers are dropped to make room for a further call; if that is not enough, the call is answered `overloaded`.
    // One peer may use half of this number.
    std::uint32_t calls_max = 4096;
    std::uint64_t answer_bytes_max = std::uint64_t{64} << 20;  // of all kept answers; one peer may use half
    VariableLimits variables = {};
    ClockOptions clock = {};
    // How this process repeats a call to the next process within a collective call. If the call finally fails, this
    // process itself calls the members below the called one, so each pause delays those members.
    hl::RetryPolicy retry = {
        .attempts = 3,
        .pause = Microseconds(5'000),
        .pause_max = Microseconds(50'000),
        .codes = {Errc::refused, Errc::peer_lost, Errc::overloaded, Errc::out_of_memory},
    };
    // The quota for calls that this process starts (call, broadcast, gather, scatter, reduce). Calls that it forwards
    // are not subject to the quota, because they could otherwise wait for each other in a cycle. A collective call
    // counts once for each process to which this process sends it directly.
    hl::QuotaOptions quota = {};
    // True: this member probes others, and answers their probes, on a side loop of its node (hl/side_loop.hpp), which
    // has a thread and connections of its own. So a handler that holds the node's loop neither delays probes nor makes
    // this member look dead; exclude() is for a program that hangs. False, or the node has no threads of its own: it
    // does so on the node's loop. Members may differ in this option.
    bool own_loop = true;
    // The maximum number of connections that failure detection keeps. If the group has at most half as many members
    // plus one, this process stays connected to all members. If the group is larger, this process keeps a fifth of this
    // number, to the members that it probed last, and about as many members keep a connection to it; a probe of another
    // member takes a new connection. A connection that is also used for something else is not closed. Connections for
    // the program's calls do not count.
    std::uint32_t probe_connections_max = 64;
    std::uint32_t followers_max = 256;  // clients that follow the view through this process
    // True: join() and follow() try the seeds in the given order, each for at most an equal share of what is left of
    // join_time. False: they begin with a random seed.
    bool seeds_in_order = false;
    // The seed of all random choices; 0: a random one. Other values are only for tests, because peers can then guess
    // the ids of calls.
    std::uint64_t seed = 0;
};

// The members of a group that are known beforehand: the address of each rank.
struct Roster {
    std::vector<std::string> addresses;  // indexed by rank
    Rank self = no_rank;                 // no_rank: the rank of the address at which the node listens
};
// Reads a roster from a file with one address per line, rank 0 first. Empty lines and lines that start with # are
// skipped. io: the file cannot be read; invalid_argument: the file has no address, or more than 65,536.
[[nodiscard]] CINNABAR_API Result<Roster> read_roster(const std::string& path);

}  // namespace cinnabar::group
