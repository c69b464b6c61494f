// SPDX-License-Identifier: BSD-3-Clause
// What two_process_server serves, and what the tests that start it call.
#pragma once

#include <cinnabar/cinnabar.hpp>

#include <cstdint>

namespace cinnabar::test {

// Of the server, at this moment.
struct ServerLoad {
    int held = 0;             // calls of `hang` that run
    int pulling = 0;          // calls of `pull_again` that run
    std::uint64_t pulls = 0;  // that it has finished
    int notes = 0;            // that came
};

inline constexpr Rpc<int(int)> twice{"twice"};
inline constexpr Rpc<void()> hang{"hang"};  // until it is canceled
inline constexpr Rpc<std::uint64_t(Bulk)> checksum{"checksum"};
inline constexpr Rpc<void(Bulk)> pull_again{"pull_again"};  // pulls the whole again and again, until that fails
inline constexpr Rpc<ServerLoad()> load{"load"};
inline constexpr OneWay<int> note{"note"};

}  // namespace cinnabar::test
