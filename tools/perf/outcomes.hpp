// SPDX-License-Identifier: BSD-3-Clause
// Counts how calls and transfers ended: successes, failures by code, and wrong data. Only successes have a latency. One
// thread.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/base/error.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace cinnabar::tools::perf {

struct Outcomes {
    std::uint64_t done = 0;
    std::uint64_t wrong = 0;   // succeeded, but with wrong bytes
    std::uint64_t unsent = 0;  // open loop: planned but never sent, because earlier calls were still in flight
    std::array<std::uint64_t, errc_count> failed_by{};

    Errc first_failure = Errc::ok;  // of several lanes: that of one of them

    void fail(Errc code) noexcept {
        if (!is_known(code)) code = Errc::protocol;
        if (first_failure == Errc::ok) first_failure = code;
        ++failed_by[static_cast<std::size_t>(code)];
    }
    // Adds the outcomes of another run.
    void add(const Outcomes& other) noexcept;

    [[nodiscard]] std::uint64_t failed() const noexcept;
    [[nodiscard]] bool all_well() const noexcept { return failed() == 0 && wrong == 0; }
    // No operation succeeded or failed: the process did not run in that time, or the time was too short.
    [[nodiscard]] bool nothing() const noexcept { return done == 0 && all_well(); }
    // Returns the exit code: damaged if data was wrong; overloaded if nothing() is true; otherwise the code of the
    // first failure, because later failures often follow from the first.
    [[nodiscard]] ExitCode exit() const noexcept;
    // For example "3 timed out, 1 peer lost, 2 with wrong bytes"; empty if all is well.
    [[nodiscard]] std::string text() const;
    // For example {"timed_out": 3, "peer_lost": 1}.
    [[nodiscard]] std::string failed_json() const;
};

}  // namespace cinnabar::tools::perf
