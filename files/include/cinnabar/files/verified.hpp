// SPDX-License-Identifier: BSD-3-Clause
// What a file on a server's disk is, compared with what was saved.
#pragma once

#include <cstdint>

namespace cinnabar::files {

struct StoredChecksum {
    enum class State : std::uint8_t {
        none,      // it was saved without one, or not by this service, or its file system cannot keep one
        outdated,  // of what the file was before somebody wrote to it
        good,
    };
    State state = State::none;
    std::uint64_t checksum = 0;  // XXH3; 0 with none
};

struct Verified {
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // XXH3 of what is on the disk now
    StoredChecksum stored;
    [[nodiscard]] bool damaged() const noexcept {
        return stored.state == StoredChecksum::State::good && stored.checksum != checksum;
    }
};

}  // namespace cinnabar::files
