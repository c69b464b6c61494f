// SPDX-License-Identifier: BSD-3-Clause
#include "watch/html_page.hpp"

#include "perf/html_style.hpp"
#include "perf/svg_plot.hpp"
#include "terminal/units.hpp"
#include "watch/calls_text.hpp"
#include "watch/resources.hpp"
#include "watch/screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::tools::watch {
namespace {

using perf::html_text;

// The style of the page, in addition to the style of the reports (html_style.hpp). The tables of a node have more
// columns; the widest table fits a window of 1280 pixels. On a phone, a cell with a sentence is below the other cells
// of its row.
constexpr const char* page_style = R"(
table { font-size: .875rem; }
th, td { padding: .25rem .35rem; }
th { white-space: normal; vertical-align: bottom; }
@media (max-width: 40rem) {
  .below table, .below tbody { display: block; }
  .below tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .3rem 0; border-bottom: 1px solid var(--grid); }
  .below th, .below td { min-width: 0; padding: 0; border-bottom: 0; text-align: left; }
  .below .text { flex: 0 0 100%; overflow-wrap: anywhere; }
}
)";

// A line without axes: the table next to it has the figures.
std::string spark(const std::vector<double>& values) {
    constexpr double width = 120;
    constexpr double height = 24;
    if (values.size() < 2) return {};
    const double most = std::max(*std::ranges::max_element(values), 1e-9);
    std::string points;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double x = width * static_cast<double>(i) / static_cast<double>(values.size() - 1);
        points += fmt::format("{}{:.1f},{:.1f}", i == 0 ? "" : " ", x, 1 + (height - 2) * (1 - values[i] / most));
    }
    return fmt::format(
        "<svg class=\"c0\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\" "
        "aria-label=\"the last rates\"><polyline points=\"{2}\"/></svg>",
        width, height, points);
}

// A column of a table. `kind`: the CSS class of the cells: "" for figures, "word" for one word, "words" for a name that
// may be long, "text" for a sentence.
struct Column {
    const char* name;
    std::string_view kind = "";
};

class HtmlTable {
  public:
    explicit HtmlTable(std::vector<Column> columns) : columns_(std::move(columns)) {
        std::vector<std::string> names;
        for (const Column& column : columns_) names.emplace_back(column.name);
        add(names, "th");
    }
    void add(const std::vector<std::string>& cells, const char* tag = "td") {
        rows_ += "<tr>";
        for (std::size_t i = 0; i < cells.size(); ++i)
            rows_ += fmt::format("<{0} class=\"{1}\">{2}</{0}>", tag, columns_[i].kind, cells[i]);
        rows_ += "</tr>\n";
    }
    [[nodiscard]] std::string html() const {
        const bool has_text = std::ranges::find(columns_, "text", &Column::kind) != columns_.end();
        return fmt::format("<div class=\"scroll{}\"><table>\n{}</table></div>\n", has_text ? " below" : "", rows_);
    }

  private:
    std::vector<Column> columns_;
    std::string rows_;
};

std::string rpc_table(std::vector<RpcRow> rpcs) {
    std::ranges::stable_sort(rpcs, [](const RpcRow& a, const RpcRow& b) { return a.per_second > b.per_second; });
    HtmlTable table({{"RPC", "words"},
                     {"rate/s"},
                     {"failed"},
                     {"p50"},
                     {"p99"},
                     {"served"},
                     {"made"},
                     {"the last minute", "word"}});
    for (const RpcRow& rpc : rpcs) {
        table.add({html_text(rpc.name), fmt::format("{:.1f}", rpc.per_second), fmt::format("{}", rpc.failed),
                   latency_text(rpc.p50_us), latency_text(rpc.p99_us), fmt::format("{}", rpc.requests),
                   fmt::format("{}", rpc.calls), spark(rpc.past)});
    }
    return table.html();
}

