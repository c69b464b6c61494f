// SPDX-License-Identifier: BSD-3-Clause
#include "watch/tabs.hpp"

#include "terminal/units.hpp"
#include "watch/screen.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cinnabar::tools::watch {
namespace {

constexpr std::size_t width_for_longest = 110;  // of a screen with a column for the longest part
constexpr std::size_t width_for_parts = 150;    // of a screen with a column for each part

std::string_view side_of(bool as_target) { return as_target ? "in" : "out"; }

void append(std::vector<std::string>& lines, std::vector<std::string> more) {
    std::move(more.begin(), more.end(), std::back_inserter(lines));
}

std::vector<std::string> under_way_lines(const State& state, std::size_t width, std::size_t rows_max) {
    Table table({{"calls in progress", 0, false},
                 {"side", 4, false},
                 {"calls", 6},
                 {"oldest", 8},
                 {"where they are", 32, false}});
    const auto rows = under_way(state);
    const std::size_t shown = rows_max == 0 ? rows.size() : std::min(rows.size(), rows_max);
    for (std::size_t i = 0; i < shown; ++i) {
        const UnderWay& row = rows[i];
        table.add({printable(row.name), std::string(side_of(row.as_target)), fmt::format("{}", row.calls),
                   latency_text(static_cast<double>(row.oldest_us)), std::string(to_string(row.phase))});
    }
    return table.lines(width);
}

std::vector<std::string> time_cells(const TimeRow& row, bool all_parts) {
    std::vector<std::string> cells;
    if (all_parts) {
        for (std::size_t i = 0; i < hl::call_parts; ++i)
            cells.push_back(row.has(static_cast<hl::CallPart>(i)) ? latency_text(row.parts_us[i]) : "-");
        return cells;
    }
    constexpr std::size_t of_handler = 3;
    const auto coarse_us = row.coarse_us();
    for (std::size_t i = 0; i < coarse_us.size(); ++i)
        cells.push_back(!row.as_target || i == of_handler ? latency_text(coarse_us[i]) : "-");
    return cells;
}

std::vector<std::string> part_lines(const std::vector<RpcRow>& rows, std::size_t width) {
    const bool names_longest = width == 0 || width >= width_for_longest;
    const bool all_parts = width == 0 || width >= width_for_parts;
    std::vector<Table::Column> columns{{"mean time of calls", 0, false}, {"side", 4, false}, {"timed", 7}};
    if (all_parts) {
        for (const char* const part :
             {"connect", "credit", "to send", "there", "waiting", "handler", "bulk", "back", "caller"})
            columns.push_back({part, 8});
    } else {
        for (const char* const part : {"leaving", "on wire", "waiting", "handler", "caller"})
            columns.push_back({part, 8});
    }
    if (names_longest) columns.push_back({"mostly", 29, false});
    Table table(std::move(columns));
    for (const TimeRow& row : time_rows(rows)) {
        std::vector<std::string> cells{printable(row.name), std::string(side_of(row.as_target)),
                                       fmt::format("{}", row.counted)};
        append(cells, time_cells(row, all_parts));
        if (names_longest) {
            const auto longest = row.longest();
            const double all = row.sum_us();
            const double share = all > 0 ? 100 * row.parts_us[static_cast<std::size_t>(longest)] / all : 0;
            cells.push_back(row.as_target || all <= 0 ? "-" : fmt::format("{} {:.0f} %", to_string(longest), share));
        }
        table.add(std::move(cells));
    }
    return table.lines(width);
}

std::vector<std::string> pools_of(const State& state, std::size_t width) {
    Table table({{"pool", 0, false},
                 {"threads", 7},
                 {"running", 7},
                 {"resumed", 7},
                 {"high", 6},
                 {"normal", 6},
                 {"low", 6},
                 {"queued", 7},
                 {"limit", 7}});
    for (const PoolRow& pool : pool_rows(state)) {
        const auto of_load = [&pool](auto value) {
            return pool.load ? fmt::format("{}", value(*pool.load)) : std::string("-");
        };
        table.add({printable(pool.name), fmt::format("{}", pool.threads),
                   of_load([](const look::PoolLoad& load) { return load.running; }),
                   of_load([](const look::PoolLoad& load) { return load.resumed; }),
                   of_load([](const look::PoolLoad& load) { return load.queued[0]; }),
                   of_load([](const look::PoolLoad& load) { return load.queued[1]; }),
                   of_load([](const look::PoolLoad& load) { return load.queued[2]; }), fmt::format("{}", pool.queued),
                   fmt::format("{}", pool.queue_max)});
    }
    return table.lines(width);
}

std::vector<std::string> threads_of(const State& state, std::size_t width) {
    Table table({{"context", 0, false}, {"requests", 8}, {"calls", 8}, {"queued", 8}, {"unsent", 8}, {"waiting", 8}});
    for (std::size_t i = 0; i < state.node.contexts.size(); ++i) {
        const look::ContextReport& context = state.node.contexts[i];
        table.add({fmt::format("{}", i), fmt::format("{}", context.requests), fmt::format("{}", context.calls),
                   fmt::format("{}", context.queued), fmt::format("{}", context.replies_unsent),
                   fmt::format("{}", context.completions)});
    }
    return table.lines(width);
}

std::vector<std::string> memory_of(const State& state, std::size_t width) {
    Table table({{"memory", 0, false}, {"in use", 10}, {"limit", 10}});
    for (const MemoryRow& row : memory_rows(state))
        table.add({std::string(row.what), human_bytes(row.bytes), row.max ? human_bytes(*row.max) : "-"});
    return table.lines(width);
}

std::vector<std::string> leases_of(const State& state, std::size_t width) {
    Table table({{"context", 0, false},
                 {"leases", 7},
                 {"quarantined", 11},
                 {"transfers", 9},
                 {"large", 9},
                 {"kept", 9},
                 {"decoded", 9},
                 {"pending", 8}});
    for (std::size_t i = 0; i < state.node.contexts.size(); ++i) {
        const look::ContextReport& context = state.node.contexts[i];
        const auto& memory = state.node.context_memory;
        table.add({fmt::format("{}", i), fmt::format("{}", context.leases), fmt::format("{}", context.quarantined),
                   fmt::format("{}", context.transfers), human_bytes(context.large_bytes),
                   i < memory.size() ? human_bytes(memory[i].large_bytes_kept) : "-",
                   human_bytes(context.decoded_bytes), fmt::format("{}", context.replies_pending)});
    }
    return table.lines(width);
}

std::vector<std::string> transports_of(const State& state, std::size_t width) {
    Table table({{"transport", 16, false}, {"what it found when the node was opened", 0, false}});
    for (const auto& transport : state.node.transports)
        table.add({printable(transport.scheme), printable(transport.diagnosis)});
    return table.lines(width);
}

}  // namespace

