// SPDX-License-Identifier: BSD-3-Clause
#include "otlp_json.hpp"

#include <cinnabar/base/hex.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace cinnabar::otlp {
namespace {

using Json = nlohmann::json;

Json attribute(const char* key, const std::string& value) {
    return {{"key", key}, {"value", {{"stringValue", value}}}};
}

// The values of protobuf's enumeration: 1 internal, 2 server, 3 client.
int kind_of(hl::SpanKind kind) {
    constexpr std::array<int, 3> kinds{3, 2, 1};
    return kinds[static_cast<std::size_t>(kind)];
}

// In protobuf's JSON, 64-bit numbers are strings.
std::string nanoseconds(std::uint64_t us) { return std::to_string(us * 1'000); }

Json json_of(const hl::SpanRecord& span) {
    Json attributes =
        Json::array({attribute("rpc.system", "cinnabar"), attribute("rpc.method", std::string(span.name))});
    if (!span.peer.empty()) attributes.push_back(attribute("network.peer.address", span.peer.to_string()));
    if (span.bytes != 0) {
        attributes.push_back({{"key", "cinnabar.bytes"}, {"value", {{"intValue", std::to_string(span.bytes)}}}});
    }
    for (std::size_t part = 0; is_timed(span) && part < hl::call_parts; ++part) {
        std::string key = "cinnabar.us_" + std::string(to_string(static_cast<hl::CallPart>(part)));
        std::replace(key.begin(), key.end(), ' ', '_');
        attributes.push_back({{"key", key}, {"value", {{"intValue", std::to_string(span.parts_us[part])}}}});
    }
    Json json{{"traceId", to_hex(span.context.id[0]) + to_hex(span.context.id[1])},
              {"spanId", to_hex(span.context.span)},
              {"name", std::string(span.name)},
              {"kind", kind_of(span.kind)},
              {"startTimeUnixNano", nanoseconds(span.began_unix_us)},
              {"endTimeUnixNano", nanoseconds(span.began_unix_us + span.took_us)},
              {"attributes", std::move(attributes)}};
    if (span.parent != 0) json["parentSpanId"] = to_hex(span.parent);
    constexpr int failed = 2;
    if (span.result != Errc::ok) json["status"] = {{"code", failed}, {"message", std::string(to_string(span.result))}};
    return json;
}

}  // namespace

std::string otlp_json(const std::string& service, const std::vector<hl::SpanRecord>& spans) {
    Json list = Json::array();
    for (const hl::SpanRecord& span : spans) list.push_back(json_of(span));
    const Json scope{{"scope", {{"name", "cinnabar"}}}, {"spans", std::move(list)}};
    const Json resource{{"resource", {{"attributes", Json::array({attribute("service.name", service)})}}},
                        {"scopeSpans", Json::array({scope})}};
    const Json request{{"resourceSpans", Json::array({resource})}};
    return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace cinnabar::otlp
