// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"
#include "commands/commands.hpp"
#include "commands/reach.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/files/ping.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <vector>

namespace cinnabar::tools {
namespace {

using Seconds = std::chrono::duration<double>;

struct Statistics {
    double least = 0;
    double mean = 0;
    double most = 0;
    double deviation = 0;
};

Statistics statistics_of(const std::vector<double>& samples) {
    Statistics statistics;
    if (samples.empty()) return statistics;
    const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
    statistics.least = *least;
    statistics.most = *most;
    const auto count = static_cast<double>(samples.size());
    for (const double sample : samples) statistics.mean += sample / count;
    double squares = 0;
    for (const double sample : samples) squares += (sample - statistics.mean) * (sample - statistics.mean);
    statistics.deviation = std::sqrt(squares / count);
    return statistics;
}

void print_reply(const PingOptions& options, std::uint32_t number, double seconds) {
    if (!options.json)
        return print_line(fmt::format("{}: {} time={}", options.to, number, human_latency(Seconds(seconds))));
    JsonObject object;
    object.text("event", "reply").number("number", std::uint64_t{number}).number("seconds", seconds);
    print_line(object.line());
}

void print_failure(const PingOptions& options, std::uint32_t number, const Error& error) {
    if (!options.json) return complain(fmt::format("{}: {}", options.to, error.message()));
    JsonObject object;
    object.text("event", "failure").number("number", std::uint64_t{number}).failure(error);
    print_line(object.line());
}

void print_summary(const PingOptions& options, std::string_view transport, std::uint64_t sent,
                   const std::vector<double>& samples, ExitCode exit) {
    const auto statistics = statistics_of(samples);
    if (options.json) {
        JsonObject object;
        object.text("event", "summary")
            .text("transport", transport)
            .number("sent", sent)
            .number("received", std::uint64_t{samples.size()});
        if (!samples.empty()) {
            object.number("min_seconds", statistics.least).number("mean_seconds", statistics.mean);
            object.number("max_seconds", statistics.most).number("deviation_seconds", statistics.deviation);
        }
        object.number("exit", static_cast<std::uint64_t>(exit));
        return print_line(object.line());
    }
    print_line(fmt::format("{} sent, {} received", sent, samples.size()));
    if (samples.empty()) return;
    print_line(fmt::format("round trip min {}, mean {}, max {}, deviation {}", human_latency(Seconds(statistics.least)),
                           human_latency(Seconds(statistics.mean)), human_latency(Seconds(statistics.most)),
                           human_latency(Seconds(statistics.deviation))));
}

// Without a reply and without a failure it was interrupted.
ExitCode exit_after(const std::vector<double>& samples, std::optional<ExitCode> failed) {
    return samples.empty() ? failed.value_or(ExitCode::interrupted) : ExitCode::ok;
}

Result<ExitCode> ping(const PingOptions& options, const Interrupt& interrupt) {
    CINNABAR_TRY(const auto remote, parse_remote_path(options.to));
    CINNABAR_TRY(const auto reached, reach(remote.server, options.transport, 1, options.tls));
    if (!options.json) print_line("over " + way_to(reached));
    const auto timeout = std::chrono::duration_cast<Microseconds>(Seconds(options.timeout_seconds));
    std::vector<double> samples;
    std::optional<ExitCode> failed;
    std::uint64_t sent = 0;
    const std::stop_token stop = interrupt.token();
    for (std::uint32_t number = 1; number <= options.count && !interrupt.happened(); ++number) {
        ++sent;
        hl::CallOptions call;
        call.deadline = timeout;
        call.stop = &stop;
        const auto begin = std::chrono::steady_clock::now();
        const auto answer = reached.node.call(files::ping_rpc, reached.peer, std::uint64_t{number}, call).wait();
        const Seconds took = std::chrono::steady_clock::now() - begin;
        if (answer && *answer == number) {
            samples.push_back(took.count());
            print_reply(options, number, took.count());
        } else if (answer.code() != Errc::canceled || !interrupt.happened()) {
            const Error error = answer ? Error{Errc::protocol, "the reply does not match"} : answer.error();
            print_failure(options, number, error);
            if (!failed) failed = exit_code(error.code);
        }
        if (number < options.count && interrupt.wait_for(Seconds(options.interval_seconds))) break;
    }
    const auto exit = exit_after(samples, failed);
    print_summary(options, reached.node.transport_to(reached.peer), sent, samples, exit);
    return exit;
}

}  // namespace

ExitCode run_ping(const PingOptions& options) {
    const Interrupt interrupt;
    const auto exit = ping(options, interrupt);
    if (exit) return *exit;
    complain(options.to + ": " + explain(exit.error(), options.to));
    return exit_code(exit.code());
}

}  // namespace cinnabar::tools
