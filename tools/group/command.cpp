// SPDX-License-Identifier: BSD-3-Clause
#include "group/command.hpp"

#include "security/command.hpp"

#include <CLI/CLI.hpp>

#include <memory>

namespace cinnabar::tools::group {
namespace {

void add_identity(CLI::App& command, std::string& name, std::uint16_t& provider) {
    command.add_option("--name", name, "The name of the group")->capture_default_str();
    command.add_option("--provider", provider, "Id of the group in its node")->capture_default_str();
}

void add_show(CLI::App& app, std::function<ExitCode()>& run) {
    auto& command =
        *app.add_subcommand("group", "Show the members of a group, its version and its tree: cinnabar group URI");
    const auto options = std::make_shared<ShowOptions>();
    command.add_option("URI", options->to, "A member: tcp://HOST:PORT, shm://NAME")->required();
    command.add_option("--transport", options->transport, "The transport to use, if the address names several");
    security::add_tls_options(command, options->tls);
    add_identity(command, options->name, options->provider);
    command.add_flag("-w,--watch", options->watch, "Then print events, one per line");
    command.add_flag("--json", options->json, "One line of JSON for the view, and one for each event");
    command.callback([options, &run] { run = [options] { return run_show(*options); }; });
}

void add_member(CLI::App& app, std::function<ExitCode()>& run) {
    auto& command = *app.add_subcommand(
        "member", "Run a member of a group that does nothing else, to try groups out: cinnabar member [--join URI]");
    const auto options = std::make_shared<MemberOptions>();
    command
        .add_option("--listen", options->listen,
                    "Where to listen: tcp://HOST:PORT, shm://NAME; may be given several times")
        ->type_name("URI")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->capture_default_str();
    command
        .add_option(
            "--join", options->join,
            "A member to join by; several are tried in turn (default: as cinnabar launch says, otherwise create "
            "the group)")
        ->type_name("URI")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    security::add_tls_options(command, options->tls);
    add_identity(command, options->name, options->provider);
    command.add_option("--label", options->labels, "A label of this member: KEY=VALUE")
        ->type_name("LABEL")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    command.add_option("--period", options->period_seconds, "Seconds between two pings; the same at all members")
        ->capture_default_str()
        ->check(CLI::Range(0.01, 3600.0));
    command.add_option("--until", options->until, "Exit once that many members have met at a barrier (0: never)")
        ->capture_default_str();
    command.callback([options, &run] { run = [options] { return run_member(*options); }; });
}

}  // namespace

void add_commands(CLI::App& app, std::function<ExitCode()>& run) {
    add_show(app, run);
    add_member(app, run);
}

}  // namespace cinnabar::tools::group
