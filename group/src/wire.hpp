// SPDX-License-Identifier: BSD-3-Clause
// The calls between members, and from those that follow a group. What comes is from anybody: each list has a limit
// that is checked after decoding, which itself takes memory in proportion to the message.
#pragma once

#include "swim/message.hpp"

#include <cinnabar/group/erased.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::group {

inline constexpr hl::OneWay<Message> swim_message{"cinnabar.group.swim"};

struct JoinRequest {
    std::string name;
    Rank wanted = no_rank;  // no_rank: the next free one
    std::uint64_t process = 0;
    na::Addr address;
    Labels labels;
    std::uint8_t hops = 0;  // how many members have handed it on
};
struct JoinAnswer {
    std::uint64_t group = 0;
    Rank rank = no_rank;
    std::uint32_t incarnation = 0;
};
inline constexpr hl::Rpc<JoinAnswer(JoinRequest)> join_rpc{"cinnabar.group.join"};

// A part of a view: the ranks from `from` on, or all that has changed since a stamp.
struct ViewRequest {
    std::string name;
    Rank from = 0;
};
struct FollowRequest {
    std::uint64_t group = 0;
    Stamp known;
};
struct ViewPage {
    std::uint64_t group = 0;
    Stamp stamp;
    Rank next = no_rank;   // no_rank: this is the last page
    bool too_old = false;  // what has changed is not known: read the view anew
    std::vector<Claim> claims;
};
inline constexpr hl::Rpc<ViewPage(ViewRequest)> view_rpc{"cinnabar.group.view"};
inline constexpr hl::Rpc<ViewPage(FollowRequest)> follow_rpc{"cinnabar.group.follow"};

struct CallId {
    std::uint64_t origin = 0;
    std::uint64_t number = 0;
    friend auto operator<=>(const CallId&, const CallId&) = default;
};
struct RankRun {
    Rank first = 0;
    std::uint32_t count = 0;
};

// What a call moves beside its arguments: memory of the caller's. Members ask for it, chunk by chunk.
enum class Way : std::uint8_t { none, to_members, from_members };
struct Terms {
    Way way = Way::none;
    bool checksum = false;    // of each chunk
    std::uint8_t window = 0;  // chunks that a member has in flight
    std::uint32_t chunk_bytes = 0;
    std::uint64_t bytes = 0;   // for this member
    std::uint64_t ticket = 0;  // under which the sender of the request offers them
};

struct TreeRequest {
    std::uint64_t group = 0;
    Stamp stamp;  // of the caller's view
    Rank to = no_rank;
    std::uint32_t incarnation = 0;
    CallId id;
    rpc::RpcId rpc = 0;
    std::uint16_t shape = 0;
    detail::Mode mode = detail::Mode::count;
    Tree tree = Tree::flat;
    std::uint8_t fanout = 4;
    std::vector<RankRun> below;  // for whom `to` is asked to care, in their order
    std::vector<Claim> claims;   // of members that `to` did not know
    std::vector<std::byte> input;
    Terms terms;
    std::vector<detail::Part> inputs;  // of a scatter, in place of `input`: for `to`, and for those below
};

enum class Answered : std::uint8_t {
    done,
    misrouted,  // this process is not that member; nothing ran
    unknown,    // some members below are not known here; nothing ran
};

struct TreeAnswer {
    Answered answered = Answered::done;
    std::vector<Rank> unknown;
    std::vector<Claim> claims;  // what the caller's view lacked
    std::uint64_t count = 0;
    std::vector<detail::Part> parts;
    std::vector<std::byte> combined;
    std::vector<Failure> failures;
    std::vector<Rank> orphans;  // members below that the caller has to serve: this one cannot give them chunks
};
inline constexpr hl::Rpc<TreeAnswer(TreeRequest)> tree_rpc{"cinnabar.group.call"};
// The caller has given up: what still runs of this call ends.
inline constexpr hl::OneWay<std::uint64_t, CallId> cancel_message{"cinnabar.group.cancel"};

}  // namespace cinnabar::group
