// SPDX-License-Identifier: BSD-3-Clause
#include "perf/svg_plot.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace cinnabar::tools::perf {
namespace {

// In SVG units; a phone shows them at seven eighths of a pixel, a desktop larger.
constexpr double width = 400;
constexpr double height = 280;
constexpr double left = 66;
constexpr double right = 24;
constexpr double top = 10;
constexpr double bottom = 54;

// Maps values of an axis to 0..1, and chooses the ticks.
class Range {
  public:
    explicit Range(const Axis& axis) : axis_(axis) {}

    [[nodiscard]] bool takes(double value) const {
        if (!std::isfinite(value)) return false;
        return axis_.scale == Scale::linear ? value >= 0 : axis_.scale == Scale::nines ? value < 1 : value > 0;
    }
    void add(double value) {
        const double at = place_of(value);
        low_ = empty_ ? at : std::min(low_, at);
        high_ = empty_ ? at : std::max(high_, at);
        empty_ = false;
    }
    void finish() {
        if (axis_.scale == Scale::linear || axis_.scale == Scale::nines) low_ = 0;
        if (axis_.scale == Scale::linear) {
            step_ = nice_step(high_ > 0 ? high_ : 1);
            high_ = std::ceil((high_ > 0 ? high_ : 1) / step_ - 1e-9) * step_;
            return;
        }
        if (axis_.scale == Scale::nines) {
            high_ = std::max(high_, 1.0);
            return;
        }
        low_ = std::floor(low_ + 1e-9);
        high_ = std::max(std::ceil(high_ - 1e-9), low_ + 1);
    }
    [[nodiscard]] double at(double value) const { return (place_of(value) - low_) / (high_ - low_); }
    [[nodiscard]] std::vector<double> ticks() const {
        std::vector<double> values;
        if (axis_.scale == Scale::linear) {
            for (double value = 0; value <= high_ * (1 + 1e-9); value += step_) values.push_back(value);
            return values;
        }
        if (axis_.scale == Scale::log && high_ - low_ <= 2) return fine_ticks();
        constexpr double ticks_max = 6;
        const double every = std::max(1.0, std::ceil((high_ - low_) / ticks_max));
        for (double place = low_; place <= high_ + 1e-9; place += every) values.push_back(value_at(place));
        return values;
    }

  private:
    [[nodiscard]] double place_of(double value) const {
        switch (axis_.scale) {
            case Scale::linear:
                return value;
            case Scale::log:
                return std::log10(value);
            case Scale::binary:
                return std::log2(value);
            case Scale::nines:
                return -std::log10(1 - value);
        }
        return value;
    }
    [[nodiscard]] double value_at(double place) const {
        if (axis_.scale == Scale::nines) return 1 - std::pow(10, -place);
        return axis_.scale == Scale::log ? std::pow(10, place) : std::exp2(place);
    }
    // The smallest step of 1, 2 or 5 times a power of ten that divides `span` into at most five steps.
    static double nice_step(double span) {
        const double power = std::pow(10, std::floor(std::log10(span / 5)));
        const double many = span / 5 / power * (1 - 1e-9);
        return power * (many > 5 ? 10 : many > 2 ? 5 : many > 1 ? 2 : 1);
    }
    // If the axis spans one or two powers of ten, adds ticks at 2 and 5 times each.
    [[nodiscard]] std::vector<double> fine_ticks() const {
        std::vector<double> values;
        for (double place = low_; place < high_ - 1e-9; place += 1) {
            for (const double times : {1.0, 2.0, 5.0}) values.push_back(times * value_at(place));
        }
        values.push_back(value_at(high_));
        return values;
    }

    const Axis& axis_;
    double low_ = 0;
    double high_ = 1;
    double step_ = 1;
    bool empty_ = true;
};

class Drawing {
  public:
    explicit Drawing(const Plot& plot) : plot_(plot), x_(plot.x), y_(plot.y) {
        for (const auto& series : plot.series) {
            for (const auto& point : series.points) take(point);
        }
        x_.finish();
        y_.finish();
    }
    [[nodiscard]] bool empty() const { return shown_ == 0; }

