// SPDX-License-Identifier: BSD-3-Clause
// Short-lived child processes: a function or a command, run to its end. Throws std::runtime_error when it fails.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cinnabar::bench {

// Forks, runs `body` in the child and waits for it. `body` must not rely on threads of the parent.
void run_forked(const std::function<void()>& body);

// Runs a command, found in PATH, with its standard output thrown away, and waits for it.
void run_command(const std::vector<std::string>& words);

}  // namespace cinnabar::bench
