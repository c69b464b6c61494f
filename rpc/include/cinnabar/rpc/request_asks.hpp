// SPDX-License-Identifier: BSD-3-Clause
// What the origin of a request asks for beside an answer.
#pragma once

#include <cstdint>

namespace cinnabar::rpc {

struct RequestAsks {
    static constexpr std::uint8_t trace = 1;      // Request::trace() is set
    static constexpr std::uint8_t times = 4;      // the reply says how long the target had the request
    static constexpr std::uint8_t unsampled = 8;  // nobody records the trace
    std::uint8_t bits = 0;

    [[nodiscard]] bool traced() const noexcept { return (bits & trace) != 0; }
    [[nodiscard]] bool timed() const noexcept { return (bits & times) != 0; }
    [[nodiscard]] bool sampled() const noexcept { return (bits & unsampled) == 0; }  // requires: traced()
};

}  // namespace cinnabar::rpc
