// SPDX-License-Identifier: BSD-3-Clause
// The addresses at both ends of a cable, which tests/vm passes to the tests.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::support {

// Address strings with port 0.
struct CableEnds {
    std::string near_end;
    std::string far_end;
    // `scheme` without "://".
    [[nodiscard]] bool is_of(std::string_view scheme) const noexcept {
        return std::string_view(near_end).substr(0, near_end.find("://")) == scheme;
    }
    friend bool operator==(const CableEnds&, const CableEnds&) = default;
};

// From CINNABAR_TEST_CABLE="NEAR FAR"; nullopt if that is not set.
[[nodiscard]] inline std::optional<CableEnds> cable_ends() {
    const char* const both = std::getenv("CINNABAR_TEST_CABLE");
    if (both == nullptr) return std::nullopt;
    const std::string text = both;
    const auto blank = text.find(' ');
    return CableEnds{text.substr(0, blank), text.substr(blank + 1)};
}

}  // namespace cinnabar::support
