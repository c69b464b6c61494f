// SPDX-License-Identifier: BSD-3-Clause
// How calls and transfers ended: what went well, what failed and with which code, and what came back wrong. Only what
// went well has a time. One thread.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/base/error.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace cinnabar::tools::perf {

struct Outcomes {
    std::uint64_t done = 0;
    std::uint64_t wrong = 0;   // ended well, but with other bytes than were sent
    std::uint64_t unsent = 0;  // of an open loop: planned, and never sent, because earlier ones were still under way
    std::array<std::uint64_t, errc_count> failed_by{};

    Errc first_failure = Errc::ok;  // in time, of one lane; of several, one of the first

    void fail(Errc code) noexcept {
        if (!is_known(code)) code = Errc::protocol;
        if (first_failure == Errc::ok) first_failure = code;
        ++failed_by[static_cast<std::size_t>(code)];
    }
    // What came later.
    void add(const Outcomes& other) noexcept;

    [[nodiscard]] std::uint64_t failed() const noexcept;
    [[nodiscard]] bool all_well() const noexcept { return failed() == 0 && wrong == 0; }
    // Nothing went well, and nothing failed: the process did not run in that time, or the time was too short.
    [[nodiscard]] bool nothing() const noexcept { return done == 0 && all_well(); }
    // damaged when something was wrong, else that of the first failure: what follows it is often its consequence.
    // overloaded when there was nothing.
    [[nodiscard]] ExitCode exit() const noexcept;
    // "3 timed out, 1 peer lost, 2 with wrong bytes"; empty when all went well.
    [[nodiscard]] std::string text() const;
    // {"timed_out": 3, "peer_lost": 1}
    [[nodiscard]] std::string failed_json() const;
};

}  // namespace cinnabar::tools::perf
