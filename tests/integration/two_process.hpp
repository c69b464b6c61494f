// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of two_process_server, shared with the tests that start it.
#pragma once

#include <cinnabar/cinnabar.hpp>

#include <cstdint>

namespace cinnabar::test {

// The current state of the server.
struct ServerLoad {
    int held = 0;             // running calls of `hang`
    int pulling = 0;          // running calls of `pull_again`
    std::uint64_t pulls = 0;  // finished pulls
    int notes = 0;            // received notes
};

inline constexpr Rpc<int(int)> twice{"twice"};
inline constexpr Rpc<void()> hang{"hang"};  // until it is canceled
inline constexpr Rpc<std::uint64_t(Bulk)> checksum{"checksum"};
inline constexpr Rpc<void(Bulk)> pull_again{"pull_again"};  // pulls all bytes repeatedly until that fails
inline constexpr Rpc<ServerLoad()> load{"load"};
inline constexpr OneWay<int> note{"note"};

}  // namespace cinnabar::test
