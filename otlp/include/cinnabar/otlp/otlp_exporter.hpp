// SPDX-License-Identifier: BSD-3-Clause
// Exports spans to an OpenTelemetry collector: OTLP over HTTP, as JSON. If the collector does not accept a batch, the
// batch is dropped and counted, and not sent again. The exporter sends on a thread of its own, so no other thread
// waits.
#pragma once

#include <cinnabar/hl/span_exporter.hpp>

#include <memory>
#include <string>

namespace cinnabar::otlp {

struct OtlpOptions {
    std::string url = "http://127.0.0.1:4318/v1/traces";  // http or https
    std::string service = "cinnabar";                     // the attribute service.name of all spans
    Microseconds answer_max{5'000'000};                   // for connecting, sending and receiving the answer together
    hl::SpanExporterOptions spans = {};
};

class CINNABAR_API OtlpExporter final : public hl::SpanExporter {
  public:
    // invalid_argument: not an http or https URL. Does not check whether a collector is reachable.
    [[nodiscard]] static Result<std::shared_ptr<OtlpExporter>> make(OtlpOptions options,
                                                                    TimeSource& clock = steady_clock());
    // Sends the remaining spans. Takes at most 2 * answer_max, because another batch may be in progress. Requires: no
    // node uses the exporter.
    ~OtlpExporter() override;

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

  private:
    OtlpExporter(OtlpOptions options, TimeSource& clock);
    void export_spans(const std::vector<hl::SpanRecord>& spans) override;

    const OtlpOptions options_;
    std::atomic<std::uint64_t> sent_{0};
};

}  // namespace cinnabar::otlp
