// SPDX-License-Identifier: BSD-3-Clause
// Calls under way, as lines for people and as JSON, with what each waits for. Pure.
#pragma once

#include "watch/state.hpp"

#include <string>
#include <vector>

namespace cinnabar::tools::watch {

// "waiting for a credit: the peer holds all requests that it takes of this node; 3 are before it"
[[nodiscard]] std::string reason_of(const look::CallReport& call);

// The oldest first; those of unknown age last.
void sort_by_age(std::vector<look::CallReport>& calls);

// One line for each call that is older than `age_min`, under a head; "nothing is under way" if there is none.
[[nodiscard]] std::string calls_text(const State& state, Microseconds age_min);
// {"process": 1, "calls": [...], "cut": false}, one line.
[[nodiscard]] std::string calls_json(const State& state, Microseconds age_min);

}  // namespace cinnabar::tools::watch
