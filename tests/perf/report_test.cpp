// SPDX-License-Identifier: BSD-3-Clause
// The report as a page: complete, self-contained, readable, and with a mark for each point of the data.
#include "made_up_results.hpp"
#include "perf/html_report.hpp"
#include "perf/html_style.hpp"
#include "perf/part_bars.hpp"
#include "perf/report_plots.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++found;
    return found;
}

// Every tag that is opened is closed, in order; HTML tags without an end are listed here.
void expect_well_formed(const std::string& page) {
    static const std::regex tag("<(/?)([a-zA-Z0-9]+)[^>]*?(/?)>");
    std::vector<std::string> open;
    for (std::sregex_iterator at(page.begin(), page.end(), tag), end; at != end; ++at) {
        const std::string name = (*at)[2];
        if ((*at)[3].length() > 0 || name == "meta") continue;
        if ((*at)[1].length() == 0) {
            open.push_back(name);
            continue;
        }
        ASSERT_FALSE(open.empty()) << name;
        ASSERT_EQ(open.back(), name) << page.substr(static_cast<std::size_t>(at->position()), 200);
        open.pop_back();
    }
    EXPECT_TRUE(open.empty());
}

TEST(PerfReport, IsOfOnePieceAndWhole) {
    const std::string page = html_report(some_results());
    expect_well_formed(page);
    for (const char* const outside : {"http:", "https:", "<script", "src=", "href=", "@import", "url("})
        EXPECT_EQ(count(page, outside), 0u) << outside;
    EXPECT_EQ(count(page, "nan"), 0u);
    EXPECT_EQ(count(page, "inf"), 0u);
    EXPECT_NE(page.find("prefers-color-scheme: dark"), page.npos);
    EXPECT_NE(page.find("width=device-width"), page.npos);
}

TEST(PerfReport, PlotsHaveAsManyPointsAsTheData) {
    const auto results = some_results();
    EXPECT_EQ(count(figure_of(depth_plot(results)), "class=\"point\""), 3u);
    EXPECT_EQ(count(figure_of(depth_plot(results)), "class=\"interval\""), 3u);
    EXPECT_EQ(count(figure_of(load_plot(results)), "class=\"point\""), 3u * 2);
    EXPECT_EQ(count(figure_of(bandwidth_plot(results)), "class=\"point\""), 4u + 2);
    // Five rows, two of which are shown twice.
    EXPECT_EQ(percentile_plot(results).series.size(), 7u);
    EXPECT_EQ(time_plots(results).size(), 5u);
    for (const auto& plot : time_plots(results)) {
        for (const auto& series : plot.series) EXPECT_EQ(series.points.size(), Timeline::slices) << series.name;
    }
    const std::string page = html_report(results);
    EXPECT_EQ(count(page, "<figure>"), 4u + 5);
    EXPECT_EQ(count(page, "<figure class=\"bars\">"), 1u);
    EXPECT_EQ(count(part_bars(results), "<title>"), 5u * 4) << "of each row the parts that are there";
    EXPECT_EQ(count(part_bars(results), "64 B, depth 16: 80.0 us"), 1u);
    EXPECT_EQ(count(part_bars(results), "waiting for the handler: 48.0 us, 60 %"), 1u);
}

TEST(PerfReport, PointsLieInsideOfTheirPlots) {
    const std::string page = html_report(some_results());
    static const std::regex point("cx=\"([-0-9.]+)\" cy=\"([-0-9.]+)\"");
    std::size_t points = 0;
    for (std::sregex_iterator at(page.begin(), page.end(), point), end; at != end; ++at, ++points) {
        EXPECT_GE(std::stod((*at)[1]), 66 - 0.1);
        EXPECT_LE(std::stod((*at)[1]), 376 + 0.1);
        EXPECT_GE(std::stod((*at)[2]), 10 - 0.1);
        EXPECT_LE(std::stod((*at)[2]), 226 + 0.1);
    }
    EXPECT_EQ(points, 3u + 6 + 6);
}

TEST(PerfReport, WhatWentWrongStandsThere) {
    auto results = some_results();
    EXPECT_EQ(count(html_report(results), "Not everything ended well"), 0u);
    results.calls[0].outcomes.fail(Errc::timed_out);
    results.calls[0].outcomes.wrong = 2;
    results.bulk[0].gave_up = true;
    results.bulk[0].bandwidths.clear();
    const std::string page = html_report(results);
    EXPECT_EQ(count(page, "Not everything ended well"), 1u);
    EXPECT_EQ(count(page, "1 timed out, 2 with wrong bytes; 10000 ended well"), 1u);
    EXPECT_EQ(count(page, "gave up: "), 1u);
    EXPECT_EQ(count(figure_of(bandwidth_plot(results)), "class=\"point\""), 3u + 2);
}

TEST(PerfReport, NothingMeasuredIsAPageAsWell) {
    Results results;
    expect_well_formed(html_report(results));
    results.calls.emplace_back();
    results.bulk.emplace_back();
    const std::string page = html_report(results);
    expect_well_formed(page);
    EXPECT_EQ(count(page, "nothing ended well"), 2u);
    EXPECT_EQ(count(page, "nothing was measured in that time"), 2u);
    EXPECT_EQ(count(page, "Not everything ended well"), 1u);
    EXPECT_EQ(count(page, "Latency over time"), 0u);
    EXPECT_EQ(count(page, "<figure"), 0u);
}

TEST(PerfReport, AServerCannotWriteIntoThePage) {
    auto results = some_results();
    results.target.about.host = "<script>alert(1)</script>\"&\x01\xff";
    results.target.about.release = "</style><b>";
    results.command = "cinnabar <img src=x>";
    const std::string page = html_report(results);
    expect_well_formed(page);
    EXPECT_EQ(count(page, "<script"), 0u);
    EXPECT_EQ(count(page, "<img"), 0u);
    EXPECT_EQ(count(page, "</style>"), 1u);
    EXPECT_NE(page.find("&lt;script&gt;"), page.npos);
}

// --- colours: the contrast that WCAG 2 requires, 4.5 for text and 3 for lines, in light and in dark mode

double channel(const std::string& hex) {
    const double value = std::stoi(hex, nullptr, 16) / 255.0;
    return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}
double luminance(const std::string& color) {
    return 0.2126 * channel(color.substr(1, 2)) + 0.7152 * channel(color.substr(3, 2)) +
           0.0722 * channel(color.substr(5, 2));
}
double contrast(const std::string& one, const std::string& other) {
    const auto [dark, light] = std::minmax({luminance(one), luminance(other)});
    return (light + 0.05) / (dark + 0.05);
}
// The value of a variable: the first one is for light mode, the second one for dark mode.
std::string color_of(const std::string& name, bool dark) {
    const std::string style = html_style;
    auto at = style.find("--" + name + ": #");
    if (dark && at != style.npos) at = style.find("--" + name + ": #", at + 1);
    return at == style.npos ? "#000000" : style.substr(at + name.size() + 4, 7);
}

TEST(PerfReport, EverythingStandsOutFromThePage) {
    for (const bool dark : {false, true}) {
        const auto page = color_of("page", dark);
        for (const char* const text : {"text", "soft", "bad"})
            EXPECT_GE(contrast(page, color_of(text, dark)), 4.5) << text << (dark ? " in dark" : "");
        for (unsigned i = 0; i < colors; ++i)
            EXPECT_GE(contrast(page, color_of("c" + std::to_string(i), dark)), 3) << i << (dark ? " in dark" : "");
    }
    EXPECT_NE(color_of("page", false), color_of("page", true));
}

}  // namespace
}  // namespace cinnabar::tools::perf
