// SPDX-License-Identifier: BSD-3-Clause
#include "perf/mesh_output.hpp"

#include "perf/output.hpp"
#include "perf/results.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

namespace cinnabar::tools::perf {
namespace {

constexpr std::size_t troubles_shown_max = 20;

std::string latency_text(std::uint64_t nanoseconds) { return human_latency(std::chrono::nanoseconds(nanoseconds)); }

// Why a pair has no figure: of the server, or of its calls.
std::string reason_of(const MeshServer& origin, const MeshPair* pair) {
    if (!pair) return std::string(to_string(origin.lost ? origin.lost->code : Errc::ok));
    if (pair->outcomes.wrong > 0) return "wrong bytes";
    return pair->outcomes.nothing() ? "nothing" : std::string(to_string(pair->outcomes.first_failure));
}

enum class Figure : std::uint8_t { rate, bandwidth, p99 };

std::string figure_text(const MeshPair& pair, Figure figure) {
    switch (figure) {
        case Figure::rate:
            return count_text(pair.per_second);
        case Figure::bandwidth:
            return human_rate(pair.bytes_per_second);
        case Figure::p99:
            break;
    }
    return latency_text(pair.latency().quantile(0.99));
}

std::string cell_of(const MeshResults& results, std::size_t origin, std::size_t target, Figure figure) {
    if (origin == target) return "-";
    const MeshPair* const pair = results.pair(origin, target);
    if (!pair || !pair->well()) return reason_of(results.servers[origin], pair);
    return figure_text(*pair, figure);
}

void append_matrix(std::vector<std::string>& lines, const MeshResults& results, const std::string& title,
                   Figure figure) {
    const std::size_t count = results.servers.size();
    std::vector<std::string> cells;
    std::size_t width = std::to_string(count).size();
    for (std::size_t i = 0; i < count * count; ++i) {
        cells.push_back(cell_of(results, i / count, i % count, figure));
        width = std::max(width, cells.back().size());
    }
    std::string head = fmt::format("{:>4}", "");
    for (std::size_t target = 1; target <= count; ++target) head += fmt::format("  {:>{}}", target, width);
    lines.emplace_back();
    lines.push_back(title);
    lines.push_back(std::move(head));
    for (std::size_t origin = 0; origin < count; ++origin) {
        auto line = fmt::format("{:>4}", origin + 1);
        for (std::size_t target = 0; target < count; ++target)
            line += fmt::format("  {:>{}}", cells[origin * count + target], width);
        lines.push_back(std::move(line));
    }
}

// A line for each pair whose calls did not all end well, as far as there is room.
void append_troubles(std::vector<std::string>& lines, const MeshResults& results) {
    std::vector<std::string> troubles;
    for (std::size_t origin = 0; origin < results.servers.size(); ++origin) {
        for (std::size_t target = 0; target < results.servers.size(); ++target) {
            const MeshPair* const pair = results.pair(origin, target);
            if (!pair || pair->well()) continue;
            troubles.push_back(fmt::format("  {} to {}: {}; {} ended well{}", origin + 1, target + 1,
                                           pair->outcomes.text(), pair->outcomes.done,
                                           pair->gave_up ? ", then it gave up" : ""));
        }
    }
    if (troubles.empty()) return;
    lines.emplace_back();
    lines.emplace_back("not counted:");
    const std::size_t shown = std::min(troubles.size(), troubles_shown_max);
    lines.insert(lines.end(), troubles.begin(), troubles.begin() + static_cast<std::ptrdiff_t>(shown));
    if (shown < troubles.size())
        lines.push_back(fmt::format("  and {} more pairs: --json tells all", troubles.size() - shown));
}

std::string total_text(const MeshResults& results) {
    const MeshTotal total = results.total();
    if (total.well == 0) return fmt::format("none of {} pairs went well", total.pairs);
    const auto& latency = total.latency;
    return fmt::format(
        "{} of {} pairs, together {}; min {}, p50 {}, p99 {}, p99.9 {}, max {}; {} {} checked", total.well, total.pairs,
        results.plan.bulk ? human_rate(total.bytes_per_second) : count_text(total.per_second) + " calls/s",
        latency_text(latency.min()), latency_text(latency.quantile(0.5)), latency_text(latency.quantile(0.99)),
        latency_text(latency.quantile(0.999)), latency_text(latency.max()), human_bytes(total.checked_bytes),
        results.plan.bulk ? "of transfers" : "of replies");
}

std::string transports_of(const MeshResults& results) {
    std::set<std::string> transports;
    for (const auto& server : results.servers) {
        for (const auto& pair : server.to_others) transports.insert(pair.transport);
    }
    transports.erase("");
    std::string text;
    for (const auto& each : transports) text += (text.empty() ? " over " : ", ") + printable(each);
    return text;
}

// Of transfers: how fast the bytes go, and which way.
void add_bandwidth(JsonObject& object, const MeshPlan& plan, double bytes_per_second, bool known) {
    if (!plan.bulk) return;
    object.text("direction", to_string(*plan.bulk));
    if (known)
        object.number("bytes_per_second", bytes_per_second);
    else
        object.raw("bytes_per_second", "null");
}

std::string pair_json(const MeshResults& results, std::size_t origin, std::size_t target) {
    const auto& server = results.servers[origin];
    JsonObject object;
    object.text("event", "pair").name("origin", server.uri).name("target", results.servers[target].uri);
    const MeshPair* const pair = results.pair(origin, target);
    const MeshPair none;
    const MeshPair& it = pair ? *pair : none;
    const bool well = pair && pair->well();
    object.text("transport", it.transport);
    if (well)
        object.number("per_second", it.per_second);
    else
        object.raw("per_second", "null");
    add_bandwidth(object, results.plan, it.bytes_per_second, well);
    object.raw("latency_ns", latency_json(well ? it.latency() : Histogram(load_latency_bits)));
    object.number("done", it.outcomes.done).number("failed", it.outcomes.failed());
    object.raw("failed_by", it.outcomes.failed_json()).number("wrong", it.outcomes.wrong);
    object.number("checked_bytes", it.checked_bytes).flag("gave_up", it.gave_up);
    if (server.lost) object.failure(*server.lost);
    const ExitCode exit = server.lost ? exit_code(server.lost->code) : it.outcomes.exit();
    return object.number("exit", static_cast<std::uint64_t>(exit)).line();
}

std::string total_json(const MeshResults& results) {
    const MeshTotal total = results.total();
    JsonObject object;
    object.text("event", "total").number("servers", std::uint64_t{results.servers.size()});
    object.number("size", results.plan.size).number("depth", std::uint64_t{results.plan.depth});
    object.number("seconds", results.plan.seconds).number("warm_up_seconds", results.plan.warm_up_seconds);
    object.number("pairs", total.pairs).number("well", total.well).number("per_second", total.per_second);
    add_bandwidth(object, results.plan, total.bytes_per_second, true);
    object.raw("latency_ns", latency_json(total.latency)).number("done", total.done).number("failed", total.failed);
    object.number("wrong", total.wrong).number("checked_bytes", total.checked_bytes);
    return object.number("exit", static_cast<std::uint64_t>(results.exit())).line();
}

std::string csv_cell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == text.npos) return text;
    std::string cell = "\"";
    for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
    return cell + '"';
}

