// SPDX-License-Identifier: BSD-3-Clause
#include "support/folder.hpp"

#include <cinnabar/hl/trace_file.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <regex>
#include <string>
#include <vector>

namespace cinnabar::hl {
namespace {

Span small_span(std::string_view name) {
    Span span;
    span.name = name;
    span.context = {{1, 0xfedcba9876543210}, 3};
    span.began_us = 1'000;
    span.ended_us = 1'250;
    return span;
}

std::size_t lines_in(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

// The text with times counted from the first one, and without the name of the process.
std::string relative(std::string text) {
    static const std::regex process(R"("args":\{"name":"[^" ]+ on [^" ]+")");
    static const std::regex time(R"("ts":([0-9]+))");
    text = std::regex_replace(text, process, R"("args":{"name":"PROGRAM on HOST")");
    std::string out;
    std::int64_t first = 0;
    std::smatch found;
    while (std::regex_search(text, found, time)) {
        const std::int64_t at = std::stoll(found[1]);
        if (first == 0) first = at;
        out += found.prefix().str() + "\"ts\":" + std::to_string(at - first);
        text = found.suffix().str();
    }
    return out + text;
}

// The head of an event in the lane of this number, up to the time.
std::string head(const std::string& name, char phase, const std::string& lane) {
    const std::string process = std::to_string(::getpid());
    return R"({"ph":")" + std::string(1, phase) + R"(","name":")" + name + R"(","cat":"cinnabar","id2":{"local":"0x)" +
           lane + R"("},"pid":)" + process + R"(,"tid":)" + process + R"(,"ts":)";
}

constexpr const char* lane_of_parent = "00000000000000ab";

TEST(TraceFile, HoldsEachSpanLetterByLetter) {
    const support::Folder folder;
    {
        const auto file = TraceFile::make(folder.at("trace.json")).value();
        Span span = small_span("quo\"ted\\na\nme\x7f");
        span.parent = 0xab;
        span.bytes = 4'096;
        span.result = Errc::timed_out;
        const na::Addr peer = na::Addr::parse("tcp://10.0.0.5:4000").value();
        span.peer = &peer;
        span.parts_us = {1, 0, 0, 8, 0, 20, 9, 12, 200};
        file->ended(span);
    }
    const std::string process = std::to_string(::getpid());
    const std::string flow = R"(,"bind_id":"0x0000000000000003","flow_out":true)";
    const std::string arguments =
        R"(,"args":{"kind":"call","trace":"0000000000000001fedcba9876543210","span":"0000000000000003",)"
        R"("parent":"00000000000000ab","peer":"tcp://10.0.0.5:4000","result":")" +
        std::string(to_string(Errc::timed_out)) +
        R"(","bytes":4096,"us connecting":1,"us on the wire there":8,"us in the handler":20,)"
        R"("us in its transfers":9,"us on the wire back":12,"us waiting for the caller":200}})";
    std::string expected = R"([
{"ph":"M","name":"process_name","pid":)" +
                           process + R"(,"tid":)" + process + R"(,"args":{"name":"PROGRAM on HOST"}},
)";
    expected += head("quotedname", 'b', lane_of_parent) + "0" + flow + arguments;
    const auto slice = [&](const std::string& name, int from, int to) {
        expected += ",\n" + head(name, 'b', lane_of_parent) + std::to_string(from) + "},\n";
        expected += head(name, 'e', lane_of_parent) + std::to_string(to) + "}";
    };
    slice("connecting", 0, 1);
    slice("on the wire there", 1, 9);
    slice("in the handler", 9, 29);
    slice("in its transfers", 29, 38);
    slice("on the wire back", 38, 50);
    slice("waiting for the caller", 50, 250);
    expected += ",\n" + head("quotedname", 'e', lane_of_parent) + "250}\n]\n";
    EXPECT_EQ(relative(folder.get("trace.json")), expected);
}