    std::string svg() {
        text_ = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height,
                            html_text(plot_.title));
        draw_axes();
        for (const auto& series : plot_.series) draw(series);
        return text_ + "</svg>\n";
    }

  private:
    [[nodiscard]] bool shows(const Point& point) const { return x_.takes(point.x) && y_.takes(point.y); }
    void take(const Point& point) {
        if (!shows(point)) return;
        ++shown_;
        x_.add(point.x);
        y_.add(point.y);
        if (point.half_width && y_.takes(point.y + *point.half_width)) y_.add(point.y + *point.half_width);
    }
    [[nodiscard]] double px(double value) const { return left + x_.at(value) * (width - left - right); }
    [[nodiscard]] double py(double value) const { return height - bottom - y_.at(value) * (height - top - bottom); }

    void draw_axes() {
        for (const double tick : y_.ticks()) {
            text_ += fmt::format("<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>", left,
                                 width - right, py(tick), py(tick));
            text_ += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 6,
                                 py(tick) + 4.5, html_text(plot_.y.text(tick)));
        }
        for (const double tick : x_.ticks()) {
            text_ += fmt::format("<line class=\"grid\" x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{}\" y2=\"{}\"/>", px(tick),
                                 px(tick), top, height - bottom);
            text_ += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                                 px(tick), height - bottom + 20, html_text(plot_.x.text(tick)));
        }
        text_ += fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                             left + (width - left - right) / 2, height - 8, html_text(plot_.x.label));
    }

    void draw(const Series& series) {
        text_ += fmt::format("<g class=\"c{}{}\">", series.color % colors, series.dashed ? " dashed" : "");
        std::string line;
        for (const auto& point : series.points) {
            if (shows(point)) line += fmt::format("{:.1f},{:.1f} ", px(point.x), py(point.y));
        }
        text_ += "<polyline points=\"" + line + "\"/>";
        for (const auto& point : series.points) {
            if (!shows(point)) continue;
            draw_interval(point);
            if (!series.marked) continue;
            text_ +=
                fmt::format("<circle class=\"point\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\"><title>{}</title></circle>",
                            px(point.x), py(point.y), html_text(point.text));
        }
        text_ += "</g>\n";
    }
    void draw_interval(const Point& point) {
        if (!point.half_width) return;
        const double low = point.y - *point.half_width;
        const double high = point.y + *point.half_width;
        const double from = y_.takes(low) ? std::min(py(low), height - bottom) : height - bottom;
        text_ += fmt::format("<line class=\"interval\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\"/>",
                             px(point.x), from, py(high));
    }

    const Plot& plot_;
    Range x_;
    Range y_;
    std::size_t shown_ = 0;
    std::string text_;
};

std::string legend_of(const Plot& plot) {
    if (plot.series.size() < 2) return {};
    std::string text = "<ul class=\"legend\">";
    for (const auto& series : plot.series) {
        text += fmt::format(
            "<li><svg class=\"key\" viewBox=\"0 0 26 10\" aria-hidden=\"true\"><g class=\"c{}{}\">"
            "<polyline points=\"0,5 26,5\"/></g></svg>{}</li>",
            series.color % colors, series.dashed ? " dashed" : "", html_text(series.name));
    }
    return text + "</ul>\n";
}

}  // namespace

std::string html_text(const std::string& text) {
    std::string safe;
    for (const char c : printable(text)) {
        switch (c) {
            case '&':
                safe += "&amp;";
                break;
            case '<':
                safe += "&lt;";
                break;
            case '>':
                safe += "&gt;";
                break;
            case '"':
                safe += "&quot;";
                break;
            default:
                safe += c;
        }
    }
    return safe;
}

std::string figure_of(const Plot& plot) {
    Drawing drawing(plot);
    if (drawing.empty()) return {};
    return fmt::format("<figure><figcaption>{} <span>{}</span></figcaption>\n", html_text(plot.title),
                       html_text(plot.y.label)) +
           drawing.svg() + legend_of(plot) + "</figure>\n";
}

}  // namespace cinnabar::tools::perf
