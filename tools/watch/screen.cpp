// SPDX-License-Identifier: BSD-3-Clause
#include "watch/screen.hpp"

#include "terminal/units.hpp"
#include "watch/calls_text.hpp"
#include "watch/sparkline.hpp"
#include "watch/tabs.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace cinnabar::tools::watch {
namespace {

std::string duration(std::uint64_t us) {
    return human_duration(std::chrono::duration<double>(static_cast<double>(us) / 1e6));
}

void sort(std::vector<RpcRow>& rows, Order order) {
    std::ranges::stable_sort(rows, [order](const RpcRow& a, const RpcRow& b) {
        switch (order) {
            case Order::rate:
                return a.per_second > b.per_second;
            case Order::p99:
                return a.p99_us > b.p99_us;
            case Order::failed:
                return a.failed > b.failed;
            case Order::name:
                break;
        }
        return a.name < b.name;
    });
}

std::vector<std::string> rpc_lines(std::vector<RpcRow> rows, const View& view) {
    const std::size_t spark =
        view.width == 0 ? History::kept : std::clamp<std::size_t>(view.width / 4, 8, History::kept) - 4;
    Table table({{"rpc", 0, false},
                 {"rate/s", 9},
                 {"failed", 8},
                 {"p50", 8},
                 {"p99", 8},
                 {"requests", 10},
                 {"", spark, false}});
    sort(rows, view.order);
    for (const RpcRow& row : rows) {
        table.add({printable(row.name), fmt::format("{:.1f}", row.per_second), fmt::format("{}", row.failed),
                   latency_text(row.p50_us), latency_text(row.p99_us), fmt::format("{}", row.requests + row.calls),
                   sparkline(row.past, spark)});
    }
    return table.lines(view.width);
}

// Narrower screens leave out the columns that need more.
struct PeerColumn {
    Table::Column column;
    std::size_t from_width;
    std::string (*cell)(const PeerRow& row);
};

std::string bytes_text(const PeerRow& row, std::uint64_t look::PeerTraffic::*field) {
    return row.traffic ? human_bytes((*row.traffic).*field) : "-";
}

constexpr std::size_t medium = 100;
constexpr std::size_t wide = 160;
constexpr std::array<PeerColumn, 13> peer_columns{{
    {{"peer", 0, false}, 0, [](const PeerRow& row) { return printable(row.report.peer); }},
    {{"state", 10, false}, 0, [](const PeerRow& row) { return printable(row.report.state); }},
    {{"in", 5}, 0, [](const PeerRow& row) { return fmt::format("{}", row.report.requests); }},
    {{"out", 5}, 0, [](const PeerRow& row) { return fmt::format("{}", row.report.calls_sent); }},
    {{"queue", 5}, 0, [](const PeerRow& row) { return fmt::format("{}", row.report.calls_queued); }},
    {{"unsent", 6}, wide, [](const PeerRow& row) { return fmt::format("{}", row.report.replies_unsent); }},
    {{"credits", 8},
     medium,
     [](const PeerRow& row) { return fmt::format("{}/{}", row.report.credits, row.report.credits_given); }},
    {{"sent", 9}, wide, [](const PeerRow& row) { return bytes_text(row, &look::PeerTraffic::bytes_sent); }},
    {{"received", 9}, wide, [](const PeerRow& row) { return bytes_text(row, &look::PeerTraffic::bytes_received); }},
    {{"bytes/s", 9},
     0,
     [](const PeerRow& row) { return row.past.empty() ? std::string("-") : human_rate(row.bytes_per_second); }},
    {{"p50", 8}, wide, [](const PeerRow& row) { return latency_text(static_cast<double>(row.report.p50_us)); }},
    {{"p99", 8}, 0, [](const PeerRow& row) { return latency_text(static_cast<double>(row.report.p99_us)); }},
    {{"silent", 8},
     0,
     [](const PeerRow& row) { return row.report.silent_us == 0 ? std::string("-") : duration(row.report.silent_us); }},
}};

std::vector<std::string> peer_lines(std::vector<PeerRow> peers, const View& view) {
    std::ranges::stable_sort(peers, [&view](const PeerRow& one, const PeerRow& other) {
        const look::PeerReport& a = one.report;
        const look::PeerReport& b = other.report;
        if (view.order == Order::name) return a.peer < b.peer;
        return a.requests + a.calls_sent + a.calls_queued > b.requests + b.calls_sent + b.calls_queued;
    });
    const std::size_t spark =
        view.width == 0 ? History::kept : std::clamp<std::size_t>(view.width / 10, 8, History::kept);
    std::vector<PeerColumn> shown;
    std::vector<Table::Column> columns;
    for (const PeerColumn& each : peer_columns) {
        if (view.width != 0 && view.width < each.from_width) continue;
        shown.push_back(each);
        columns.push_back(each.column);
    }
    columns.push_back({"", spark, false});
    Table table(std::move(columns));
    for (const PeerRow& row : peers) {
        std::vector<std::string> cells;
        for (const PeerColumn& each : shown) cells.push_back(each.cell(row));
        cells.push_back(sparkline(row.past, spark));
        table.add(std::move(cells));
    }
    return table.lines(view.width);
}

std::vector<std::string> call_lines(std::vector<look::CallReport> calls, const View& view) {
    sort_by_age(calls);
    const std::size_t why = view.width == 0 ? 100 : std::max<std::size_t>(view.width / 2, 30);
    Table table({{"rpc", 0, false}, {"side", 4, false}, {"age", 8}, {"why", why, false}});
    for (const auto& call : calls) {
        table.add({printable(call.rpc), call.as_target ? "in" : "out",
                   call.age_us == 0 ? "-" : latency_text(static_cast<double>(call.age_us)), reason_of(call)});
    }
    return table.lines(view.width);
}

std::vector<std::string> log_lines(const std::vector<look::LineReport>& lines, const View& view) {
    Table table({{"age", 8}, {"level", 7, false}, {"module", 8, false}, {"text", 0, false}});
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
        table.add({duration(line->age_us), line->level, line->module, printable(line->text)});
    }
    return table.lines(view.width);
}

