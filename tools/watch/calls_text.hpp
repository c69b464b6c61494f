// SPDX-License-Identifier: BSD-3-Clause
// Lists calls in progress and what each waits for, as text and as JSON. Pure functions.
#pragma once

#include "watch/state.hpp"

#include <cinnabar/rpc/snapshot.hpp>

#include <string>
#include <vector>

namespace cinnabar::tools::watch {

// `unknown` for a phase of a later version.
[[nodiscard]] rpc::CallPhase phase_of(const look::CallReport& call);
// For example "waiting for a credit: the peer accepts no more requests of this node; 3 ahead of it".
[[nodiscard]] std::string reason_of(const look::CallReport& call);

// Oldest first; calls of unknown age last.
void sort_by_age(std::vector<look::CallReport>& calls);

// A heading and one line for each call older than `age_min`, or "nothing is under way".
[[nodiscard]] std::string calls_text(const State& state, Microseconds age_min);
// {"process": 1, "calls": [...], "cut": false}, one line.
[[nodiscard]] std::string calls_json(const State& state, Microseconds age_min);

}  // namespace cinnabar::tools::watch
