// SPDX-License-Identifier: BSD-3-Clause
// Output for people and for programs: units, JSON, the progress line, exit codes.
#include "terminal/exit_code.hpp"
#include "terminal/json.hpp"
#include "terminal/outlet.hpp"
#include "terminal/progress.hpp"
#include "terminal/units.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <set>

namespace cinnabar::tools {
namespace {

using Seconds = std::chrono::duration<double>;

TEST(Units, Bytes) {
    EXPECT_EQ(human_bytes(0), "0 B");
    EXPECT_EQ(human_bytes(999), "999 B");
    EXPECT_EQ(human_bytes(1000), "1.00 kB");
    EXPECT_EQ(human_bytes(999'499), "999 kB");
    EXPECT_EQ(human_bytes(999'500), "1.00 MB");
    EXPECT_EQ(human_bytes(3'221'225'472), "3.22 GB");
    EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

TEST(Units, Rates) {
    EXPECT_EQ(human_rate(812'345'678), "812 MB/s");
    EXPECT_EQ(human_rate(std::numeric_limits<double>::infinity()), "-");
    EXPECT_EQ(human_rate(-1), "-");
}

TEST(Units, Durations) {
    EXPECT_EQ(human_duration(Seconds(0.42)), "0.42 s");
    EXPECT_EQ(human_duration(Seconds(59.4)), "59.4 s");
    EXPECT_EQ(human_duration(Seconds(59.7)), "1:00");
    EXPECT_EQ(human_duration(Seconds(3599.4)), "59:59");
    EXPECT_EQ(human_duration(Seconds(7384)), "2:03:04");
    EXPECT_EQ(human_latency(Seconds(830e-9)), "830 ns");
    EXPECT_EQ(human_latency(Seconds(12.34e-6)), "12.3 us");
    EXPECT_EQ(human_latency(Seconds(1.2e-3)), "1.20 ms");
    EXPECT_EQ(human_latency(Seconds(2)), "2.00 s");
}

TEST(Units, SizesAreParsed) {
    EXPECT_EQ(parse_bytes("4096").value(), 4096u);
    EXPECT_EQ(parse_bytes("64k").value(), 64u << 10);
    EXPECT_EQ(parse_bytes("1M").value(), 1u << 20);
    EXPECT_EQ(parse_bytes("3G").value(), std::uint64_t{3} << 30);
    for (const char* bad : {"", "k", "-1", "1.5M", "1MB", "1 M", "99999999999999999999", "17179869184G"})
        EXPECT_EQ(parse_bytes(bad).code(), Errc::invalid_argument) << bad;
}

TEST(Json, EveryKindOfField) {
    JsonObject object;
    object.text("text", "a\"b\\c\n").number("count", std::uint64_t{18446744073709551615u}).number("rate", 1.5);
    object.number("never", std::numeric_limits<double>::infinity()).flag("yes", true).raw("list", "[1, 2]");
    EXPECT_EQ(object.line(),
              R"({"text": "a\"b\\c\u000a", "count": 18446744073709551615, "rate": 1.5, "never": null, "yes": true, )"
              R"("list": [1, 2]})");
}

TEST(Json, ANameThatIsNotUtf8HasItsBytesBeside) {
    JsonObject object;
    object.name("name", "caf\xe9").name("plain", "caf\xc3\xa9");
    EXPECT_EQ(object.line(), "{\"name\": \"caf\\ufffd\", \"name_hex\": \"636166e9\", \"plain\": \"caf\xc3\xa9\"}");
}

TEST(Json, AFailureSaysItsExitCode) {
    JsonObject object;
    object.failure(Error{Errc::exists, "a hint", "name"});
    EXPECT_EQ(object.line(), R"json({"error": {"code": "exists", "text": "exists: a hint (name)", "exit": 3}})json");
    JsonObject other;
    other.failure(Error{Errc::not_found, "a hint"});
    EXPECT_NE(other.line().find(R"("code": "not_found")"), std::string::npos) << "one word: " << other.line();
}

TEST(Progress, TheLineOfAFile) {
    ProgressFacts facts;
    facts.names = {"big.bin"};
    facts.files_total = 1;
    facts.bytes_done = 1'671'000'000;
    facts.bytes_total = 3'221'225'472;
    facts.bytes_per_second = 812e6;
    EXPECT_EQ(progress_line(facts, 120),
              "[##########..........]  51 %  1.67 GB of 3.22 GB  812 MB/s  1.91 s left  big.bin");
}

TEST(Progress, ManyFilesAreCounted) {
    ProgressFacts facts;
    facts.files_done = 3;
    facts.files_total = 10;
    facts.bytes_total = 1000;
    EXPECT_EQ(progress_line(facts, 120), "[....................]   0 %  0 B of 1.00 kB  3/10");
}

TEST(Progress, ALongOrWildNameIsCutAndTamed) {
    ProgressFacts facts;
    facts.names = {"\x1b[2Jcaf\xc3\xa9-and-a-name-that-goes-on-and-on"};
    facts.bytes_total = 0;
    EXPECT_EQ(progress_line(facts, 60), "[####################] 100 %  0 B of 0 B  \\x1b[2Jcaf\xc3\xa9-and-a~");
    EXPECT_EQ(progress_line(facts, 10), "[#########");
}

TEST(Progress, AsManyNamesAsFitAndHowManyMoreThereAre) {
    ProgressFacts facts;
    facts.names = {"first", "second", "third"};
    const std::string bar = "[####################] 100 %  0 B of 0 B  ";
    EXPECT_EQ(progress_line(facts, 120), bar + "first, second, third");
    EXPECT_EQ(progress_line(facts, bar.size() + 20), bar + "first, second, third");
    EXPECT_EQ(progress_line(facts, bar.size() + 19), bar + "first, second +1");
    EXPECT_EQ(progress_line(facts, bar.size() + 15), bar + "first +2");
    EXPECT_EQ(progress_line(facts, bar.size() + 7), bar + "fir~ +2");
}

TEST(Progress, AProgramIsToldOfTheFilesThatAreUnderWay) {
    std::mutex mutex;
    std::condition_variable changed;
    ProgressFacts last;
    ProgressBar bar({-1,
                     [&](const ProgressFacts& facts) {
                         const std::lock_guard lock(mutex);
                         last = facts;
                         changed.notify_all();
                     },
                     std::chrono::milliseconds(1)});
    const auto told = [&](const std::vector<std::string>& names) {
        std::unique_lock lock(mutex);
        return changed.wait_for(lock, std::chrono::seconds(30), [&] { return last.names == names; });
    };
    bar.add_files(2);
    bar.begin_file("a");
    bar.begin_file("b");
    EXPECT_TRUE(told({"a", "b"}));
    bar.end_file();
    bar.leave_file("a");
    EXPECT_TRUE(told({"b"}));
    const std::lock_guard lock(mutex);
    EXPECT_EQ(last.files_total, 2u);
    EXPECT_EQ(last.files_done, 1u);
}

TEST(Progress, MoreBytesThanAnnouncedAreNoMoreThanAll) {
    ProgressFacts facts;
    facts.bytes_done = 20;
    facts.bytes_total = 10;
    facts.bytes_per_second = 1;
    EXPECT_EQ(progress_line(facts, 80), "[####################] 100 %  10 B of 10 B  1 B/s  0.00 s left");
}

TEST(Progress, TheRateFollowsAChange) {
    RateMeter meter;
    EXPECT_EQ(meter.bytes_per_second(), 0);
    meter.sample(Seconds(0), 0);
    EXPECT_EQ(meter.bytes_per_second(), 0);
    std::uint64_t bytes = 0;
    for (int tick = 1; tick <= 10; ++tick) meter.sample(Seconds(0.1 * tick), bytes += 10);
    EXPECT_NEAR(meter.bytes_per_second(), 100, 1e-6);
    for (int tick = 11; tick <= 60; ++tick) meter.sample(Seconds(0.1 * tick), bytes += 100);
    EXPECT_GT(meter.bytes_per_second(), 900);
    EXPECT_LE(meter.bytes_per_second(), 1000);
}

TEST(Progress, NothingIsDrawnOnAPipe) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
    {
        ProgressBar bar({ends[1], {}, std::chrono::milliseconds(1)});
        bar.begin_file("a");
        bar.add_bytes(10);
    }
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), -1);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(Outlet, WhatNobodyReadsIsDroppedAndCounted) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    constexpr std::uint64_t told = 3 * Outlet::lines_max;
    // Long enough that only a few fit in the pipe.
    const std::string text = std::string(500, 'x') + "\n";
    std::uint64_t written = 0;
    std::uint64_t lost = 0;
    Outlet outlet([&](std::uint64_t count) { return Outlet::Line{ends[1], std::to_string(count) + " lost\n"}; });
    for (std::uint64_t i = 0; i < told; ++i) outlet.tell({ends[1], text});
    std::string got;
    std::array<char, 65536> buffer{};
    // The count may be reported in parts, whenever there is room again.
    while (written + lost < told) {
        pollfd readable{ends[0], POLLIN, 0};
        ASSERT_EQ(::poll(&readable, 1, 30'000), 1) << written << " lines and " << lost << " lost";
        const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
        ASSERT_GT(count, 0);
        got.append(buffer.data(), static_cast<std::size_t>(count));
        for (std::size_t end = 0; (end = got.find('\n')) != std::string::npos;) {
            const std::string line = got.substr(0, end + 1);
            got.erase(0, end + 1);
            if (line == text) {
                ++written;
            } else {
                lost += std::stoull(line);
            }
        }
    }
    EXPECT_EQ(written + lost, told) << "each is written or counted";
    EXPECT_GE(written, Outlet::lines_max);
    EXPECT_GT(lost, 0u);
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST(Outlet, ItsEndDoesNotWaitForAReaderThatNeverReads) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    // When the test ends, closing the pipe releases the thread. Its write should then fail instead of raising a signal.
    (void)::signal(SIGPIPE, SIG_IGN);
    const auto begin = std::chrono::steady_clock::now();
    {
        Outlet outlet([&](std::uint64_t) { return Outlet::Line{ends[1], "lost\n"}; });
        for (std::size_t i = 0; i < Outlet::lines_max; ++i) outlet.tell({ends[1], std::string(500, 'x') + "\n"});
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    ::close(ends[0]);
    // The thread may still be returning from its write, so the other end and the signal handler stay as they are.
}

TEST(ExitCode, EveryErrorHasOne) {
    EXPECT_EQ(exit_code(Errc::ok), ExitCode::ok);
    for (unsigned code = 1; code < errc_count; ++code) {
        EXPECT_NE(exit_code(static_cast<Errc>(code)), ExitCode::ok);
        EXPECT_NE(exit_code(static_cast<Errc>(code)), ExitCode::usage);
    }
}

TEST(ExitCode, DifferentCausesDiffer) {
    const std::set<ExitCode> codes{
        exit_code(Errc::refused),   exit_code(Errc::exists),       exit_code(Errc::permission),
        exit_code(Errc::no_space),  exit_code(Errc::bad_checksum), exit_code(Errc::peer_lost),
        exit_code(Errc::timed_out), exit_code(Errc::canceled),     exit_code(Errc::not_found)};
    EXPECT_EQ(codes.size(), 9u);
}

}  // namespace
}  // namespace cinnabar::tools
