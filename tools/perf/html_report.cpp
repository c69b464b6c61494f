// SPDX-License-Identifier: BSD-3-Clause
#include "perf/html_report.hpp"

#include "perf/html_style.hpp"
#include "perf/part_bars.hpp"
#include "perf/report_plots.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace cinnabar::tools::perf {
namespace {

constexpr std::array quantiles{0.5, 0.9, 0.99, 0.999, 0.9999};
constexpr const char* times_head =
    "<th>min</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th><th>p99.99</th><th>max</th>";
constexpr unsigned columns = 10;

std::string cell(const std::string& text) { return "<td>" + text + "</td>"; }

std::string times_of(const Histogram& latency) {
    const auto time = [](std::uint64_t value) { return cell(human_latency(std::chrono::nanoseconds(value))); };
    if (latency.count() == 0) return fmt::format("<td colspan=\"7\">nothing ended well</td>");
    std::string text = time(latency.min());
    for (const double quantile : quantiles) text += time(latency.quantile(quantile));
    return text + time(latency.max());
}

std::string spread_of(const Interval& interval) {
    if (!interval.half_width || interval.mean <= 0) return "";
    return fmt::format("&#177;{:.1f} %", 100 * *interval.half_width / interval.mean);
}

std::string note(const std::string& text, bool bad) {
    return fmt::format("<tr><td class=\"note\" colspan=\"{}\"><span class=\"{}\">{}</span></td></tr>\n", columns,
                       bad ? "bad" : "soft", html_text(text));
}

std::string trouble(const Outcomes& outcomes, bool gave_up) {
    std::string text;
    if (const auto what = outcomes.text(); !what.empty())
        text += note(fmt::format("not counted above: {}; {} ended well", what, outcomes.done),
                     outcomes.exit() != ExitCode::ok);
    if (gave_up) text += note("gave up: nothing went well any more", true);
    return text;
}

std::string rows_of(const CallResult& row) {
    const auto rate = interval_of(row.rates);
    std::string text = "<tr>" + cell(html_text(label_of(row.shape))) + cell(fmt::format("{:.0f}", rate.mean)) +
                       cell(spread_of(rate)) + times_of(row.latency) + "</tr>\n";
    if (row.from_sending)
        text += "<tr class=\"soft\">" + cell("the same from sending") + cell("") + cell("") +
                times_of(*row.from_sending) + "</tr>\n";
    if (row.saturated())
        text += note("the planned rate was not reached: latencies from the planned start grow with time", true);
    return text + trouble(row.outcomes, row.gave_up);
}

std::string rows_of(const BulkResult& row) {
    const auto rate = interval_of(row.bandwidths);
    return "<tr>" + cell(html_text(label_of(row.shape))) + cell(row.bandwidths.empty() ? "-" : human_rate(rate.mean)) +
           cell(spread_of(rate)) + times_of(row.latency) + "</tr>\n" + trouble(row.outcomes, row.gave_up);
}

template <typename Row>
std::string table_of(const std::vector<Row>& rows, const char* what, const char* unit) {
    std::string text = fmt::format("<div class=\"scroll\"><table>\n<tr><th>{}</th><th>{}</th><th>95 %</th>{}</tr>\n",
                                   what, unit, times_head);
    for (const auto& row : rows) text += rows_of(row);
    return text + "</table></div>\n";
}

std::string head_of(const Results& results) {
    const auto& target = results.target;
    const auto failed = results.exit() != ExitCode::ok;
    return fmt::format(
        "<h1>Cinnabar over {}</h1>\n<p><code>{}</code> on {}; cinnabar {} there, {} here; {}</p>\n"
        "<p class=\"soft\"><code>{}</code></p>\n{}",
        html_text(target.way), html_text(target.uri), html_text(target.about.host), html_text(target.about.release),
        html_text(results.version), html_text(results.began), html_text(results.command),
        failed ? "<p class=\"bad\">Not everything ended well: the notes below the rows say what did not. No failed "
                 "call and no wrong byte is part of a figure.</p>\n"
               : "");
}

std::string calls_section(const Results& results) {
    if (results.calls.empty()) return {};
    std::string text = "<h2>Calls</h2>\n" + table_of(results.calls, "of this many bytes each way", "calls/s");
    text += "<div class=\"plots\">\n" + figure_of(percentile_plot(results)) + figure_of(depth_plot(results)) +
            figure_of(load_plot(results)) + part_bars(results) + "</div>\n";
    const auto over_time = time_plots(results);
    if (over_time.empty()) return text;
    text += "<h2>Latency over time</h2>\n<div class=\"plots\">\n";
    for (const auto& plot : over_time) text += figure_of(plot);
    return text + "</div>\n";
}

std::string bulk_section(const Results& results) {
    if (results.bulk.empty()) return {};
    return "<h2>Bulk transfers</h2>\n" + table_of(results.bulk, "transfers", "bandwidth") + "<div class=\"plots\">\n" +
           figure_of(bandwidth_plot(results)) + "</div>\n";
}

std::string method_of(const Results& results) {
    return fmt::format(
        "<h2>How it was measured</h2>\n<p>Each row was measured {} times for {} s after a warm-up of {} s. The 95 % "
        "interval is that of the mean of the repeats, by Student's t. Latencies are from a histogram with an error of "
        "at most 0.1 %. In a closed loop each call follows the end of another. In an open loop calls are planned to "
        "start at a given rate; their latency counts from the planned start, so that a server that stalls is seen by "
        "all calls that had to wait, and the line \"from sending\" is what a closed loop would have seen. A call that "
        "failed, or whose reply differs in one bit from what was sent, is counted and has no time. Every byte of a "
        "bulk transfer is compared at the side that received it, outside of the time that is measured.</p>\n",
        results.plan.repeats, results.plan.seconds, results.plan.warm_up_seconds);
}

}  // namespace

std::string html_report(const Results& results) {
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Cinnabar over " +
           html_text(results.target.way) + "</title>\n<style>" + html_style + "</style>\n</head>\n<body>\n" +
           head_of(results) + calls_section(results) + bulk_section(results) + method_of(results) +
           "</body>\n</html>\n";
}

}  // namespace cinnabar::tools::perf
