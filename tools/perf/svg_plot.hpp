// SPDX-License-Identifier: BSD-3-Clause
// A plot of lines as SVG, for a page that has the style sheet of html_report.cpp. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools::perf {

enum class Scale : std::uint8_t {
    linear,  // from 0
    log,     // by powers of ten
    binary,  // by powers of two
    nines,   // quantiles: 0, 0.9, 0.99 and so on are equally far apart
};

struct Axis {
    std::string label;
    Scale scale = Scale::linear;
    std::string (*text)(double value) = nullptr;  // of a tick
};

struct Point {
    double x = 0;
    double y = 0;
    std::optional<double> half_width;  // of the interval of y
    std::string text;                  // shown when it is pointed at
};

struct Series {
    std::string name;
    std::vector<Point> points;
    unsigned color = 0;   // of 8
    bool dashed = false;  // beside another one of that colour
    bool marked = true;   // each point has a mark; else only the line is drawn
};

struct Plot {
    std::string title;
    Axis x;
    Axis y;
    std::vector<Series> series;  // points that an axis cannot show (0 on a logarithmic one) are left out
};

inline constexpr unsigned colors = 8;

// A figure with its caption and legend; empty when there is no point to show.
[[nodiscard]] std::string figure_of(const Plot& plot);
// For text and attributes of HTML: without bytes that mean something there, or that are not UTF-8.
[[nodiscard]] std::string html_text(const std::string& text);

}  // namespace cinnabar::tools::perf