std::string pair_csv(const MeshResults& results, std::size_t origin, std::size_t target) {
    const auto& server = results.servers[origin];
    const MeshPair* const pair = results.pair(origin, target);
    const MeshPair none;
    const MeshPair& it = pair ? *pair : none;
    const bool well = pair && pair->well();
    std::string bandwidth;  // the cells that only transfers have
    if (results.plan.bulk)
        bandwidth = fmt::format("{},{},", to_string(*results.plan.bulk),
                                well ? fmt::format("{:.6g}", it.bytes_per_second) : std::string());
    return fmt::format("{},{},{},{},{},{:.6g},{},{},{},{},{},{},{}{}", csv_cell(server.uri),
                       csv_cell(results.servers[target].uri), csv_cell(it.transport), results.plan.size,
                       results.plan.depth, results.plan.seconds, it.outcomes.done, it.outcomes.failed(),
                       it.outcomes.wrong, well ? fmt::format("{:.1f}", it.per_second) : std::string(),
                       latency_cells(well ? it.latency() : Histogram(load_latency_bits)), it.checked_bytes, bandwidth,
                       well ? std::string() : reason_of(server, pair));
}

std::string_view verb_of(const MeshPlan& plan) {
    if (!plan.bulk) return "calls all others";
    return *plan.bulk == Direction::pull ? "is read by all others" : "is written by all others";
}

// A line of each pair.
template <typename LineOf>
void append_pairs(std::vector<std::string>& lines, const MeshResults& results, LineOf line_of) {
    for (std::size_t origin = 0; origin < results.servers.size(); ++origin) {
        for (std::size_t target = 0; target < results.servers.size(); ++target) {
            if (origin != target) lines.push_back(line_of(results, origin, target));
        }
    }
}

}  // namespace

std::vector<std::string> mesh_text(const MeshResults& results) {
    const auto& plan = results.plan;
    std::vector<std::string> lines{fmt::format("each of {} servers {}{}: {}, depth {}, {} s after {} s",
                                               results.servers.size(), verb_of(plan), transports_of(results),
                                               size_text(plan.size), plan.depth, plan.seconds, plan.warm_up_seconds)};
    for (std::size_t i = 0; i < results.servers.size(); ++i) {
        const auto& server = results.servers[i];
        const auto state = server.lost ? explain(*server.lost, server.uri) : "cinnabar " + printable(server.release);
        lines.push_back(fmt::format("{:>4}  {}  {}", i + 1, printable(server.uri), state));
    }
    if (plan.bulk) {
        append_matrix(lines, results,
                      *plan.bulk == Direction::pull ? "bandwidth to the server of the column from that of the row"
                                                    : "bandwidth from the server of the column to that of the row",
                      Figure::bandwidth);
        append_matrix(lines, results, "p99 of these transfers", Figure::p99);
    } else {
        append_matrix(lines, results, "calls/s from the server of the row to that of the column", Figure::rate);
        append_matrix(lines, results, "p99 of these calls", Figure::p99);
    }
    append_troubles(lines, results);
    lines.emplace_back();
    lines.push_back(total_text(results));
    return lines;
}

std::vector<std::string> mesh_json(const MeshResults& results) {
    std::vector<std::string> lines;
    append_pairs(lines, results, pair_json);
    lines.push_back(total_json(results));
    return lines;
}

std::vector<std::string> mesh_csv(const MeshResults& results) {
    std::vector<std::string> lines{
        "origin,target,transport,size,depth,seconds,done,failed,wrong,per_second,min_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,"
        "p99.99_ns,max_ns,mean_ns,checked_bytes," +
        std::string(results.plan.bulk ? "direction,bytes_per_second," : "") + "error"};
    append_pairs(lines, results, pair_csv);
    return lines;
}

}  // namespace cinnabar::tools::perf
