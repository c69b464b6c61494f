// SPDX-License-Identifier: BSD-3-Clause
#include "perf/command_line.hpp"

#include "perf/command.hpp"
#include "security/command.hpp"
#include "terminal/units.hpp"
#include "watch/command.hpp"

#include <CLI/CLI.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

using Run = std::function<ExitCode()>;

std::string check_size(const std::string& text) {
    const auto bytes = parse_bytes(text);
    if (!bytes) return bytes.error().message();
    return *bytes == 0 ? std::string("a size is at least 1 byte") : std::string();
}

std::vector<std::uint64_t> sizes_of(const std::vector<std::string>& texts) {
    std::vector<std::uint64_t> sizes;
    for (const auto& text : texts) sizes.push_back(parse_bytes(text).value());
    return sizes;
}

// An option with comma-separated values in one word.
template <typename T>
CLI::Option* add_list(CLI::App& command, const std::string& name, std::vector<T>& values, const std::string& what) {
    return command.add_option(name, values, what)->delimiter(',')->allow_extra_args(false);
}

CLI::Option* add_sizes(CLI::App& command, std::vector<std::uint64_t>& sizes, const std::string& otherwise) {
    return command
        .add_option_function<std::vector<std::string>>(
            "-s,--size", [&sizes](const std::vector<std::string>& texts) { sizes = sizes_of(texts); },
            "Bytes, optionally with k, M or G")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(check_size)
        ->default_str(otherwise);
}

// Adds --json and --csv.
void add_print(CLI::App& command, RunOptions::Print& print, const std::string& of_json) {
    auto* json = command.add_flag_callback(
        "--json", [&print] { print = RunOptions::Print::json; }, of_json);
    command
        .add_flag_callback(
            "--csv", [&print] { print = RunOptions::Print::csv; }, "A CSV table")
        ->excludes(json);
}

void add_timeout(CLI::App& command, Microseconds& deadline, double seconds_max) {
    command
        .add_option_function<double>(
            "-W,--timeout",
            [&deadline](double seconds) { deadline = Microseconds(static_cast<std::int64_t>(seconds * 1e6)); },
            "Seconds that a call may take")
        ->default_str("5")
        ->check(CLI::Range(0.001, seconds_max));
}

void add_common(CLI::App& command, RunOptions& options) {
    command.add_option("URI", options.to, "A `cinnabar perf serve`: tcp://HOST:PORT, shm://NAME")->required();
    command.add_option("--transport", options.transport, "The transport to use, if the address names several");
    security::add_tls_options(command, options.tls);
    command.add_option("--wait", options.wait_seconds, "Seconds to wait for a server that does not listen yet")
        ->check(CLI::Range(0.0, 3600.0));
    command.add_option("-t,--seconds", options.plan.seconds, "Seconds per repeat")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 86'400.0));
    command.add_option("-r,--repeats", options.plan.repeats, "How often each is measured")
        ->capture_default_str()
        ->check(CLI::Range(1u, 1000u));
    command.add_option("--warm-up", options.plan.warm_up_seconds, "Seconds of warm-up, not counted")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 3600.0));
    add_timeout(command, options.plan.deadline, 3600);
    add_print(command, options.print, "A line of JSON for each row");
    command.add_option("--html", options.html, "Writes a report with plots into this file")->type_name("FILE");
}

