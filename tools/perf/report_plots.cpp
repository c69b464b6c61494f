// SPDX-License-Identifier: BSD-3-Clause
#include "perf/report_plots.hpp"

#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <set>

namespace cinnabar::tools::perf {
namespace {

constexpr std::size_t time_plots_max = 8;

std::string time_text(double nanoseconds) { return human_latency(std::chrono::duration<double>(nanoseconds * 1e-9)); }
// Label of a tick, which is a power of ten.
std::string time_tick(double nanoseconds) {
    constexpr std::array<const char*, 4> units{"ns", "us", "ms", "s"};
    std::size_t unit = 0;
    for (; unit + 1 < units.size() && nanoseconds >= 999.5; ++unit) nanoseconds /= 1000;
    return fmt::format("{:.0f} {}", nanoseconds, units.at(unit));
}
std::string count_tick(double count) {
    if (count >= 1e9) return fmt::format("{:g} G", count * 1e-9);
    if (count >= 1e6) return fmt::format("{:g} M", count * 1e-6);
    if (count >= 1e3) return fmt::format("{:g} k", count * 1e-3);
    return fmt::format("{:g}", count);
}
std::string rate_tick(double bytes) { return bytes <= 0 ? "0" : count_tick(bytes) + "B/s"; }
std::string size_tick(double bytes) { return size_text(static_cast<std::uint64_t>(std::llround(bytes))); }
std::string plain_tick(double value) { return fmt::format("{:g}", value); }
std::string seconds_tick(double value) { return fmt::format("{:g} s", value); }
std::string quantile_tick(double quantile) { return quantile <= 0 ? "all" : fmt::format("p{:.10g}", 100 * quantile); }

// As many quantiles as the number of samples can resolve, ten per nine.
Series percentile_series(const Histogram& latency, std::string name, unsigned color, bool dashed) {
    Series series{std::move(name), {}, color, dashed, true};
    if (latency.count() == 0) return series;
    const double nines_max = std::log10(static_cast<double>(latency.count()));
    constexpr double step = 0.1;
    for (double nines = 0; nines <= nines_max; nines += step) {
        const double quantile = 1 - std::pow(10, -nines);
        const auto value = static_cast<double>(latency.quantile(quantile));
        series.points.push_back({quantile, value, {}, fmt::format("p{:.6g}: {}", 100 * quantile, time_text(value))});
    }
    series.marked = false;
    return series;
}

Point rate_point(double x, const Interval& rate, const std::string& text) {
    return {x, rate.mean, rate.half_width, text};
}

}  // namespace

Plot percentile_plot(const Results& results) {
    Plot plot{"Latency by quantile", {"quantile", Scale::nines, quantile_tick}, {"latency", Scale::log, time_tick}, {}};
    for (const auto& row : results.calls) {
        const auto color = static_cast<unsigned>(plot.series.empty() ? 0 : plot.series.back().color + 1);
        plot.series.push_back(percentile_series(row.latency, label_of(row.shape), color, false));
        if (row.from_sending)
            plot.series.push_back(percentile_series(*row.from_sending, "the same from sending", color, true));
    }
    return plot;
}

Plot depth_plot(const Results& results) {
    Plot plot{"Rate by depth",
              {"calls in flight of each context", Scale::binary, plain_tick},
              {"calls a second, with 95 % intervals", Scale::linear, count_tick},
              {}};
    std::map<std::string, Series> by_rest;
    std::set<std::uint32_t> depths;
    for (const auto& row : results.calls) {
        if (row.shape.rate > 0 || row.outcomes.done == 0) continue;
        depths.insert(row.shape.depth);
        CallShape rest = row.shape;
        rest.depth = 1;
        auto& series = by_rest[label_of(rest)];
        const auto rate = interval_of(row.rates);
        series.points.push_back(
            rate_point(row.shape.depth, rate, fmt::format("{}: {:.0f} calls/s", label_of(row.shape), rate.mean)));
    }
    if (depths.size() < 2) return plot;
    for (auto& [name, series] : by_rest) {
        series.color = static_cast<unsigned>(plot.series.size());
        series.name = name;
        if (const auto at = series.name.find(", depth 1"); at != std::string::npos) series.name.erase(at, 9);
        plot.series.push_back(std::move(series));
    }
    return plot;
}

Plot load_plot(const Results& results) {
    Plot plot{"Latency by load",
              {"calls a second, planned", Scale::linear, count_tick},
              {"latency from the planned start", Scale::log, time_tick},
              {}};
    constexpr std::array quantiles{0.5, 0.99, 0.999};
    for (const double quantile : quantiles) {
        Series series{quantile_tick(quantile), {}, static_cast<unsigned>(plot.series.size()), false, true};
        for (const auto& row : results.calls) {
            if (row.shape.rate <= 0 || row.outcomes.done == 0) continue;
            const auto value = static_cast<double>(row.latency.quantile(quantile));
            series.points.push_back({row.shape.rate,
                                     value,
                                     {},
                                     fmt::format("{} at {}: {}{}", series.name, label_of(row.shape), time_text(value),
                                                 row.saturated() ? ", rate not reached" : "")});
        }
        if (series.points.size() > 1) plot.series.push_back(std::move(series));
    }
    return plot;
}

std::vector<Plot> time_plots(const Results& results) {
    std::vector<Plot> plots;
    for (const auto& row : results.calls) {
        if (plots.size() == time_plots_max) break;
        if (row.outcomes.done == 0) continue;
        Plot plot{label_of(row.shape),
                  {"seconds since the warm-up", Scale::linear, seconds_tick},
                  {"latency over time", Scale::log, time_tick},
                  {{"p50", {}, 0, false, false}, {"p99", {}, 1, false, false}, {"max", {}, 4, false, false}}};
        double at = row.timeline.slice_seconds() / 2;
        for (const auto& slice : row.timeline.latencies()) {
            const std::array values{slice.quantile(0.5), slice.quantile(0.99), slice.max()};
            for (std::size_t i = 0; i < values.size() && slice.count() > 0; ++i)
                plot.series[i].points.push_back({at, static_cast<double>(values.at(i)), {}, {}});
            at += row.timeline.slice_seconds();
        }
        plots.push_back(std::move(plot));
    }
    return plots;
}

Plot bandwidth_plot(const Results& results) {
    Plot plot{"Bandwidth by size",
              {"bytes of a transfer", Scale::binary, size_tick},
              {"bytes a second, with 95 % intervals", Scale::linear, rate_tick},
              {}};
    std::vector<std::string> names;
    for (const auto& row : results.bulk) {
        if (row.bandwidths.empty()) continue;
        const auto label = label_of(row.shape);
        const auto name = label.substr(label.find(row.shape.direction == Direction::pull ? "pull" : "push"));
        auto at = std::ranges::find(names, name) - names.begin();
        if (at == static_cast<std::ptrdiff_t>(names.size())) {
            names.push_back(name);
            plot.series.push_back({name, {}, static_cast<unsigned>(at), false, true});
        }
        const auto rate = interval_of(row.bandwidths);
        plot.series[static_cast<std::size_t>(at)].points.push_back(rate_point(
            static_cast<double>(row.shape.bytes), rate, fmt::format("{}: {}", label, human_rate(rate.mean))));
    }
    if (plot.series.empty()) return plot;
    Series machine{"memory to memory here, one thread", {}, 7, true, true};
    for (const auto& [bytes, rate] : results.machine)
        machine.points.push_back(
            {static_cast<double>(bytes), rate, {}, fmt::format("{} copied: {}", size_text(bytes), human_rate(rate))});
    plot.series.push_back(std::move(machine));
    return plot;
}

}  // namespace cinnabar::tools::perf
