// SPDX-License-Identifier: BSD-3-Clause
#include "perf/output.hpp"
#include "terminal/report.hpp"

#include <cinnabar/hl/stats.hpp>

#include <fmt/format.h>

#include <string>
#include <vector>

namespace cinnabar::tools::perf {
namespace {

constexpr const char* header =
    "kind,transport,size,direction,segments,memory,loop,planned_per_second,arrivals,depth,contexts,clients,threads,"
    "repeats,seconds,done,failed,wrong,unsent,per_second,per_second_ci95,bytes_per_second,bytes_per_second_ci95,"
    "min_ns,p50_ns,p90_ns,p99_ns,p99.9_ns,p99.99_ns,max_ns,mean_ns,from_sending_p50_ns,from_sending_p99_ns,"
    "from_sending_max_ns,timed,connecting_us,for_credit_us,queued_us,wire_there_us,for_handler_us,in_handler_us,"
    "in_transfers_us,wire_back_us,for_caller_us";

std::string joined(const std::vector<std::string>& cells) {
    std::string text;
    for (const auto& cell : cells) text += (&cell == &cells.front() ? "" : ",") + cell;
    return text;
}

// Two cells: the mean and the half-width of its confidence interval.
std::string cells_of(const std::vector<double>& repeats) {
    if (repeats.empty()) return ",";
    const auto interval = interval_of(repeats);
    return fmt::format("{:.1f},{}", interval.mean,
                       interval.half_width ? fmt::format("{:.1f}", *interval.half_width) : std::string());
}

std::string cells_of(const Outcomes& outcomes) {
    return fmt::format("{},{},{},{}", outcomes.done, outcomes.failed(), outcomes.wrong, outcomes.unsent);
}

class CsvOutput final : public Output {
  public:
    void begin(const Results&) override { print_line(header); }
    void add(const CallResult& row, const Results& results) override {
        const auto& shape = row.shape;
        const bool open = shape.rate > 0;
        const auto arrivals = shape.arrivals == Arrivals::even ? "even" : "poisson";
        const auto sending = row.from_sending ? fmt::format("{},{},{}", row.from_sending->quantile(0.5),
                                                            row.from_sending->quantile(0.99), row.from_sending->max())
                                              : std::string(",,");
        print_line(joined({"calls", results.target.way, fmt::format("{},,,", shape.payload_bytes),
                           open ? fmt::format("open,{:.10g},{}", shape.rate, arrivals) : "closed,,",
                           fmt::format("{},{},{},{}", shape.depth, shape.contexts, shape.clients, shape.threads),
                           fmt::format("{},{:.6g}", results.plan.repeats, row.seconds), cells_of(row.outcomes),
                           cells_of(row.rates) + ",,", latency_cells(row.latency), sending, part_cells(row)}));
    }
    void add(const BulkResult& row, const Results& results) override {
        const auto& shape = row.shape;
        print_line(
            joined({"bulk", results.target.way, std::to_string(shape.bytes), std::string(to_string(shape.direction)),
                    std::to_string(shape.segments), std::string(to_string(shape.memory)), ",,",
                    fmt::format("{},,,", shape.depth), fmt::format("{},{:.6g}", results.plan.repeats, row.seconds),
                    cells_of(row.outcomes), ",", cells_of(row.bandwidths), latency_cells(row.latency), ",,",
                    std::string(hl::call_parts, ',')}));
    }
    void end(const Results&) override {}
};

}  // namespace

std::string latency_cells(const Histogram& latency) {
    if (latency.count() == 0) return ",,,,,,,";
    return fmt::format("{},{},{},{},{},{},{},{:.1f}", latency.min(), latency.quantile(0.5), latency.quantile(0.9),
                       latency.quantile(0.99), latency.quantile(0.999), latency.quantile(0.9999), latency.max(),
                       latency.mean());
}

std::string part_cells(const CallResult& row) {
    std::string cells = fmt::format("{}", row.timed);
    for (const TimeUs sum : row.parts_us) {
        cells += ',';
        if (row.timed != 0) cells += fmt::format("{:.1f}", static_cast<double>(sum) / static_cast<double>(row.timed));
    }
    return cells;
}

std::unique_ptr<Output> make_csv_output() { return std::make_unique<CsvOutput>(); }

}  // namespace cinnabar::tools::perf
