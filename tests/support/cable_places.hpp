// SPDX-License-Identifier: BSD-3-Clause
// Where tests/vm tells the tests that nodes can listen at both ends of a cable.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::support {

// Address strings with port 0.
struct CablePlaces {
    std::string near_end;
    std::string far_end;
    // `scheme` without "://".
    [[nodiscard]] bool is_of(std::string_view scheme) const noexcept {
        return std::string_view(near_end).substr(0, near_end.find("://")) == scheme;
    }
    friend bool operator==(const CablePlaces&, const CablePlaces&) = default;
};

// CINNABAR_TEST_CABLE="NEAR FAR"; none where it is not set.
[[nodiscard]] inline std::optional<CablePlaces> cable_places() {
    const char* const both = std::getenv("CINNABAR_TEST_CABLE");
    if (both == nullptr) return std::nullopt;
    const std::string text = both;
    const auto blank = text.find(' ');
    return CablePlaces{text.substr(0, blank), text.substr(blank + 1)};
}

}  // namespace cinnabar::support