std::vector<std::string> tab_lines(const State& state, std::vector<RpcRow> rows, const History& history,
                                   const View& view) {
    switch (view.tab) {
        case Tab::rpcs:
            return rpc_lines(std::move(rows), view);
        case Tab::peers:
            return peer_lines(history.peers(state), view);
        case Tab::calls:
            return call_lines(state.calls, view);
        case Tab::time:
            return time_lines(state, rows, view.width, view.height / 3);
        case Tab::pools:
            return pool_lines(state, view.width);
        case Tab::memory:
            return memory_lines(state, view.width);
        case Tab::log:
            break;
    }
    auto lines = failure_lines(state, view.width, view.height / 3);
    for (std::string& line : log_lines(state.node.lines, view)) lines.push_back(std::move(line));
    return lines;
}

std::uint64_t sum_of(const State& state, std::uint32_t look::ContextReport::*field) {
    std::uint64_t sum = 0;
    for (const auto& context : state.node.contexts) sum += context.*field;
    return sum;
}

std::string second_line(const State& state, const std::string& address, const View& view) {
    if (!view.trouble.empty()) return fmt::format("{}: {}", printable(address), view.trouble);
    return fmt::format("{} (process {}{})", printable(address), state.node.process,
                       state.node.draining ? ", draining" : "");
}

// The keys, close together where the screen is narrow.
std::string keys_line(const View& view) {
    constexpr std::array<std::string_view, 4> orders{"rate", "p99", "failed", "name"};
    const std::string sort = fmt::format("s sort ({})", orders[static_cast<std::size_t>(view.order)]);
    std::string line = fmt::format("r RPCs  p peers  c calls  w time  t pools  m memory  l log  {}  q quit", sort);
    if (line.size() <= view.width) return line;
    return fmt::format("r RPCs|p peers|c calls|w time|t pools|m memory|l log|{}|q quit", sort);
}

}  // namespace

std::string latency_text(double us) { return us == 0 ? "-" : human_latency(std::chrono::duration<double>(us / 1e6)); }

std::string summary(const State& state, const std::vector<RpcRow>& rows, const History& history) {
    double rate = 0;
    double failed = 0;
    for (const RpcRow& row : rows) {
        rate += row.per_second;
        failed += row.failed_per_second;
    }
    return fmt::format("up {}, {:.1f} calls/s, {:.1f} failed/s, {} in, {} out, {} queued, {} connections, {:.0f} % cpu",
                       duration(state.node.up_us), rate, failed, sum_of(state, &look::ContextReport::requests),
                       sum_of(state, &look::ContextReport::calls), sum_of(state, &look::ContextReport::queued),
                       sum_of(state, &look::ContextReport::connections), 100 * history.processor_share());
}

std::vector<std::string> plain_lines(const State& state, std::vector<RpcRow> rows, const History& history, Tab tab) {
    auto lines = tab_lines(state, std::move(rows), history, {tab, Order::rate, 0, 0});
    for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
    return lines;
}

std::vector<std::string> draw(const State& state, std::vector<RpcRow> rows, const History& history,
                              const std::string& address, const View& view) {
    std::vector<std::string> lines;
    lines.push_back(fit(summary(state, rows, history), view.width));
    lines.push_back(fit(second_line(state, address, view), view.width));
    for (std::string& line : tab_lines(state, std::move(rows), history, view)) {
        if (lines.size() + 1 < view.height) lines.push_back(fit(line, view.width));
    }
    lines.resize(std::max<std::size_t>(view.height, 1), std::string());
    lines.back() = fit(keys_line(view), view.width);
    return lines;
}

}  // namespace cinnabar::tools::watch
