// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cinnabar::compare {

bool has_failures(const Report& report) noexcept {
    for (const Compared& work : report.works) {
        for (const Measured& each : work.measured) {
            if (each.contender.is_ours && !each.failure.empty()) return true;
        }
    }
    return false;
}

std::string figure_text(const Measured& measured, const std::string& unit) {
    if (!measured.figure) return "-";
    const double figure = measured.figure->median;
    if (unit == "bytes") return tools::human_rate(figure);
    if (figure >= 1e6) return fmt::format("{:.2f} million {}/s", figure / 1e6, unit);
    if (figure >= 1e4) return fmt::format("{:.1f} thousand {}/s", figure / 1e3, unit);
    return fmt::format("{:.0f} {}/s", figure, unit);
}

std::string ratio_text(const Measured& measured) {
    if (!measured.ours_over_it) return "-";
    const bench::Interval& ratio = *measured.ours_over_it;
    return fmt::format("{:.2f} [{:.2f} {:.2f}]", ratio.median, ratio.low, ratio.high);
}

std::vector<Lead> leads(const Report& report) {
    std::vector<Lead> found;
    for (const Compared& work : report.works) {
        for (const Measured& each : work.measured) {
            if (each.beats_ours()) found.push_back({&work, &each});
        }
    }
    std::sort(found.begin(), found.end(), [](const Lead& one, const Lead& other) {
        return one.contender->ours_over_it->median < other.contender->ours_over_it->median;
    });
    return found;
}

std::string to_text(const Report& report) {
    std::string text;
    for (const Compared& work : report.works) {
        text += fmt::format("{} ({})\n", work.work.title, work.work.name);
        for (const Measured& each : work.measured) {
            text += fmt::format("  {:<26} {:>26}   {}\n", each.contender.name, figure_text(each, work.work.unit),
                                each.contender.is_ours ? "" : ratio_text(each));
            if (!each.failure.empty()) text += fmt::format("    failed: {}\n", each.failure);
        }
        if (!work.work.missing.empty()) text += fmt::format("  not installed: {}\n", work.work.missing);
    }
    return text;
}

}  // namespace cinnabar::compare
