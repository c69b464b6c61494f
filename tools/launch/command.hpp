// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar launch`: its command-line options, and the function that runs it.
#pragma once

#include "terminal/exit_code.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// CLI11's headers are heavy; only those that add options read them.
namespace CLI {
class App;
}

namespace cinnabar::tools::launch {

struct Options {
    std::uint32_t size = 1;
    std::string hosts;   // a file; empty: this host
    std::string folder;  // where the processes find each other; empty: a temporary one
    bool keep_going = false;
    bool label = false;
    double grace_seconds = 5;
    std::vector<std::string> program;
};
[[nodiscard]] ExitCode run(const Options& options);

// Adds the command. `program`: the words after "--". When the command line asks for it, `run` is set.
void add_command(CLI::App& app, const std::vector<std::string>& program, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::launch
