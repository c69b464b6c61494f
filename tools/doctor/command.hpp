// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar doctor`: its options on the command line, and what runs it.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>

namespace cinnabar::tools::doctor {

struct Options {
    std::string to;         // a server to look at as well; empty: this machine only
    std::string transport;  // a scheme; empty: the best that the address names
    na::TlsOptions tls;     // for tcps
    bool json = false;
    bool verbose = false;
    bool strict = false;
};

[[nodiscard]] ExitCode run(const Options& options);

// Adds the command. `run` is set once the command line was read and asks for it.
void add_command(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::doctor
