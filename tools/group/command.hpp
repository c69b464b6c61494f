// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar group` and `cinnabar member`: their command-line options, and the functions that run them.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// CLI11's headers are heavy; only those that add options read them.
namespace CLI {
class App;
}

namespace cinnabar::tools::group {

struct ShowOptions {
    std::string to;  // a member
    std::string transport;
    na::TlsOptions tls;  // for tcps, ofis and verbss
    std::string name = "group";
    std::uint16_t provider = 0;
    bool watch = false;
    bool json = false;
};
[[nodiscard]] ExitCode run_show(const ShowOptions& options);

struct MemberOptions {
    std::vector<std::string> listen = {"tcp://127.0.0.1:0"};
    std::vector<std::string> join;  // seeds; empty: join as cinnabar launch says, otherwise create the group
    std::string name = "group";
    std::uint16_t provider = 0;
    std::vector<std::string> labels;  // KEY=VALUE
    double period_seconds = 1;
    std::uint32_t until = 0;  // number of members to wait for; 0: run until interrupted
    na::TlsOptions tls;
};
[[nodiscard]] ExitCode run_member(const MemberOptions& options);

// Adds both commands. When the command line asks for one, `run` is set.
void add_commands(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::group