std::vector<std::string> time_lines(const State& state, const std::vector<RpcRow>& rows, std::size_t width,
                                    std::size_t rows_max) {
    auto lines = under_way_lines(state, width, rows_max);
    lines.emplace_back();
    append(lines, part_lines(rows, width));
    return lines;
}

std::vector<std::string> failure_lines(const State& state, std::size_t width, std::size_t rows_max) {
    Table table({{"failed calls", 0, false}, {"calls", 8}, {"error", 16, false}, {"where", 32, false}});
    const auto rows = failure_rows(state);
    if (rows.empty()) return {};
    const std::size_t shown = rows_max == 0 ? rows.size() : std::min(rows.size(), rows_max);
    for (std::size_t i = 0; i < shown; ++i) {
        const FailureRow& row = rows[i];
        table.add({printable(row.name), fmt::format("{}", row.calls), std::string(row.error), std::string(row.phase)});
    }
    auto lines = table.lines(width);
    lines.emplace_back();
    return lines;
}

std::vector<std::string> pool_lines(const State& state, std::size_t width) {
    auto lines = pools_of(state, width);
    if (state.node.pools.empty()) lines.emplace_back("none: all handlers run on the threads of the contexts");
    lines.emplace_back();
    append(lines, threads_of(state, width));
    return lines;
}

std::vector<std::string> memory_lines(const State& state, std::size_t width) {
    auto lines = memory_of(state, width);
    lines.push_back(fmt::format("{} memories are shared by tokens", state.node.shares));
    lines.emplace_back();
    append(lines, leases_of(state, width));
    if (state.node.transports.empty()) return lines;
    lines.emplace_back();
    append(lines, transports_of(state, width));
    return lines;
}

}  // namespace cinnabar::tools::watch