std::string peer_table(const std::vector<PeerRow>& rows) {
    HtmlTable table({{"peer", "words"},
                     {"transport", "word"},
                     {"state", "word"},
                     {"in"},
                     {"out"},
                     {"queued"},
                     {"unsent"},
                     {"credits"},
                     {"p50"},
                     {"p99"},
                     {"memory"},
                     {"sent"},
                     {"received"},
                     {"bytes/s"},
                     {"the last minute", "word"}});
    for (const PeerRow& row : rows) {
        const look::PeerReport& peer = row.report;
        table.add({html_text(peer.peer), html_text(peer.scheme), html_text(peer.state),
                   fmt::format("{}", peer.requests), fmt::format("{}", peer.calls_sent),
                   fmt::format("{}", peer.calls_queued), fmt::format("{}", peer.replies_unsent),
                   fmt::format("{} / {}", peer.credits, peer.credits_given),
                   latency_text(static_cast<double>(peer.p50_us)), latency_text(static_cast<double>(peer.p99_us)),
                   human_bytes(peer.large_bytes + peer.decoded_bytes),
                   row.traffic ? human_bytes(row.traffic->bytes_sent) : "-",
                   row.traffic ? human_bytes(row.traffic->bytes_received) : "-",
                   row.past.empty() ? "-" : human_rate(row.bytes_per_second), spark(row.past)});
    }
    return table.html();
}

std::string call_table(const State& state) {
    std::vector<look::CallReport> calls = state.calls;
    sort_by_age(calls);
    if (calls.size() > 200) calls.resize(200);
    HtmlTable table({{"RPC", "words"}, {"side", "word"}, {"age"}, {"peer", "words"}, {"why", "text"}});
    for (const auto& call : calls) {
        table.add({html_text(call.rpc), call.as_target ? "in" : "out",
                   call.age_us == 0 ? "-" : latency_text(static_cast<double>(call.age_us)), html_text(call.peer),
                   html_text(reason_of(call))});
    }
    return table.html();
}

std::string time_table(const std::vector<RpcRow>& rpcs) {
    HtmlTable table({{"RPC", "words"},
                     {"side", "word"},
                     {"counted"},
                     {"connecting"},
                     {"waiting for a credit"},
                     {"waiting to be sent"},
                     {"on the wire there"},
                     {"waiting for the handler"},
                     {"in the handler"},
                     {"in its transfers"},
                     {"on the wire back"},
                     {"waiting for the caller"},
                     {"mostly", "word"}});
    for (const TimeRow& row : time_rows(rpcs)) {
        std::vector<std::string> cells{html_text(row.name), row.as_target ? "in" : "out",
                                       fmt::format("{}", row.counted)};
        for (std::size_t i = 0; i < hl::call_parts; ++i)
            cells.push_back(row.has(static_cast<hl::CallPart>(i)) ? latency_text(row.parts_us[i]) : "-");
        cells.emplace_back(row.as_target || row.sum_us() <= 0 ? "-" : to_string(row.longest()));
        table.add(cells);
    }
    return table.html();
}

std::string under_way_table(const State& state) {
    HtmlTable table({{"RPC", "words"}, {"side", "word"}, {"calls"}, {"oldest"}, {"where they are", "text"}});
    for (const UnderWay& row : under_way(state)) {
        table.add({html_text(row.name), row.as_target ? "in" : "out", fmt::format("{}", row.calls),
                   latency_text(static_cast<double>(row.oldest_us)), std::string(to_string(row.phase))});
    }
    return table.html();
}

std::string failure_table(const State& state) {
    HtmlTable table({{"RPC", "words"}, {"calls"}, {"error", "word"}, {"where they ended", "text"}});
    for (const FailureRow& row : failure_rows(state)) {
        table.add({html_text(row.name), fmt::format("{}", row.calls), std::string(row.error), std::string(row.phase)});
    }
    return table.html();
}

