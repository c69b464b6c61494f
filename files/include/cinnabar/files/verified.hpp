// SPDX-License-Identifier: BSD-3-Clause
// Whether a file on a server's disk still has the content that was saved.
#pragma once

#include <cstdint>

namespace cinnabar::files {

struct StoredChecksum {
    enum class State : std::uint8_t {
        none,      // saved without a checksum or not by this service, or the file system cannot store one
        outdated,  // the file was modified after its checksum was stored
        good,
    };
    State state = State::none;
    std::uint64_t checksum = 0;  // XXH3; 0 for State::none
};

struct Verified {
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // XXH3 of the current content on disk
    StoredChecksum stored;
    [[nodiscard]] bool damaged() const noexcept {
        return stored.state == StoredChecksum::State::good && stored.checksum != checksum;
    }
};

}  // namespace cinnabar::files
