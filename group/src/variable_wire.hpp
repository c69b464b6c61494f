// SPDX-License-Identifier: BSD-3-Clause
// The calls of distributed variables. They are served like a program's own calls of the group, and each goes to one
// member, but for `tell` and `recall`, which go to all down a tree. Any peer can send them: keys and values have limits
// that are checked after decoding.
#pragma once

#include <cinnabar/group/member.hpp>
#include <cinnabar/group/variable_options.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::group {

// A value as it travels.
struct Sent {
    Version version;
    std::uint16_t shape = 0;
    bool same = false;  // it is the version that the other side has: no bytes
    std::vector<std::byte> bytes;
    std::uint64_t left_us = 0;  // how long it may be used
};

struct Fetch {
    std::string key;
    Version floor;            // what the asking process has seen
    Version held;             // what it has
    std::uint32_t depth = 0;  // of it in the tree
};
inline constexpr hl::Rpc<Sent(Fetch)> fetch_rpc{"cinnabar.group.variable.fetch"};

struct Update {
    std::string key;
    Version seen;  // by the process that updates
    Sync sync = Sync::eager;
    bool drops = false;  // no new value: all copies are dropped
    std::uint16_t shape = 0;
    std::vector<std::byte> bytes;
};
inline constexpr hl::Rpc<Version(Update)> update_rpc{"cinnabar.group.variable.update"};

struct Tell {
    std::string key;
    bool drops = false;  // no copy of this version or of an older one may be used
    Sent value;
};
inline constexpr hl::Rpc<void(Tell)> tell_rpc{"cinnabar.group.variable.tell"};

// Asks what a member has. `root` is about to rule; a member that agrees rules no longer.
struct Recall {
    std::string key;
    Rank root = no_rank;
};
struct Held {
    Version version;
    Rank holder = no_rank;
};
inline constexpr hl::Rpc<Held(Recall)> recall_rpc{"cinnabar.group.variable.recall"};
// The value that a member has, even if it may not use it any more.
inline constexpr hl::Rpc<Sent(std::string)> take_rpc{"cinnabar.group.variable.take"};

}  // namespace cinnabar::group
