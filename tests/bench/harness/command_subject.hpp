// SPDX-License-Identifier: BSD-3-Clause
// A command as one side of a comparison: each slice runs it once, from its start to its end.
#pragma once

#include "subject.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

struct CommandWork {
    std::vector<std::string> words;  // found in PATH; its standard output is discarded
    std::function<void()> prepare;   // before each run, not timed; may be empty
    std::function<double()> work;    // after each run, not timed: what it did, in the units of the figure
};

// What the two functions refer to must outlive the subject.
[[nodiscard]] std::unique_ptr<Subject> make_command(CommandWork command);

}  // namespace cinnabar::bench
