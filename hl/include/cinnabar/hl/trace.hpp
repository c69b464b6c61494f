// SPDX-License-Identifier: BSD-3-Clause
// Traces show which calls belong together, across many nodes, and how long each took. A trace context travels with a
// call (docs/wire-format.md). The node's Tracer receives calls, handlers and transfers of a trace as spans.
//
// A call belongs to the trace of its CallOptions::trace or, if that is unset, to the trace of the handler or task that
// makes the call: a coroutine inherits the trace, and a plain function finds the trace in its thread. A call that
// belongs to no trace begins one if the node's Tracer says so. Without a Tracer, trace contexts are forwarded but
// nothing is recorded; the same is true of traces that are not sampled. Until a trace is seen in the process, tracing
// costs one branch per call.
#pragma once

#include <cinnabar/base/clock.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/hl/stats.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace cinnabar::na {
class Addr;
}

namespace cinnabar::hl {

// The position of a call in a trace. All zero: none.
struct TraceContext {
    std::uint64_t id[2] = {0, 0};
    std::uint64_t span = 0;  // the span that made the call
    // W3C's flag, set where the trace began. False: the context is passed on, so that all services know the call by the
    // same trace, but no Tracer gets spans of the trace.
    bool sampled = true;

    explicit operator bool() const noexcept { return (id[0] | id[1]) != 0; }
    friend bool operator==(const TraceContext&, const TraceContext&) = default;
};

// Returns the header "traceparent" of W3C's Trace Context: "00-", 32 digits for the trace, "-", 16 digits for the span,
// and "-01", or "-00" if the trace is not sampled. Empty for an empty context.
[[nodiscard]] CINNABAR_API std::string to_traceparent(const TraceContext& context);
// invalid_argument: the text is malformed, even if it is of a later version.
[[nodiscard]] CINNABAR_API Result<TraceContext> parse_traceparent(std::string_view text);

enum class SpanKind : std::uint8_t { call, handler, transfer };

// Something that took time within a trace. Valid during Tracer::ended only.
struct Span {
    SpanKind kind = SpanKind::call;
    std::string_view name;     // of the RPC, or "pull" and "push"; static storage
    TraceContext context;      // the trace, and this span
    std::uint64_t parent = 0;  // the parent span; 0: none
    TimeUs began_us = 0;       // on the node's clock
    TimeUs ended_us = 0;
    Errc result = Errc::ok;
    const na::Addr* peer = nullptr;  // the other side; null: not known
    std::uint64_t bytes = 0;         // that a transfer has moved
    CallParts parts_us{};            // of a call that was answered; otherwise, and for one-way calls, all 0
};

// Where the trace began that a Tracer is asked about.
enum class TraceOrigin : std::uint8_t {
    here,       // a call that one_in() chose would begin it
    elsewhere,  // a request brings it
};

// Receives spans. Called on any thread, on several at once, and on threads that drive a context: must not block.
class CINNABAR_API Tracer {
  public:
    virtual ~Tracer();
    // Of the calls outside of any trace, one in this many begins a trace, chosen by a hash of the call's id; 0: no call
    // does. Queried once, when the node is opened.
    [[nodiscard]] virtual std::uint32_t one_in() const noexcept = 0;
    // Asked for each call that one_in() chose, and for each request of a sampled trace; `now` is on the node's clock.
    // False: the call begins no trace; of the request nothing is recorded, neither here nor by the nodes that its
    // handler calls, since the trace travels on as one that is not sampled. The default is true.
    [[nodiscard]] virtual bool records(TraceOrigin origin, TimeUs now) noexcept;
    virtual void ended(const Span& span) noexcept = 0;
};

// Returns the trace of the handler that runs on this thread; empty if no handler runs. For plain functions; a coroutine
// that has been suspended gets its trace from its Request.
[[nodiscard]] CINNABAR_API TraceContext current_trace() noexcept;

namespace detail {

// Whether a trace was ever seen in this process. Until then, one branch skips all tracing.
CINNABAR_API extern std::atomic<bool> traces_seen;
[[nodiscard]] inline bool tracing() noexcept { return traces_seen.load(std::memory_order_relaxed); }

// A random id for a trace or span, never 0. Any thread.
[[nodiscard]] CINNABAR_API std::uint64_t new_trace_number() noexcept;
// Sets what current_trace() returns, and returns the old value.
CINNABAR_API TraceContext exchange_current_trace(const TraceContext& trace) noexcept;

}  // namespace detail
}  // namespace cinnabar::hl
