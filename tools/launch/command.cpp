// SPDX-License-Identifier: BSD-3-Clause
#include "launch/command.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace cinnabar::tools::launch {

void add_command(CLI::App& app, const std::vector<std::string>& program, std::function<ExitCode()>& run) {
    auto& command = *app.add_subcommand(
        "launch", "Start the processes of a group, and end them together: cinnabar launch -n N -- PROGRAM ARG...");
    const auto options = std::make_shared<Options>();
    command.add_option("-n,--size", options->size, "How many processes")->required()->check(CLI::Range(1u, 65'536u));
    command
        .add_option("--hosts", options->hosts,
                    "Start them by ssh on the hosts of this file: HOST [slots=N] on each line; needs --folder")
        ->type_name("FILE");
    command
        .add_option("--folder", options->folder,
                    "The folder by which the processes find each other, on a file system that all hosts share "
                    "(default: a temporary one)")
        ->type_name("DIR");
    command.add_flag("-k,--keep-going", options->keep_going, "If one fails, let the others continue");
    command.add_flag("-l,--label", options->label, "Put the rank before each line of their output");
    command.add_option("--grace", options->grace_seconds, "Seconds between SIGTERM and SIGKILL for the others")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    command.callback([options, &program, &run] {
        if (program.empty()) throw CLI::ValidationError("launch", "name a program after --");
        if (!options->hosts.empty() && options->folder.empty())
            throw CLI::ValidationError("--hosts", "needs --folder, on a file system that all hosts have");
        options->program = program;
        run = [options] { return launch::run(*options); };
    });
}

}  // namespace cinnabar::tools::launch
