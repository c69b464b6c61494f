// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar top`, `cinnabar calls` and `cinnabar page`.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/hl/introspection.hpp>
#include <cinnabar/na/types.hpp>

#include <cstdint>
#include <functional>
#include <string>

// CLI11's headers are heavy, so only files that add options include them.
namespace CLI {
class App;
}

namespace cinnabar::tools::watch {

struct TopOptions {
    std::string to;
    std::string transport;  // a scheme; empty: the best one in the address
    na::TlsOptions tls;     // for tcps, ofis and verbss
    double every_seconds = 1;
    std::uint32_t count = 0;  // number of queries; 0: until stopped
    bool prometheus = false;  // print one state in Prometheus' text format and exit
    bool json = false;        // print a line of JSON for each query, also on a terminal
    std::string show;         // one of tab_names (screen.hpp); empty: RPCs on a terminal, only a summary on a pipe
};
[[nodiscard]] ExitCode run_top(const TopOptions& options);

struct CallsOptions {
    std::string to;
    std::string transport;
    na::TlsOptions tls;
    double older_seconds = 0;
    bool json = false;
};
[[nodiscard]] ExitCode run_calls(const CallsOptions& options);

struct PageOptions {
    std::string to;
    std::string transport;
    na::TlsOptions tls;
    std::string listen = "127.0.0.1:9464";
    bool insecure = false;  // may listen where other hosts can reach it
    double every_seconds = 2;
};
[[nodiscard]] ExitCode run_page(const PageOptions& options);

// --introspection, for a command that serves: off, own-user or anyone.
void add_introspection(CLI::App& command, hl::Introspection& to);
// Adds the commands. When the command line asks for one, `run` is set.
void add_commands(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::watch
