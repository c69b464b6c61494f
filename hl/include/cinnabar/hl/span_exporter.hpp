// SPDX-License-Identifier: BSD-3-Clause
// A Tracer that passes spans to a thread of its own, which may block, and limits how many traces are recorded a second.
// Base class of TraceFile and of cinnabar::otlp.
//
// Traces are limited where they begin, so those that are recorded are whole. A trace that another node began is limited
// by requests: one that is left out takes with it all that its handler would have recorded, here and elsewhere. What
// CallOptions::trace continues is recorded in any case; the program decides about it (TraceContext::sampled).
#pragma once

#include <cinnabar/hl/trace.hpp>
#include <cinnabar/hl/trace_limit.hpp>
#include <cinnabar/na/addr.hpp>

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar::hl {

// A copy of a Span that may be kept.
struct SpanRecord {
    SpanKind kind = SpanKind::call;
    std::string_view name;  // static storage
    TraceContext context;
    std::uint64_t parent = 0;
    std::uint64_t began_unix_us = 0;  // since 1970
    std::uint64_t took_us = 0;
    Errc result = Errc::ok;
    na::Addr peer;  // empty: not known
    std::uint64_t bytes = 0;
    CallParts parts_us{};
};

// Whether the phases of the call are known.
[[nodiscard]] inline bool is_timed(const SpanRecord& span) noexcept { return span.parts_us != CallParts{}; }

struct SpanExporterOptions {
    std::uint32_t one_in = 1;  // one in this many calls outside of any trace begins one; 0: none
    // traces_per_second: how many of the calls that one_in chose may begin a trace. requests_per_second: how many of
    // the requests that arrive with a sampled trace are recorded. After a quiet second, as many more may come at once.
    // 0: no limit. Those over a limit are not recorded, only counted.
    std::uint32_t traces_per_second = 1'000;
    std::uint32_t requests_per_second = 10'000;
    std::size_t spans_max = 8'192;   // waiting for the thread; further ones are dropped and counted
    Microseconds period{1'000'000};  // longest time until a span is exported; half of spans_max wake the thread early
};

class CINNABAR_API SpanExporter : public Tracer {
  public:
    // `clock`: the clock of the nodes; for a simulated network, its own. Must outlive this object.
    explicit SpanExporter(SpanExporterOptions options, TimeSource& clock = steady_clock());
    // Requires: finish() was called.
    ~SpanExporter() override;

    [[nodiscard]] std::uint32_t one_in() const noexcept override { return options_.one_in; }
    [[nodiscard]] bool records(TraceOrigin origin, TimeUs now) noexcept override {
        return origin == TraceOrigin::here ? traces_.admits(now) : requests_.admits(now);
    }
    void ended(const Span& span) noexcept override;

    // Exports all spans that have ended, on the thread, and waits for it.
    void flush();
    // Spans that found no room, or could not be exported.
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
    // Calls that began no trace, and requests that were not recorded, because of the limits.
    [[nodiscard]] std::uint64_t calls_left_out() const noexcept { return traces_.left_out(); }
    [[nodiscard]] std::uint64_t requests_left_out() const noexcept { return requests_.left_out(); }

  protected:
    // Called on the thread, one call at a time. `spans` is not empty.
    virtual void export_spans(const std::vector<SpanRecord>& spans) = 0;
    // Exports the remaining spans and ends the thread. Every derived class must call finish() in its destructor, when
    // no node uses this tracer any more.
    void finish();
    void count_dropped(std::uint64_t spans) noexcept { dropped_.fetch_add(spans, std::memory_order_relaxed); }

  private:
    void run();

    const SpanExporterOptions options_;
    TimeSource& clock_;
    const std::int64_t unix_offset_us_;  // from the clock to 1970
    TraceLimit traces_;
    TraceLimit requests_;
    std::atomic<std::uint64_t> dropped_{0};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<SpanRecord> waiting_;
    std::uint64_t flushes_wanted_ = 0;
    std::uint64_t flushes_done_ = 0;
    bool finished_ = false;
    std::thread thread_;  // last: it uses all of the above
};

}  // namespace cinnabar::hl
