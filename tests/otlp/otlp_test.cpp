// SPDX-License-Identifier: BSD-3-Clause
#include "otlp/collector.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/otlp/otlp_exporter.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <set>

namespace cinnabar::otlp {
namespace {

using nlohmann::json;

constexpr Rpc<int(int)> echo{"otlp.echo"};
constexpr Rpc<int(int)> nobody{"otlp.nobody"};

class Otlp : public testing::Test {
  protected:
    Otlp() {
        set_log_sink([](const LogLine& line, void* self) { static_cast<Otlp*>(self)->line_ = line.text; }, this);
    }
    ~Otlp() override { set_log_sink(nullptr, nullptr); }
    // Makes calls that are served, and one that is not.
    void call(const std::shared_ptr<OtlpExporter>& exporter, int served = 1) {
        NodeOptions options;
        options.tracer = exporter;
        const Node server = Node::listen("tcp://127.0.0.1:0", options).value();
        server.serve(echo, [](int value) { return value; }).value();
        const auto [client, peer] = Node::connect(server.address(), options).value();
        for (int i = 0; i < served; ++i) EXPECT_EQ(client.call(echo, peer, 7).wait().value(), 7);
        EXPECT_EQ(client.call(nobody, peer, 7).wait().code(), Errc::no_such_rpc);
    }
    static std::vector<json> spans_of(test::Collector& collector) {
        std::vector<json> spans;
        for (const auto& [head, body] : collector.requests()) {
            const json parsed = json::parse(body);
            for (const json& resource : parsed.at("resourceSpans")) {
                EXPECT_EQ(resource["resource"]["attributes"][0]["key"], "service.name");
                EXPECT_EQ(resource["resource"]["attributes"][0]["value"]["stringValue"], "the test");
                for (const json& scope : resource.at("scopeSpans")) {
                    spans.insert(spans.end(), scope.at("spans").begin(), scope.at("spans").end());
                }
            }
        }
        return spans;
    }
    std::string line_;
};

TEST_F(Otlp, ACollectorGetsTheSpansOfACallAndItsHandler) {
    test::Collector collector(200);
    const auto exporter = OtlpExporter::make({.url = collector.url(), .service = "the test"}).value();
    call(exporter);
    exporter->flush();
    EXPECT_EQ(exporter->sent(), 3u);
    EXPECT_EQ(exporter->dropped(), 0u);
    const auto requests = collector.requests();
    ASSERT_FALSE(requests.empty());
    EXPECT_TRUE(requests[0].first.starts_with("POST /v1/traces HTTP/1.1\r\n")) << requests[0].first;
    EXPECT_NE(requests[0].first.find("Content-Type: application/json\r\n"), std::string::npos);

    std::map<int, json> echoes;  // by kind
    json failed;
    for (const json& span : spans_of(collector)) {
        EXPECT_EQ(span["traceId"].get<std::string>().size(), 32u);
        EXPECT_EQ(span["spanId"].get<std::string>().size(), 16u);
        EXPECT_LE(std::stoull(span["startTimeUnixNano"].get<std::string>()),
                  std::stoull(span["endTimeUnixNano"].get<std::string>()));
        if (span["name"] == "otlp.echo") echoes[span["kind"].get<int>()] = span;
        if (span["name"] == "otlp.nobody") failed = span;
    }
    ASSERT_EQ(echoes.size(), 2u);
    EXPECT_EQ(echoes[3]["traceId"], echoes[2]["traceId"]);
    EXPECT_EQ(echoes[2]["parentSpanId"], echoes[3]["spanId"]);
    EXPECT_FALSE(echoes[3].contains("parentSpanId"));
    EXPECT_FALSE(echoes[3].contains("status"));
    EXPECT_NE(echoes[3]["attributes"].dump().find("cinnabar.us_on_the_wire"), std::string::npos) << echoes[3];
    EXPECT_NE(failed["traceId"], echoes[3]["traceId"]);
    EXPECT_EQ(failed["status"]["code"], 2);
    EXPECT_EQ(failed["status"]["message"], "no such rpc");
    // A time after 2020, since collectors sort by it.
    EXPECT_GT(std::stoull(failed["startTimeUnixNano"].get<std::string>()), 1'600'000'000'000'000'000u);
}

TEST_F(Otlp, ACollectorGetsNoMoreTracesThanTheLimit) {
    test::Collector collector(200);
    const auto exporter =
        OtlpExporter::make({.url = collector.url(), .service = "the test", .spans = {.traces_per_second = 1}}).value();
    constexpr int served = 500;
    call(exporter, served);
    exporter->flush();
    EXPECT_GT(exporter->calls_left_out(), 0u);
    std::set<std::string> traces;
    for (const json& span : spans_of(collector)) traces.insert(span["traceId"].get<std::string>());
    EXPECT_EQ(traces.size() + exporter->calls_left_out(), served + 1u);
    EXPECT_EQ(exporter->dropped(), 0u);
}

TEST_F(Otlp, WhatACollectorRefusesIsCountedAndToldOnce) {
    test::Collector collector(503);
    const auto exporter = OtlpExporter::make({.url = collector.url()}).value();
    call(exporter);
    exporter->flush();
    EXPECT_EQ(exporter->sent(), 0u);
    EXPECT_EQ(exporter->dropped(), 3u);
    EXPECT_NE(line_.find("it answered 503"), std::string::npos) << line_;
}

TEST_F(Otlp, ACollectorThatNeverAnswersHoldsUpNoCall) {
    test::Collector collector(0);
    const auto exporter =
        OtlpExporter::make({.url = collector.url(), .answer_max = std::chrono::milliseconds(100)}).value();
    call(exporter);  // the call ends before the thread exports
    exporter->flush();
    EXPECT_EQ(exporter->dropped(), 3u);
}

TEST_F(Otlp, WithoutACollectorSpansAreCountedAsLost) {
    std::string gone;
    { gone = test::Collector(200).url(); }
    const auto exporter = OtlpExporter::make({.url = gone}).value();
    call(exporter);
    exporter->flush();
    EXPECT_EQ(exporter->dropped(), 3u);
    EXPECT_NE(line_.find(gone), std::string::npos) << line_;
}

TEST_F(Otlp, AUrlOfAnotherKindIsRefused) {
    for (const std::string url : {"", "file:///etc/passwd", "127.0.0.1:4318"}) {
        const auto made = OtlpExporter::make({.url = url});
        EXPECT_EQ(made.code(), Errc::invalid_argument) << url;
        EXPECT_EQ(made.error().subject, url);
    }
}

}  // namespace
}  // namespace cinnabar::otlp
