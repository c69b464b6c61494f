// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar group` and `cinnabar member`: their options on the command line, and what runs them.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/na/types.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cinnabar::tools::group {

struct ShowOptions {
    std::string to;  // a member
    std::string transport;
    na::TlsOptions tls;  // for tcps
    std::string name = "group";
    std::uint16_t provider = 0;
    bool watch = false;
    bool json = false;
};
[[nodiscard]] ExitCode run_show(const ShowOptions& options);

struct MemberOptions {
    std::vector<std::string> listen = {"tcp://127.0.0.1:0"};
    std::vector<std::string> join;  // none: as cinnabar launch says; without that it creates the group
    std::string name = "group";
    std::uint16_t provider = 0;
    std::vector<std::string> labels;  // KEY=VALUE
    double period_seconds = 1;
    std::uint32_t until = 0;  // members; 0: until it is interrupted
    na::TlsOptions tls;
};
[[nodiscard]] ExitCode run_member(const MemberOptions& options);

// Adds both. `run` is set once the command line was read and asks for one.
void add_commands(CLI::App& app, std::function<ExitCode()>& run);

}  // namespace cinnabar::tools::group