TEST(TraceFile, NamesAllPartsAsTheRestDoes) {
    const support::Folder folder;
    {
        const auto file = TraceFile::make(folder.at("trace.json")).value();
        Span span = small_span("call");
        span.parts_us.fill(12);
        file->ended(span);
    }
    const std::string text = folder.get("trace.json");
    for (std::size_t part = 0; part < call_parts; ++part) {
        const std::string name(to_string(static_cast<CallPart>(part)));
        EXPECT_NE(text.find(",\"us " + name + "\":12"), std::string::npos) << name;
        EXPECT_NE(text.find("{\"ph\":\"b\",\"name\":\"" + name + "\","), std::string::npos) << name;
    }
}

// A short call, which has all its parts as arguments, and its handler.
TEST(TraceFile, NeedsFewBytesForACall) {
    const support::Folder folder;
    const auto file = TraceFile::make(folder.at("trace.json")).value();
    const na::Addr peer = na::Addr::parse("tcp://10.0.0.5:4000").value();
    const auto add_call = [&] {
        Span span = small_span("some.name");
        span.peer = &peer;
        span.ended_us = span.began_us + 99;
        span.parts_us.fill(11);
        file->ended(span);
        span.kind = SpanKind::handler;
        span.parent = span.context.span;
        span.parts_us = {};
        file->ended(span);
        file->flush();
        return folder.get("trace.json").size();
    };
    const std::size_t with_the_first = add_call();
    EXPECT_LE(add_call() - with_the_first, 1'200u);
}

// Spans are told to the file as if they came from a node, which asks first.
TEST(TraceFile, TellsHowManyWereLeftOut) {
    const support::Folder folder;
    const auto left_out = [](int calls, int requests, const char* at) {
        const std::string process = std::to_string(::getpid());
        return R"({"ph":"C","name":"left out","pid":)" + process + R"(,"tid":)" + process + R"(,"ts":)" + at +
               R"(,"args":{"calls":)" + std::to_string(calls) + R"(,"requests":)" + std::to_string(requests) + "}}";
    };
    {
        const auto file =
            TraceFile::make(folder.at("trace.json"), {.traces_per_second = 1, .requests_per_second = 1}).value();
        for (int i = 0; i < 3; ++i) {
            if (file->records(TraceOrigin::here, 1'000)) file->ended(small_span("call"));
        }
        file->flush();
        file->flush();
        EXPECT_TRUE(file->records(TraceOrigin::elsewhere, 1'000));
        EXPECT_FALSE(file->records(TraceOrigin::elsewhere, 1'000));
        EXPECT_EQ(file->calls_left_out(), 2u);
        EXPECT_EQ(file->requests_left_out(), 1u);
    }
    const std::string text = relative(folder.get("trace.json"));
    EXPECT_TRUE(text.ends_with(",\n" + left_out(2, 0, "250") + ",\n" + left_out(2, 1, "250") + "\n]\n")) << text;
}

// Numbers of each length, and a peer and a name that alternate with others.
TEST(TraceFile, HoldsNumbersAndNamesOfAllLengths) {
    const support::Folder folder;
    constexpr std::uint64_t numbers[] = {1, 9, 10, 99, 100, 999, 1'000, 9'999, 10'000, 123'456, ~std::uint64_t{0}};
    const std::vector<std::string> names{"a", "some.longer.name", "b"};
    {
        const auto file = TraceFile::make(folder.at("trace.json")).value();
        for (const std::uint64_t number : numbers) {
            Span span = small_span(names[number % names.size()]);
            const na::Addr peer = na::Addr::parse("tcp://10.0.0.5:" + std::to_string(4'000 + number % 5)).value();
            span.peer = &peer;
            span.bytes = number;
            file->ended(span);
        }
    }
    const std::string text = folder.get("trace.json");
    for (const std::uint64_t number : numbers) {
        const std::string wanted = "\"tcp://10.0.0.5:" + std::to_string(4'000 + number % 5) +
                                   "\",\"result\":\"ok\",\"bytes\":" + std::to_string(number) + "}";
        EXPECT_NE(text.find(wanted), std::string::npos) << wanted;
        EXPECT_NE(text.find(",\"name\":\"" + names[number % names.size()] + "\","), std::string::npos);
    }
}

// Spans of one handler, whose span is 0xab.
class OfAHandler : public testing::Test {
  protected:
    void ends(SpanKind kind, const char* name, TimeUs began_us, TimeUs ended_us) {
        Span span = small_span(name);
        span.kind = kind;
        span.context.span = kind == SpanKind::handler ? 0xab : ++spans_;
        span.parent = kind == SpanKind::handler ? 0xcd : 0xab;
        span.began_us = began_us;
        span.ended_us = ended_us;
        file_->ended(span);
    }
    std::string close() {
        file_.reset();
        return relative(folder_.get("trace.json"));
    }
    static bool below(const std::string& text, const std::string& name) {
        EXPECT_NE(text.find("\n{\"ph\":\"b\",\"name\":\"" + name + '"'), std::string::npos) << name;
        return text.find('\n' + head(name, 'b', lane_of_parent)) != std::string::npos;
    }
    support::Folder folder_;
    std::shared_ptr<TraceFile> file_ =
        TraceFile::make(folder_.at("trace.json"), {.period = std::chrono::hours(1)}).value();
    std::uint64_t spans_ = 0;
};

TEST_F(OfAHandler, WhatItDoesInTurnIsBelowIt) {
    ends(SpanKind::call, "first", 1'000, 1'200);
    ends(SpanKind::call, "second", 1'200, 1'300);
    ends(SpanKind::call, "beside", 1'250, 1'400);
    ends(SpanKind::transfer, "pull", 1'500, 1'600);
    ends(SpanKind::handler, "serves", 1'000, 2'000);
    ends(SpanKind::call, "outlives", 1'900, 2'500);
    const std::string text = close();
    EXPECT_TRUE(below(text, "first"));
    EXPECT_TRUE(below(text, "second"));
    EXPECT_FALSE(below(text, "beside"));
    EXPECT_TRUE(below(text, "pull"));
    EXPECT_FALSE(below(text, "outlives"));
    const std::string handler = '\n' + head("serves (handler)", 'b', lane_of_parent) +
                                R"(0,"bind_id":"0x00000000000000cd","flow_in":true,"args":{"kind":"handler")";
    ASSERT_NE(text.find(handler), std::string::npos) << text;
    EXPECT_LT(text.find(handler), text.find("\"first\"")) << "a viewer takes the first of two to be the parent";
}

TEST_F(OfAHandler, WhatWasWrittenBeforeItIsBelowItAsWell) {
    ends(SpanKind::call, "first", 1'000, 1'200);
    file_->flush();
    ends(SpanKind::call, "second", 1'100, 1'300);
    ends(SpanKind::handler, "serves", 1'000, 2'000);
    file_->flush();
    ends(SpanKind::call, "outlives", 1'900, 2'500);
    const std::string text = close();
    EXPECT_TRUE(below(text, "first"));
    EXPECT_FALSE(below(text, "second"));
    EXPECT_FALSE(below(text, "outlives"));
    EXPECT_NE(text.find('\n' + head("serves (handler)", 'b', lane_of_parent) + "-1,"), std::string::npos) << text;
    EXPECT_NE(text.find('\n' + head("serves (handler)", 'e', lane_of_parent) + "1000}"), std::string::npos) << text;
}

// More than its memory holds at once, and names that are too long.
TEST(TraceFile, IsWrittenInParts) {
    constexpr std::size_t spans = 1'000;
    const support::Folder folder;
    const std::string longest(5'000, 'x');
    {
        const auto file = TraceFile::make(folder.at("trace.json")).value();
        for (std::size_t i = 0; i < spans; ++i)
            file->ended(small_span(i % 2 == 0 ? std::string_view("short") : longest));
    }
    const std::string text = folder.get("trace.json");
    EXPECT_EQ(lines_in(text), 2 * spans + 3);
    EXPECT_NE(text.find('"' + longest.substr(0, 1'024) + '"'), std::string::npos);
    EXPECT_EQ(text.find(longest.substr(0, 1'025)), std::string::npos);
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}'));
    EXPECT_TRUE(text.ends_with("}\n]\n"));
}

}  // namespace
}  // namespace cinnabar::hl
