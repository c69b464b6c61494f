// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar launch`: its options on the command line, and what runs it.
#pragma once

#include "terminal/exit_code.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cinnabar::tools::launch {

struct Options {
    std::uint32_t size = 1;
    std::string hosts;   // a file; empty: this host
    std::string folder;  // where the processes find each other; empty: one of our own
    bool keep_going = false;
    bool label = false;
    double grace_seconds = 5;
    std::vector<std::string> program;
};
[[nodiscard]] ExitCode run(const Options& options);

// Adds the command. `program` is what follows "--" on the command line; `run` is set once that was read and asks for
// it.
void add_command(CLI::App& app, const std::vector<std::string>& program, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::launch
