// SPDX-License-Identifier: BSD-3-Clause
// The options of `cinnabar perf` on the command line.
#pragma once

#include "terminal/exit_code.hpp"

#include <functional>

// CLI11's headers are heavy; only those that add options read them.
namespace CLI {
class App;
}

namespace cinnabar::tools::perf {

// Adds the command with its subcommands. When the command line asks for one, `run` is set.
void add_command(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::perf
