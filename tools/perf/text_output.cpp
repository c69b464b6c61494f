// SPDX-License-Identifier: BSD-3-Clause
#include "perf/output.hpp"
#include "terminal/report.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/hl/stats.hpp>

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace cinnabar::tools::perf {
namespace {

constexpr std::array quantiles{0.5, 0.9, 0.99, 0.999, 0.9999};

std::string time_of(std::uint64_t nanoseconds) { return human_latency(std::chrono::nanoseconds(nanoseconds)); }

// Columns: min, p50, p90, p99, p99.9, p99.99, max.
std::string times_of(const Histogram& latency) {
    if (latency.count() == 0) return "  nothing ended well";
    std::string text = fmt::format("{:>9}", time_of(latency.min()));
    for (const double quantile : quantiles) text += fmt::format("{:>9}", time_of(latency.quantile(quantile)));
    return text + fmt::format("{:>9}", time_of(latency.max()));
}

std::string spread_of(const Interval& interval) {
    if (!interval.half_width || interval.mean <= 0) return "";
    return fmt::format("±{:.1f} %", 100 * *interval.half_width / interval.mean);
}

class TextOutput final : public Output {
  public:
    void begin(const Results& results) override {
        const Target& target = results.target;
        print_line(fmt::format("{} over {}, cinnabar {} there, {} here; {} x {} s after {} s", printable(target.uri),
                               target.way, printable(target.about.release), results.version, results.plan.repeats,
                               results.plan.seconds, results.plan.warm_up_seconds));
    }
    void add(const CallResult& row, const Results&) override {
        head("calls", "calls/s");
        const auto rate = interval_of(row.rates);
        line(label_of(row.shape), count_text(rate.mean), spread_of(rate), row.latency);
        if (row.from_sending) line("  from sending", "", "", *row.from_sending);
        if (row.saturated())
            print_line("  the planned rate was not reached: latencies from the planned start grow with time");
        if (const auto parts = part_text(row); !parts.empty()) print_line("  " + parts);
        trouble(row.outcomes, row.gave_up);
    }
    void add(const BulkResult& row, const Results&) override {
        head("bulk", "bytes/s");
        const auto rate = interval_of(row.bandwidths);
        line(label_of(row.shape), row.bandwidths.empty() ? "-" : human_rate(rate.mean), spread_of(rate), row.latency);
        trouble(row.outcomes, row.gave_up);
    }
    void end(const Results& results) override {
        for (const auto& [bytes, rate] : results.machine)
            print_line(fmt::format("memory to memory here, one thread, in pieces of {}: {}", size_text(bytes),
                                   human_rate(rate)));
    }

  private:
    void head(const std::string& what, const std::string& unit) {
        if (what == last_head_) return;
        last_head_ = what;
        print_line(fmt::format("{:<36}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}", what, unit, "95 %", "min", "p50",
                               "p90", "p99", "p99.9", "p99.99", "max"));
    }
    static void line(const std::string& label, const std::string& rate, const std::string& spread,
                     const Histogram& latency) {
        // The plus-minus sign has two bytes but one column.
        const std::size_t columns = spread.empty() ? 9 : 10;
        print_line(fmt::format("{:<36}{:>10}{:>{}}{}", label, rate, spread, columns, times_of(latency)));
    }
    static void trouble(const Outcomes& outcomes, bool gave_up) {
        if (const auto text = outcomes.text(); !text.empty())
            print_line(fmt::format("  not counted above: {}; {} ended well", text, outcomes.done));
        if (gave_up) print_line("  gave up: nothing went well any more");
    }

    std::string last_head_;
};

}  // namespace

std::string part_text(const CallResult& row) {
    std::string parts;
    for (std::size_t i = 0; row.timed != 0 && i < row.parts_us.size(); ++i) {
        if (row.parts_us[i] == 0) continue;
        const double mean_us = static_cast<double>(row.parts_us[i]) / static_cast<double>(row.timed);
        parts += fmt::format("{}{} {}", parts.empty() ? "" : ", ", to_string(static_cast<hl::CallPart>(i)),
                             human_latency(std::chrono::duration<double>(mean_us * 1e-6)));
    }
    return parts.empty() ? parts : fmt::format("means of {} timed calls: {}", row.timed, parts);
}

std::string count_text(double count) {
    if (count >= 999.5e6) return fmt::format("{:.2f} G", count * 1e-9);
    if (count >= 999.5e3) return fmt::format("{:.2f} M", count * 1e-6);
    if (count >= 999.5) return fmt::format("{:.1f} k", count * 1e-3);
    return fmt::format("{:.0f}", count);
}

std::unique_ptr<Output> make_text_output() { return std::make_unique<TextOutput>(); }

}  // namespace cinnabar::tools::perf
