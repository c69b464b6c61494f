// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cinnabar/hl/span_exporter.hpp>

#include <string>
#include <vector>

namespace cinnabar::otlp {

// The body of a request to /v1/traces: an ExportTraceServiceRequest in protobuf's JSON, with ids in hex.
[[nodiscard]] std::string otlp_json(const std::string& service, const std::vector<hl::SpanRecord>& spans);

}  // namespace cinnabar::otlp