void add_call_lists(CLI::App& command, CallsOptions& options) {
    add_sizes(command, options.sizes, "64");
    add_list(command, "-d,--depth", options.depths, "Calls in flight of each context; of an open loop, at most")
        ->check(CLI::Range(1u, 65'536u))
        ->default_str("1");
    add_list(command, "--contexts", options.contexts, "Contexts of each client")
        ->check(CLI::Range(1u, 64u))
        ->default_str("1");
    add_list(command, "--clients", options.clients, "Clients, each with connections of its own")
        ->check(CLI::Range(1u, 1024u))
        ->default_str("1");
    add_list(command, "--threads", options.threads, "Threads that drive all contexts; 0: one for each")
        ->check(CLI::Range(0u, 1024u))
        ->default_str("0");
    auto* rate = add_list(command, "--rate", options.rates,
                          "Open loop: start this many calls a second, whatever the server does")
                     ->check(CLI::Range(0.001, 1e9));
    add_list(command, "--steps", options.steps_percent,
             "Then open loops, at these percentages of the best closed-loop rate")
        ->check(CLI::Range(0.001, 1000.0))
        ->excludes(rate);
    command.add_flag_callback(
        "--poisson", [&options] { options.arrivals = Arrivals::poisson; },
        "Calls of open loops start independently of each other, not evenly");
}

void add_bulk_lists(CLI::App& command, BulkOptions& options) {
    static const std::map<std::string, Direction> directions{{"pull", Direction::pull}, {"push", Direction::push}};
    static const std::map<std::string, MemoryKind> memories{{"exposed", MemoryKind::exposed},
                                                            {"allocated", MemoryKind::allocated},
                                                            {"file", MemoryKind::file},
                                                            {"device", MemoryKind::device}};
    add_sizes(command, options.sizes, "1M");
    add_list(command, "-d,--depth", options.depths, "Transfers in flight")
        ->check(CLI::Range(1u, 1024u))
        ->default_str("8");
    add_list(command, "--segments", options.segments, "Segments of the memory at this side")
        ->check(CLI::Range(1u, 65'536u))
        ->default_str("1");
    add_list(command, "--direction", options.directions, "pull: the server reads from here; push: it writes to here")
        ->transform(CLI::CheckedTransformer(directions).description("{pull,push}"))
        ->default_str("pull,push");
    add_list(
        command, "--memory", options.memories,
        "exposed: plain memory; allocated: by the library; file: a temporary one; device: of the first CUDA device")
        ->transform(CLI::CheckedTransformer(memories).description("{exposed,allocated,file,device}"))
        ->default_str("exposed");
}

void add_calls(CLI::App& perf, Run& run) {
    auto& command = *perf.add_subcommand("calls", "Latency and rate of calls");
    const auto options = std::make_shared<RunOptions>();
    options->calls.emplace();
    add_common(command, *options);
    add_call_lists(command, *options->calls);
    command.callback([options, &run] { run = [options] { return perf::run(*options); }; });
}

void add_bulk(CLI::App& perf, Run& run) {
    auto& command = *perf.add_subcommand("bulk", "Bandwidth of bulk transfers");
    const auto options = std::make_shared<RunOptions>();
    options->bulk.emplace();
    add_common(command, *options);
    add_bulk_lists(command, *options->bulk);
    command.callback([options, &run] { run = [options] { return perf::run(*options); }; });
}

void add_all(CLI::App& perf, Run& run) {
    auto& command = *perf.add_subcommand("all", "A survey of both: some rows of each, for a report");
    const auto options = std::make_shared<RunOptions>();
    options->calls.emplace();
    options->calls->depths = {1, 4, 16, 64};
    options->calls->steps_percent = {25, 50, 75, 90};
    options->bulk.emplace();
    options->bulk->sizes = {4096, 16'384, 65'536, 262'144, 1u << 20, 4u << 20, 16u << 20};
    options->plan.repeats = 3;
    add_common(command, *options);
    command.callback([options, &run] { run = [options] { return perf::run(*options); }; });
}

void add_mesh(CLI::App& perf, Run& run) {
    auto& command =
        *perf.add_subcommand("mesh", "Calls of each of several servers to all others, or transfers, at the same time");
    const auto options = std::make_shared<MeshOptions>();
    command.add_option("URI", options->servers,
                       "The servers, each a `cinnabar perf serve --mesh`, by addresses that all others reach");
    command.add_option("--servers", options->servers_file, "More servers, one address a line")->type_name("FILE");
    command.add_option("--transport", options->plan.transport, "The transport to use, if the addresses name several");
    security::add_tls_options(command, options->plan.tls);
    command
        .add_option_function<std::string>(
            "-s,--size", [options](const std::string& text) { options->size = parse_bytes(text).value(); },
            "Bytes of a call in each direction, at most 1M, or of a transfer (by default 1M), optionally with k or M")
        ->default_str("64")
        ->check(check_size);
    auto* bulk = command.add_flag("--bulk", options->bulk, "Transfers in place of calls; every byte is checked");
    command
        .add_option_function<std::string>(
            "--direction",
            [options](const std::string& word) {
                options->direction = word == "push" ? Direction::push : Direction::pull;
            },
            "pull: the others read the memory of a server; push: they write to it")
        ->default_str("pull")
        ->check(CLI::IsMember({"pull", "push"}))
        ->needs(bulk);
    command.add_option("-d,--depth", options->plan.depth, "In flight from each server to each other one")
        ->capture_default_str()
        ->check(CLI::Range(1u, load_depth_max));
    command.add_option("-t,--seconds", options->plan.seconds, "Seconds that are measured")
        ->capture_default_str()
        ->check(CLI::Range(0.001, 60.0));
    command.add_option("--warm-up", options->plan.warm_up_seconds, "Seconds of warm-up, not counted")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 60.0));
    add_timeout(command, options->plan.deadline, 60);
    add_print(command, options->print, "A line of JSON for each pair, and one for all");
    command.callback([options, &run] { run = [options] { return run_mesh(*options); }; });
}

void add_group(CLI::App& perf, Run& run) {
    auto& command = *perf.add_subcommand(
        "group", "Collective calls of a group: cinnabar launch -n 8 -- cinnabar perf group [--size 64,4k]");
    const auto options = std::make_shared<GroupOptions>();
    command.add_option("--listen", options->listen, "Where each process listens: tcp://HOST:PORT, shm://")
        ->type_name("URI")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->capture_default_str();
    security::add_tls_options(command, options->tls);
    add_sizes(command, options->sizes, "64");
    command
        .add_option_function<std::vector<std::string>>(
            "--bulk", [options](const std::vector<std::string>& texts) { options->bulk_sizes = sizes_of(texts); },
            "Also move so many bytes to and from each member, optionally with k, M or G")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(check_size);
    add_list(command, "-m,--members", options->members, "Members that take part (default: all that were started)")
        ->check(CLI::Range(2u, 65'536u));
    command.add_option("--rounds", options->rounds, "Rounds of each row")
        ->capture_default_str()
        ->check(CLI::Range(1u, 1'000'000u));
    command.add_flag("--json", options->json, "A line of JSON for each row");
    command.callback([options, &run] { run = [options] { return run_group(*options); }; });
}

void add_faults(CLI::App& command, Faults& faults) {
    const auto milliseconds = [&command](const std::string& name, std::chrono::milliseconds& value,
                                         const std::string& what) {
        command
            .add_option_function<std::uint32_t>(
                name, [&value](std::uint32_t count) { value = std::chrono::milliseconds(count); }, what)
            ->group("A server with faults, to see what clients tell of it");
    };
    const auto count = [&command](const std::string& name, std::uint64_t& value, const std::string& what) {
        command.add_option(name, value, what)->group("A server with faults, to see what clients tell of it");
    };
    milliseconds("--stall", faults.stall, "Milliseconds in which it answers nothing ...");
    milliseconds("--stall-every", faults.stall_every, "... once in so many milliseconds");
    count("--drop-every", faults.drop_every, "Every nth call gets no answer");
    count("--corrupt-every", faults.corrupt_every, "Flip a bit in every nth answer and transfer");
    count("--die-after", faults.die_after, "Kill itself after this many calls or transfers");
}

void add_serve(CLI::App& perf, Run& run) {
    auto& command = *perf.add_subcommand("serve", "The server that is measured");
    const auto options = std::make_shared<ServeOptions>();
    command
        .add_option("--listen", options->listen,
                    "Where to listen, tcp://HOST[:PORT] or shm://[NAME]; may be given several times")
        ->default_str("tcp://127.0.0.1:0");
    security::add_tls_options(command, options->tls);
    command.add_flag("--insecure", options->insecure, "Listen where other hosts can connect");
    command
        .add_option_function<std::string>(
            "--memory", [options](const std::string& text) { options->memory_bytes = parse_bytes(text).value(); },
            "Memory for bulk transfers, of all clients together")
        ->default_str("256M")
        ->check(check_size);
    command.add_option("--contexts", options->contexts, "Contexts, each with a thread, over which clients spread")
        ->capture_default_str()
        ->check(CLI::Range(1u, 64u));
    command.add_flag("--mesh", options->mesh,
                     "Run loads towards other servers for everybody who can connect (cinnabar perf mesh)");
    watch::add_introspection(command, options->introspection);
    add_faults(command, options->faults);
    command.callback([options, &run] {
        if (options->listen.empty()) options->listen.emplace_back("tcp://127.0.0.1:0");
        if (options->faults.stall > options->faults.stall_every)
            throw CLI::ValidationError("--stall", "give a --stall-every at least as long");
        run = [options] { return run_serve(*options); };
    });
}

}  // namespace

void add_command(CLI::App& app, Run& run) {
    auto& perf = *app.add_subcommand("perf", "Measure calls and bulk transfers");
    perf.require_subcommand(1);
    add_serve(perf, run);
    add_calls(perf, run);
    add_bulk(perf, run);
    add_all(perf, run);
    add_mesh(perf, run);
    add_group(perf, run);
}

}  // namespace cinnabar::tools::perf
