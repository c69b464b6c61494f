// SPDX-License-Identifier: BSD-3-Clause
// Sends spans to a collector of OpenTelemetry: OTLP over HTTP, as JSON. A batch that the collector does not take is
// lost and counted; nothing is tried twice, and nobody waits for it but a thread of its own.
#pragma once

#include <cinnabar/hl/span_exporter.hpp>

#include <memory>
#include <string>

namespace cinnabar::otlp {

struct OtlpOptions {
    std::string url = "http://127.0.0.1:4318/v1/traces";  // http or https
    std::string service = "cinnabar";                     // the attribute service.name of all spans
    Microseconds answer_max{5'000'000};                   // for connecting, sending and the answer together
    hl::SpanExporterOptions spans = {};
};

class CINNABAR_API OtlpExporter final : public hl::SpanExporter {
  public:
    // invalid_argument: the URL is none of http or https. Whether a collector is there shows later.
    [[nodiscard]] static Result<std::shared_ptr<OtlpExporter>> make(OtlpOptions options,
                                                                    TimeSource& clock = steady_clock());
    // Sends what is left, for answer_max at most. Requires: no node uses it any more.
    ~OtlpExporter() override;

    [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.load(std::memory_order_relaxed); }

  private:
    OtlpExporter(OtlpOptions options, TimeSource& clock);
    void export_spans(const std::vector<hl::SpanRecord>& spans) override;

    const OtlpOptions options_;
    std::atomic<std::uint64_t> sent_{0};
};

}  // namespace cinnabar::otlp
