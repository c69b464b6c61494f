// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar completion` and `cinnabar man`: what shells and people are told of the command line, made of its tables.
#pragma once

#include "terminal/exit_code.hpp"

#include <CLI/App.hpp>

#include <functional>
#include <string>

namespace cinnabar::tools::shell {

// Adds both. Requires: `app` has all other commands, and outlives `run`.
void add_commands(CLI::App& app, std::function<ExitCode()>& run, std::string version);

}  // namespace cinnabar::tools::shell
