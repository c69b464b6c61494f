// SPDX-License-Identifier: BSD-3-Clause
#include "perf/output.hpp"
#include "terminal/json.hpp"
#include "terminal/report.hpp"

#include <span>
#include <string>

namespace cinnabar::tools::perf {
namespace {

std::string json_of(std::span<const double> repeats) {
    std::string text = "[";
    for (const double each : repeats) {
        if (text.size() > 1) text += ", ";
        JsonObject one;
        const auto object = one.number("x", each).line();
        text += object.substr(6, object.size() - 7);
    }
    return text + "]";
}

void add_interval(JsonObject& object, const std::string& name, const std::vector<double>& repeats) {
    const auto interval = interval_of(repeats);
    if (repeats.empty()) {
        object.raw(name, "null");
    } else {
        object.number(name, interval.mean);
    }
    if (interval.half_width)
        object.number(name + "_ci95", *interval.half_width);
    else
        object.raw(name + "_ci95", "null");
    object.raw(name + "_repeats", json_of(repeats));
}

// Mean times, if any call was timed.
std::string parts_json(const CallResult& row) {
    JsonObject object;
    for (std::size_t part = 0; row.timed != 0 && part < hl::call_parts; ++part)
        object.number(std::string(to_string(static_cast<hl::CallPart>(part))),
                      static_cast<double>(row.parts_us[part]) / static_cast<double>(row.timed));
    return object.line();
}

void add_outcomes(JsonObject& object, const Outcomes& outcomes, bool gave_up) {
    object.number("done", outcomes.done).number("failed", outcomes.failed());
    object.raw("failed_by", outcomes.failed_json()).number("wrong", outcomes.wrong);
    object.number("unsent", outcomes.unsent).flag("gave_up", gave_up);
    object.number("exit", static_cast<std::uint64_t>(outcomes.exit()));
}

class JsonOutput final : public Output {
  public:
    void begin(const Results& results) override {
        JsonObject object;
        object.text("event", "perf").text("version", results.version).name("uri", results.target.uri);
        object.text("transport", results.target.way).name("server_version", results.target.about.release);
        object.name("server_host", results.target.about.host).text("began", results.began);
        object.number("repeats", std::uint64_t{results.plan.repeats}).number("seconds", results.plan.seconds);
        object.number("warm_up_seconds", results.plan.warm_up_seconds);
        print_line(object.line());
    }
    void add(const CallResult& row, const Results&) override {
        const auto& shape = row.shape;
        JsonObject object;
        object.text("event", "calls").text("loop", shape.rate > 0 ? "open" : "closed");
        object.number("size", std::uint64_t{shape.payload_bytes}).number("depth", std::uint64_t{shape.depth});
        object.number("contexts", std::uint64_t{shape.contexts}).number("clients", std::uint64_t{shape.clients});
        object.number("threads", std::uint64_t{shape.threads});
        if (shape.rate > 0) {
            object.number("planned_per_second", shape.rate);
            object.text("arrivals", shape.arrivals == Arrivals::even ? "even" : "poisson");
            object.flag("saturated", row.saturated());
        }
        add_interval(object, "per_second", row.rates);
        object.raw("latency_ns", latency_json(row.latency));
        add_interval(object, "p50_ns", row.p50s);
        add_interval(object, "p99_ns", row.p99s);
        if (row.from_sending) object.raw("latency_from_sending_ns", latency_json(*row.from_sending));
        object.number("timed", row.timed).raw("parts_us", parts_json(row));
        add_outcomes(object, row.outcomes, row.gave_up);
        print_line(object.line());
    }
    void add(const BulkResult& row, const Results&) override {
        const auto& shape = row.shape;
        JsonObject object;
        object.text("event", "bulk").number("size", shape.bytes).text("direction", to_string(shape.direction));
        object.number("segments", std::uint64_t{shape.segments}).number("depth", std::uint64_t{shape.depth});
        object.text("memory", to_string(shape.memory)).number("slots", std::uint64_t{row.slots});
        add_interval(object, "bytes_per_second", row.bandwidths);
        object.raw("latency_ns", latency_json(row.latency));
        add_outcomes(object, row.outcomes, row.gave_up);
        print_line(object.line());
    }
    void end(const Results& results) override {
        for (const auto& [bytes, rate] : results.machine) {
            JsonObject object;
            object.text("event", "machine").number("size", bytes).number("memory_copy_bytes_per_second", rate);
            print_line(object.line());
        }
        JsonObject object;
        object.text("event", "summary").number("rows", std::uint64_t{results.calls.size() + results.bulk.size()});
        object.number("exit", static_cast<std::uint64_t>(results.exit()));
        print_line(object.line());
    }
};

}  // namespace

std::string latency_json(const Histogram& latency) {
    JsonObject object;
    object.number("count", latency.count()).number("min", latency.min());
    object.number("p50", latency.quantile(0.5)).number("p90", latency.quantile(0.9));
    object.number("p99", latency.quantile(0.99)).number("p99.9", latency.quantile(0.999));
    object.number("p99.99", latency.quantile(0.9999)).number("max", latency.max()).number("mean", latency.mean());
    return object.line();
}

std::unique_ptr<Output> make_json_output() { return std::make_unique<JsonOutput>(); }

}  // namespace cinnabar::tools::perf
