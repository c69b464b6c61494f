// SPDX-License-Identifier: BSD-3-Clause
#include "doctor/command.hpp"

#include "doctor/checks.hpp"
#include "doctor/print.hpp"
#include "doctor/towards.hpp"
#include "doctor/transports.hpp"
#include "security/command.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/plugins/builtin.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace cinnabar::tools::doctor {

ExitCode run(const Options& options) {
    const Interrupt interrupt;
    Findings found = examine(this_host());
    na::Registry registry;
    add_builtin(registry);
    const auto* devices = found.find("rdma-devices");
    check_transports(registry, devices && devices->severity == Severity::good, found);
    if (!options.to.empty() && !interrupt.happened())
        check_server(this_host(), {options.to, options.transport, CINNABAR_VERSION, options.tls}, interrupt.token(),
                     found);
    const ExitCode exit = interrupt.happened() ? ExitCode::interrupted : found.exit(options.strict);
    print_line(options.json ? json_of(found, CINNABAR_VERSION, exit) : text_of(found, options.verbose));
    return exit;
}

void add_command(CLI::App& app, std::function<ExitCode()>& run) {
    auto& command = *app.add_subcommand("doctor", "Find problems of this host, or in reaching a server, and fixes");
    const auto options = std::make_shared<Options>();
    command.add_option("URI", options->to, "A server to look at as well");
    command.add_option("--transport", options->transport, "The transport to use, if the address names several");
    security::add_tls_options(command, options->tls);
    command.add_flag("--json", options->json, "As one line of JSON");
    command.add_flag("-v,--verbose", options->verbose, "Show what is good too");
    command.add_flag("--strict", options->strict, "Let warnings set the exit code");
    command.callback([options, &run] { run = [options] { return doctor::run(*options); }; });
}

}  // namespace cinnabar::tools::doctor