std::string pool_table(const State& state) {
    HtmlTable table({{"pool", "words"},
                     {"threads"},
                     {"running"},
                     {"resumed"},
                     {"high"},
                     {"normal"},
                     {"low"},
                     {"queued"},
                     {"limit"}});
    for (const PoolRow& pool : pool_rows(state)) {
        std::vector<std::string> cells{html_text(pool.name), fmt::format("{}", pool.threads)};
        if (pool.load) {
            cells.push_back(fmt::format("{}", pool.load->running));
            cells.push_back(fmt::format("{}", pool.load->resumed));
            for (const std::uint32_t queued : pool.load->queued) cells.push_back(fmt::format("{}", queued));
        } else {
            cells.resize(cells.size() + 5, "-");
        }
        cells.push_back(fmt::format("{}", pool.queued));
        cells.push_back(fmt::format("{}", pool.queue_max));
        table.add(cells);
    }
    return table.html();
}

std::string memory_table(const State& state) {
    HtmlTable table({{"memory", "words"}, {"in use"}, {"limit"}});
    for (const MemoryRow& row : memory_rows(state))
        table.add({std::string(row.what), human_bytes(row.bytes), row.max ? human_bytes(*row.max) : "-"});
    table.add({"memories shared by tokens", fmt::format("{}", state.node.shares), "-"});
    return table.html();
}

std::string lease_table(const State& state) {
    HtmlTable table({{"context", "word"},
                     {"leases"},
                     {"quarantined"},
                     {"transfers"},
                     {"large values"},
                     {"decoded"},
                     {"replies pending"},
                     {"handlers and callbacks that wait"}});
    for (std::size_t i = 0; i < state.node.contexts.size(); ++i) {
        const look::ContextReport& context = state.node.contexts[i];
        table.add({fmt::format("{}", i), fmt::format("{}", context.leases), fmt::format("{}", context.quarantined),
                   fmt::format("{}", context.transfers), human_bytes(context.large_bytes),
                   human_bytes(context.decoded_bytes), fmt::format("{}", context.replies_pending),
                   fmt::format("{}", context.completions)});
    }
    return table.html();
}

std::string line_table(const State& state) {
    HtmlTable table({{"age"}, {"level", "word"}, {"module", "word"}, {"text", "text"}});
    for (auto line = state.node.lines.rbegin(); line != state.node.lines.rend(); ++line) {
        table.add({latency_text(static_cast<double>(line->age_us)), html_text(line->level), html_text(line->module),
                   html_text(line->text)});
    }
    return table.html();
}

std::string transports(const State& state) {
    std::string list = "<ul>\n";
    for (const auto& transport : state.node.transports) {
        list += fmt::format("<li><b>{}</b> {}</li>\n", html_text(transport.scheme), html_text(transport.diagnosis));
    }
    return list + "</ul>\n";
}

}  // namespace

std::string html_page(const State& state, const std::vector<RpcRow>& rows, const History& history,
                      const std::string& address, unsigned refresh_seconds) {
    std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", refresh_seconds);
    page += fmt::format("<title>cinnabar: {}</title>\n<style>{}{}</style>\n</head>\n<body>\n", html_text(address),
                        perf::html_style, page_style);
    page += fmt::format("<h1>{}</h1>\n<p class=\"soft\">{}; process {}; {} at most</p>\n", html_text(address),
                        html_text(summary(state, rows, history)), state.node.process,
                        human_bytes(state.node.memory_bytes_max));
    page += "<h2>RPCs</h2>\n" + rpc_table(rows);
    page += "<h2>Where the time of calls goes, as means</h2>\n" + time_table(rows);
    page += "<h2>Where the calls in progress are</h2>\n" + under_way_table(state);
    page += "<h2>Calls that failed</h2>\n" + failure_table(state);
    page += "<h2>Pools</h2>\n" + pool_table(state);
    page += "<h2>Memory and leases</h2>\n" + memory_table(state) + lease_table(state);
    page += "<h2>Peers</h2>\n" + peer_table(history.peers(state));
    page += "<h2>Calls under way</h2>\n" + call_table(state);
    page += "<h2>Log</h2>\n" + line_table(state);
    page += "<h2>Transports, when the node was opened</h2>\n" + transports(state);
    page +=
        "<p class=\"soft\"><a href=\"/metrics\">/metrics</a> <a href=\"/calls.json\">/calls.json</a> "
        "<a href=\"/state.json\">/state.json</a></p>\n";
    return page + "</body>\n</html>\n";
}

}  // namespace cinnabar::tools::watch
