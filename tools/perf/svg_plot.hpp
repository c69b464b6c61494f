// SPDX-License-Identifier: BSD-3-Clause
// Draws line plots as SVG, for a page with the style sheet of html_style.hpp. Pure functions.
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
    std::string (*text)(double value) = nullptr;  // formats the label of a tick
};

struct Point {
    double x = 0;
    double y = 0;
    std::optional<double> half_width;  // half-width of the confidence interval of y
    std::string text;                  // tooltip
};

struct Series {
    std::string name;
    std::vector<Point> points;
    unsigned color = 0;   // 0 to 7
    bool dashed = false;  // to distinguish it from another line of the same colour
    bool marked = true;   // draw a mark at each point, not only the line
};

struct Plot {
    std::string title;
    Axis x;
    Axis y;
    std::vector<Series> series;  // points that an axis cannot show (0 on a logarithmic one) are left out
};

inline constexpr unsigned colors = 9;

// A figure with caption and legend; empty if there is no point to show.
[[nodiscard]] std::string figure_of(const Plot& plot);
// Escapes text for HTML text and attributes, and replaces bytes that are not UTF-8.
[[nodiscard]] std::string html_text(const std::string& text);

}  // namespace cinnabar::tools::perf
