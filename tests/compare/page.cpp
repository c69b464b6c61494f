// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"
#include "perf/html_style.hpp"
#include "perf/svg_plot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cinnabar::compare {
namespace {

using tools::perf::html_text;

// The units of a drawing.
constexpr double drawing_width = 480;
constexpr double row_height = 44;
constexpr double bar_top = 20;  // below its label
constexpr double bar_height = 14;
constexpr unsigned color_of_ours = 0;
constexpr unsigned color_of_others = 7;
constexpr unsigned color_of_limits = 2;

unsigned color_of(const Contender& contender) {
    if (contender.is_limit) return color_of_limits;
    return contender.is_ours ? color_of_ours : color_of_others;
}

double largest(const Compared& work) {
    double most = 0;
    for (const Measured& each : work.measured) {
        if (each.figure) most = std::max(most, each.figure->high);
    }
    return most;
}

// A bar of the length of the median, with its interval.
std::string bar_of(const Measured& each, const std::string& unit, double most, double top) {
    std::string text = fmt::format("<text x=\"0\" y=\"{:.1f}\">{}: {}</text>\n", top + bar_top - 6,
                                   html_text(each.contender.name), figure_text(each, unit));
    if (!each.figure) return text;
    const auto at = [most](double figure) { return drawing_width * figure / most; };
    const double middle = top + bar_top + bar_height / 2;
    return text +
           fmt::format(
               "<g class=\"c{}\"><rect class=\"bar\" x=\"0\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\"><title>{}: {}"
               "</title></rect></g>\n<g class=\"c1\"><line class=\"interval\" x1=\"{:.2f}\" x2=\"{:.2f}\" "
               "y1=\"{:.1f}\" y2=\"{:.1f}\"/></g>\n",
               color_of(each.contender), top + bar_top, std::max(1.0, at(each.figure->median)), bar_height,
               html_text(each.contender.name), figure_text(each, unit), at(each.figure->low), at(each.figure->high),
               middle, middle);
}

std::string plot_of(const Compared& work) {
    const double most = largest(work);
    if (most <= 0) return {};
    std::string bars;
    double top = 0;
    for (const Measured& each : work.measured) {
        bars += bar_of(each, work.work.unit, most, top);
        top += row_height;
    }
    return fmt::format(
        "<figure><figcaption>{} <span>longer is faster</span></figcaption>\n<svg role=\"img\" viewBox=\"0 0 {} {}\">\n"
        "{}</svg></figure>\n",
        html_text(work.work.title), drawing_width, top, bars);
}

std::string html_table_of(const Compared& work) {
    std::string text =
        "<div class=\"scroll\"><table>\n<tr><th>who</th><th>version</th><th>figure</th><th>ours over "
        "it</th><th></th></tr>\n";
    for (const Measured& each : work.measured) {
        const std::string remark = each.failure.empty() ? each.contender.remark : "failed: " + each.failure;
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"text\"><span "
            "class=\"{}\">{}</span></td></tr>\n",
            html_text(each.contender.name), html_text(each.contender.version), figure_text(each, work.work.unit),
            each.contender.is_ours ? "" : ratio_text(each), each.failure.empty() ? "soft" : "bad", html_text(remark));
    }
    text += "</table></div>\n";
    if (!work.work.missing.empty())
        text += fmt::format("<p class=\"soft\">Not installed: {}.</p>\n", html_text(work.work.missing));
    return text;
}

std::string html_losses(const Report& report) {
    const auto found = leads(report);
    std::string text = "<h2>Where others are faster</h2>\n";
    if (found.empty()) return text + "<p>Nowhere in this run.</p>\n";
    text += "<div class=\"scroll\"><table>\n<tr><th>work</th><th>who</th><th>ours over it</th></tr>\n";
    for (const Lead& lead : found) {
        text +=
            fmt::format("<tr><td class=\"text\">{}</td><td>{}</td><td>{}</td></tr>\n", html_text(lead.work->work.title),
                        html_text(lead.contender->contender.name), ratio_text(*lead.contender));
    }
    return text + "</table></div>\n";
}

std::string html_commands_of(const Compared& work) {
    std::string text;
    for (const Measured& each : work.measured) {
        text += fmt::format("<p>{}, {}<br><code>{}</code>{}<code>{}</code></p>\n", html_text(work.work.name),
                            html_text(each.contender.name), html_text(each.contender.server),
                            each.contender.server.empty() ? "" : "<br>", html_text(each.contender.client));
    }
    return text;
}

}  // namespace

std::string to_html(const Report& report) {
    std::string text =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Cinnabar beside others</title>\n<style>";
    text += tools::perf::html_style;
    text += fmt::format(
        "</style>\n</head>\n<body>\n<h1>Cinnabar beside others</h1>\n<p>Commit {}, {}. {}.</p>\n<p class=\"soft\">In "
        "each "
        "of {} rounds each program worked for {} s, one after the other, its server on one core and its client on "
        "another. Bars are medians, lines on them the 95 % interval of the median. The ratio is that of the best of "
        "ours "
        "over the other one in the same round. The machine's limit is what bare system calls reach, in a colour of its "
        "own.</p>\n",
        html_text(report.commit), html_text(report.date), html_text(report.machine), report.rounds, report.seconds);
    text += html_losses(report);
    for (const Compared& work : report.works) {
        text += fmt::format("<h2>{}</h2>\n<div class=\"plots\">\n{}</div>\n{}", html_text(work.work.title),
                            plot_of(work), html_table_of(work));
    }
    text +=
        "<h2>What was run</h2>\n<p class=\"soft\">@PORT@ is a free port, @DIR@ an empty folder on tmpfs, @FROM@ one "
        "that has the files, @COUNT@ what "
        "fills a slice.</p>\n";
    for (const Compared& work : report.works) text += html_commands_of(work);
    return text + "</body>\n</html>\n";
}

}  // namespace cinnabar::compare
