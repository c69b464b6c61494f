// SPDX-License-Identifier: BSD-3-Clause
// Rounds in which each contender works once, in turn, so that a drift of the machine affects all of them.
#pragma once

#include "outcome.hpp"

#include <filesystem>
#include <functional>

namespace cinnabar::compare {

struct Pace {
    double seconds = 1;
    unsigned rounds = 7;
};

// `tell` is called with a line for each slice. A contender that fails is tried again in the next round; its failure is
// in the result.
[[nodiscard]] Compared compare(const Work& work, const Pace& pace, const std::filesystem::path& scratch,
                               const std::function<void(const std::string&)>& tell);

// Computes the intervals from the measured figures. Pure.
void judge(Compared& compared);

}  // namespace cinnabar::compare
