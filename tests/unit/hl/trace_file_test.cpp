// SPDX-License-Identifier: BSD-3-Clause
#include "support/folder.hpp"

#include <cinnabar/hl/trace_file.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <regex>

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
        span.parts_us = {1, 20, 300, 4'000, 50'000};
        file->ended(span);
    }
    const std::string head =
        R"({"name": "quotedname", "cat": "call", "ph": "PHASE", "id": "0x0000000000000003", "pid": )" +
        std::to_string(::getpid()) + R"(, "tid": 0, "ts": TIME)";
    const std::string arguments =
        R"(, "args": {"trace": "0000000000000001fedcba9876543210", "span": "0000000000000003", )"
        R"("parent": "00000000000000ab", "peer": "tcp://10.0.0.5:4000", "result": ")" +
        std::string(to_string(Errc::timed_out)) +
        R"(", "bytes": 4096, "us leaving": 1, "us on the wire": 20, "us waiting for the handler": 300, )"
        R"("us in the handler": 4000, "us waiting for the caller": 50000}},)";
    const auto event = [&](const char* phase) { return std::regex_replace(head, std::regex("PHASE"), phase); };
    const std::string text = folder.get("trace.json");
    const std::regex time("\"ts\": ([0-9]+)");
    EXPECT_EQ(std::regex_replace(text, time, "\"ts\": TIME"),
              "[\n" + event("b") + arguments + "\n" + event("e") + "}\n]\n");
    std::vector<std::uint64_t> times;
    for (auto at = std::sregex_iterator(text.begin(), text.end(), time); at != std::sregex_iterator(); ++at)
        times.push_back(std::stoull((*at)[1]));
    ASSERT_EQ(times.size(), 2u);
    EXPECT_EQ(times[1] - times[0], 250u);
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
    EXPECT_EQ(lines_in(text), 2 * spans + 2);
    EXPECT_NE(text.find('"' + longest.substr(0, 1'024) + '"'), std::string::npos);
    EXPECT_EQ(text.find(longest.substr(0, 1'025)), std::string::npos);
    EXPECT_EQ(std::ranges::count(text, '{'), std::ranges::count(text, '}'));
    EXPECT_TRUE(text.ends_with("}\n]\n"));
}

}  // namespace
}  // namespace cinnabar::hl
