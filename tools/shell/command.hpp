// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar completion` and `cinnabar man`: shell completions and man pages, generated from the command line's options.
#pragma once

#include "terminal/exit_code.hpp"

#include <functional>
#include <string>

// CLI11's headers are heavy, so only files that add options include them.
namespace CLI {
class App;
}

namespace cinnabar::tools::shell {

// Adds both commands. Requires: all other commands were added to `app`, and `app` outlives `run`.
void add_commands(CLI::App& app, std::function<ExitCode()>& run, std::string version);

}  // namespace cinnabar::tools::shell
