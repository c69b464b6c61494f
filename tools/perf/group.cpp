// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar perf group`: one of the processes that together measure collective calls.
#include "commands/descriptors.hpp"
#include "perf/command.hpp"
#include "perf/group_bulk.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/group/bootstrap.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/with_deadline.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace cinnabar::tools::perf {
namespace {

using cinnabar::group::Group;
using cinnabar::group::Source;

constexpr Microseconds patience{120'000'000};
// How long members wait for the one that measures a row. The group detects members that die meanwhile.
constexpr Microseconds longest_row{3'600'000'000};
constexpr std::uint64_t bulk_bytes_max = std::uint64_t{1} << 30;
constexpr std::uint64_t bulk_rounds_min = 3;

// Enough rounds to move 1 GiB to a member, within limits.
std::uint32_t bulk_rounds(const GroupOptions& options, std::uint64_t bytes) {
    const std::uint64_t rounds = std::max<std::uint64_t>(bulk_bytes_max / bytes, bulk_rounds_min);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(rounds, options.rounds));
}

// Bytes per second to all members, or from them.
double rate_of(const GroupRow& row, const GroupFigures& figures) {
    const auto ns = static_cast<double>(figures.times.quantile(0.5));
    return ns == 0 ? 0 : static_cast<double>(row.bytes * (row.members - 1)) * 1e9 / ns;
}

std::vector<GroupRow> rows_of(const GroupOptions& options, std::uint32_t all) {
    std::vector<GroupRow> rows;
    const std::vector<std::uint32_t> counts = options.members.empty() ? std::vector{all} : options.members;
    for (const std::uint32_t members : counts) {
        for (const Collective collective : {Collective::broadcast, Collective::reduce}) {
            for (const std::uint64_t bytes : options.sizes)
                rows.push_back({collective, members, bytes, options.rounds});
        }
        rows.push_back({Collective::barrier, members, 0, options.rounds});
        for (const Collective collective :
             {Collective::broadcast_bulk, Collective::scatter_bulk, Collective::gather_bulk}) {
            for (const std::uint64_t bytes : options.bulk_sizes)
                rows.push_back({collective, members, bytes, bulk_rounds(options, bytes)});
        }
    }
    return rows;
}

std::uint64_t failures_of(const GroupFigures& figures) {
    std::uint64_t count = figures.wrong;
    for (const auto& [code, times] : figures.failed) count += times;
    return count;
}

std::string text_of(const GroupRow& row, const GroupFigures& figures) {
    const auto us = [](double ns) { return ns / 1000; };
    const Histogram& times = figures.times;
    std::string text = fmt::format("{:<14} {:>7} {:>10} {:>7} {:>9.1f} {:>9.1f} {:>9.1f} {:>9.1f}",
                                   to_string(row.collective), row.members, row.bytes, times.count(),
                                   us(static_cast<double>(times.min())), us(static_cast<double>(times.quantile(0.5))),
                                   us(times.mean()), us(static_cast<double>(times.quantile(0.99))));
    if (is_bulk(row.collective)) text += fmt::format("  {}", human_rate(rate_of(row, figures)));
    for (const auto& [code, count] : figures.failed) text += fmt::format("  {} failed: {}", count, to_string(code));
    if (figures.wrong != 0) text += fmt::format("  {} were wrong", figures.wrong);
    return text;
}

std::string json_of(const GroupRow& row, const GroupFigures& figures) {
    JsonObject object;
    object.text("collective", to_string(row.collective)).number("members", std::uint64_t{row.members});
    object.number("bytes", row.bytes).number("rounds", figures.times.count()).number("failed", failures_of(figures));
    object.number("min_ns", figures.times.min()).number("p50_ns", figures.times.quantile(0.5));
    object.number("mean_ns", figures.times.mean()).number("p99_ns", figures.times.quantile(0.99));
    if (is_bulk(row.collective)) object.number("bytes_per_second", rate_of(row, figures));
    return object.line();
}

Result<Source> source_of_launch() {
    auto source = Source::from_environment();
    if (source.code() != Errc::not_found) return source;
    return Error(Errc::invalid_argument, "start it by cinnabar launch: cinnabar launch -n 4 -- cinnabar perf group");
}

Result<void> check_members(const GroupOptions& options, std::uint32_t all) {
    for (const std::uint32_t members : options.members) {
        if (members >= 2 && members <= all) continue;
        return Error(Errc::invalid_argument, "--members: give 2 up to the number started", std::to_string(members));
    }
    if (all < 2) return Error(Errc::invalid_argument, "start at least two members");
    return {};
}

Result<void> measure(const GroupOptions& options, const Interrupt& interrupt) {
    CINNABAR_TRY(Source source, source_of_launch());
    const std::uint32_t all = source.size;
    CINNABAR_TRY_VOID(check_members(options, all));
    hl::NodeOptions opening;
    opening.transport.tls = options.tls;
    CINNABAR_TRY(const hl::Node node, hl::Node::listen(options.listen, std::move(opening)));
    CINNABAR_TRY(const Group group, sync_wait(cinnabar::group::bootstrap(node, std::move(source)), interrupt.token()));
    const auto memory = std::make_shared<BulkMemory>(node);
    CINNABAR_TRY_VOID(serve_rows(group, memory));
    CINNABAR_TRY_VOID(sync_wait(hl::with_deadline(group.wait_for_members(all), patience), interrupt.token()));
    const bool prints = group.rank() == 0;
    if (prints && !options.json)
        print_line(
            "collective     members      bytes  rounds       min       p50      mean       p99   (microseconds)");
    std::uint64_t failures = 0;
    for (const GroupRow& row : rows_of(options, all)) {
        CINNABAR_TRY(const GroupFigures figures,
                     sync_wait(run_row(group, row, memory, longest_row), interrupt.token()));
        failures += failures_of(figures);
        if (prints) print_line(options.json ? json_of(row, figures) : text_of(row, figures));
    }
    CINNABAR_TRY_VOID(sync_wait(all_here(group, longest_row), interrupt.token()));
    group.leave();
    if (failures == 0) return {};
    return Error(Errc::peer_lost, "some rounds failed, or had a wrong result; they are not in the figures");
}

}  // namespace

ExitCode run_group(const GroupOptions& options) {
    raise_descriptor_limit();
    const Interrupt interrupt;
    const auto measured = measure(options, interrupt);
    if (measured) return ExitCode::ok;
    complain(measured.error().message());
    return exit_code(measured.code());
}

}  // namespace cinnabar::tools::perf
