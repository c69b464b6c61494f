// SPDX-License-Identifier: BSD-3-Clause
#include "perf/part_bars.hpp"

#include "perf/svg_plot.hpp"
#include "terminal/units.hpp"

#include <cinnabar/hl/stats.hpp>

#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

using hl::CallPart;

// In SVG units.
constexpr double drawing_width = 400;
constexpr double row_height = 46;
constexpr double bar_top = 22;  // space for its label
constexpr double bar_height = 16;

std::string mean_text(double us) { return human_latency(std::chrono::duration<double>(us * 1e-6)); }

struct Bar {
    std::string label;
    std::vector<double> means_us;  // by CallPart
    [[nodiscard]] double total() const { return std::accumulate(means_us.begin(), means_us.end(), 0.0); }
};

std::vector<Bar> bars_of(const Results& results) {
    std::vector<Bar> bars;
    for (const auto& row : results.calls) {
        if (row.timed == 0) continue;
        Bar bar{label_of(row.shape), {}};
        for (const TimeUs sum : row.parts_us)
            bar.means_us.push_back(static_cast<double>(sum) / static_cast<double>(row.timed));
        if (bar.total() > 0) bars.push_back(std::move(bar));
    }
    return bars;
}

std::string bar_svg(const Bar& bar, double top) {
    std::string text = fmt::format("<text x=\"0\" y=\"{:.1f}\">{}: {}</text>\n", top + bar_top - 6,
                                   html_text(bar.label), mean_text(bar.total()));
    double from = 0;
    for (std::size_t part = 0; part < bar.means_us.size(); ++part) {
        const double width = drawing_width * bar.means_us[part] / bar.total();
        if (width <= 0) continue;
        text += fmt::format(
            "<g class=\"c{}\"><rect class=\"bar\" x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\">"
            "<title>{}: {}, {:.0f} %</title></rect></g>\n",
            part, from, top + bar_top, width, bar_height, to_string(static_cast<CallPart>(part)),
            mean_text(bar.means_us[part]), 100 * bar.means_us[part] / bar.total());
        from += width;
    }
    return text;
}

std::string bar_legend() {
    std::string text = "<ul class=\"legend\">";
    for (std::size_t part = 0; part < hl::call_parts; ++part)
        text += fmt::format(
            "<li><svg class=\"key\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><g class=\"c{}\">"
            "<rect class=\"bar\" width=\"26\" height=\"10\"/></g></svg>{}</li>",
            part, to_string(static_cast<CallPart>(part)));
    return text + "</ul>\n";
}

}  // namespace

std::string part_bars(const Results& results) {
    const auto bars = bars_of(results);
    if (bars.empty()) return {};
    std::string text = fmt::format(
        "<figure class=\"bars\"><figcaption>Where the time of a call goes <span>shares, of one call in 64</span>"
        "</figcaption>\n<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"where the time of a call "
        "goes\">\n",
        drawing_width, row_height * static_cast<double>(bars.size()));
    double top = 0;
    for (const Bar& bar : bars) {
        text += bar_svg(bar, top);
        top += row_height;
    }
    return text + "</svg>\n" + bar_legend() + "</figure>\n";
}

}  // namespace cinnabar::tools::perf
