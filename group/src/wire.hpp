// SPDX-License-Identifier: BSD-3-Clause
// The RPCs between members, and those of followers. Any peer can send them: each list has a limit that is checked after
// decoding, and decoding takes memory in proportion to the message.
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
    std::uint8_t hops = 0;   // number of members that have forwarded it
    bool side_loop = false;  // as Profile::side_loop
};
struct JoinAnswer {
    std::uint64_t group = 0;
    Rank rank = no_rank;
    std::uint32_t incarnation = 0;
};
inline constexpr hl::Rpc<JoinAnswer(JoinRequest)> join_rpc{"cinnabar.group.join"};

// Asks for a part of a view: the ranks from `from` on, or all changes since a stamp.
struct ViewRequest {
    std::string name;
    Rank from = 0;
    std::vector<std::uint64_t> known = {};  // a bit for each rank, from rank 0 on; set: not wanted
};
// Whether the bit of that rank is set.
[[nodiscard]] inline bool has_rank(const std::vector<std::uint64_t>& ranks, Rank rank) noexcept {
    return rank / 64 < ranks.size() && ((ranks[rank / 64] >> (rank % 64)) & 1) != 0;
}
struct FollowRequest {
    std::uint64_t group = 0;
    Stamp known;
};
struct ViewPage {
    std::uint64_t group = 0;
    Stamp stamp;
    Rank next = no_rank;   // no_rank: this is the last page
    bool too_old = false;  // changes since that stamp are not available: read the whole view
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

// Ranks that were given again, and the number of the process that holds each of them (holder_of). No run has holder 0.
struct HolderRun {
    Rank first = 0;
    std::uint32_t count = 0;
    std::uint32_t holder = 0;
};

// Direction of the memory that a call moves besides its arguments. Members request it chunk by chunk.
enum class Way : std::uint8_t { none, to_members, from_members };
struct Terms {
    Way way = Way::none;
    bool checksum = false;    // of each chunk
    std::uint8_t window = 0;  // chunks in flight to one member
    std::uint32_t chunk_bytes = 0;
    std::uint64_t bytes = 0;         // for this member
    std::uint64_t ticket = 0;        // ticket under which the sender of the request offers the chunks
    bool again = false;              // the member was lost, and is called for itself alone
    std::uint16_t come_back_ms = 0;  // how long a lost member is waited for
    bool lends = false;  // the sender has all bytes, and lends pieces to a member on its host (lent_pieces.hpp)
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
    std::vector<RankRun> below;  // the members that `to` should call, in their order
    std::vector<Claim> claims;   // about members that `to` did not know
    std::vector<std::byte> input;
    Terms terms;
    std::vector<detail::Part> inputs;  // for a scatter, instead of `input`: for `to` and for those below
    std::uint64_t time = 0;            // of the sender's hybrid clock
    // The processes that the caller means by `to` and the ranks below, in ascending order of rank. A rank that is left
    // out means the first holder of that rank.
    std::vector<HolderRun> holders;
};

enum class Answered : std::uint8_t {
    done,
    misrouted,  // this process is not that member; nothing ran
    unknown,    // some members below are not known here; nothing ran
};

// A branch of the tree that a member leaves to its caller. The branch keeps the division that this member made, because
// the members of the branch that already run the call have been told whom to call.
struct Orphan {
    Rank child = no_rank;
    std::vector<RankRun> below;
};

struct TreeAnswer {
    Answered answered = Answered::done;
    std::vector<Rank> unknown;
    std::vector<Claim> claims;  // members missing from the caller's view
    std::uint64_t count = 0;
    std::vector<detail::Part> parts;
    std::vector<std::byte> combined;
    std::vector<Failure> failures;
    std::vector<Orphan> orphans;  // left to the caller, because this member leaves or cannot give them chunks
    std::uint64_t time = 0;       // of the sender's hybrid clock
};
// A member runs a call once, however often it is delivered (executions.hpp), so it may be retried.
inline constexpr hl::Rpc<TreeAnswer(TreeRequest)> tree_rpc{"cinnabar.group.call", hl::idempotent};
// The caller has given up: stop the call.
inline constexpr hl::OneWay<std::uint64_t, CallId> cancel_message{"cinnabar.group.cancel"};

}  // namespace cinnabar::group
