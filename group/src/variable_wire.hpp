// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of distributed variables. They are served like a program's own RPCs of the group. Each call goes to one
// member, except those of `tell` and `recall`, which go to all members down a tree. Any peer can send them, so keys and
// values are checked against limits after decoding.
#pragma once

#include <cinnabar/group/member.hpp>
#include <cinnabar/group/variable_options.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::group {

// A value as sent in messages.
struct Sent {
    Version version;
    std::uint16_t shape = 0;
    bool same = false;  // the receiver has this version already: no bytes
    std::vector<std::byte> bytes;
    std::uint64_t left_us = 0;  // remaining time that it may be used
};

struct Fetch {
    std::string key;
    Version floor;            // version that the asking process has seen
    Version held;             // version of its copy
    std::uint32_t depth = 0;  // its depth in the tree
};
inline constexpr hl::Rpc<Sent(Fetch)> fetch_rpc{"cinnabar.group.variable.fetch"};

struct Update {
    std::string key;
    Version seen;  // version that the updating process has seen
    Sync sync = Sync::eager;
    bool drops = false;  // no new value; only drops all copies
    std::uint16_t shape = 0;
    std::vector<std::byte> bytes;
};
inline constexpr hl::Rpc<Version(Update)> update_rpc{"cinnabar.group.variable.update"};

struct Tell {
    std::string key;
    bool drops = false;  // copies of this version and older ones must no longer be used
    Sent value;
};
inline constexpr hl::Rpc<void(Tell)> tell_rpc{"cinnabar.group.variable.tell"};

// Asks for a member's version. `root` is about to rule the key; a member that agrees no longer rules it.
struct Recall {
    std::string key;
    Rank root = no_rank;
};
struct Held {
    Version version;
    Rank holder = no_rank;
};
inline constexpr hl::Rpc<Held(Recall)> recall_rpc{"cinnabar.group.variable.recall"};
// Requests a member's copy, even if it has expired.
inline constexpr hl::Rpc<Sent(std::string)> take_rpc{"cinnabar.group.variable.take"};

}  // namespace cinnabar::group
