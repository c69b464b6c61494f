// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar doctor`: its command-line options, and the function that runs it.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <functional>
#include <string>

// CLI11's headers are heavy; only those that add options read them.
namespace CLI {
class App;
}

namespace cinnabar::tools::doctor {

struct Options {
    std::string to;         // also check this server; empty: this machine only
    std::string transport;  // a scheme; empty: the best one in the address
    na::TlsOptions tls;     // for tcps, ofis and verbss
    bool json = false;
    bool verbose = false;
    bool strict = false;
};

[[nodiscard]] ExitCode run(const Options& options);

// Adds the command. When the command line asks for it, `run` is set.
void add_command(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::doctor
