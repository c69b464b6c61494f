// SPDX-License-Identifier: BSD-3-Clause
#include "support/sanitizers.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cinnabar {
namespace {

constexpr Microseconds limit{20'000'000};

struct Lines {
    std::mutex mutex;
    std::vector<std::pair<LogLevel, std::string>> all;
    // Of the last one:
    std::string module;
    std::uint64_t left_out = 0;
    std::vector<std::pair<std::string, std::string>> fields;

    static void take(const LogLine& line, void* user) {
        auto& self = *static_cast<Lines*>(user);
        const std::lock_guard lock(self.mutex);
        self.all.emplace_back(line.level, line.text);
        self.left_out = line.left_out;
        self.module = line.module;
        self.fields.clear();
        for (const LogField& field : line.fields)
            self.fields.emplace_back(field.key(),
                                     field.is_number() ? std::to_string(field.number()) : std::string(field.text()));
    }
};

// A peer that counts how often its name was made.
struct Named {
    std::string name;
    mutable int made = 0;
    [[nodiscard]] std::string log_name() const noexcept {
        ++made;
        return name;
    }
};

class Log : public ::testing::Test {
  protected:
    void SetUp() override { set_log_sink(Lines::take, &lines_); }
    void TearDown() override {
        set_log_sink(nullptr, nullptr);
        set_log_level(LogLevel::warning);
    }
    Lines lines_;
};

TEST_F(Log, SinkGetsTheFinishedLine) {
    log(LogLevel::error, "app", "%s is %d of %s", "this", 1, "2");
    ASSERT_EQ(lines_.all.size(), 1u);
    EXPECT_EQ(lines_.all[0].first, LogLevel::error);
    EXPECT_EQ(lines_.all[0].second, "this is 1 of 2");
    EXPECT_EQ(lines_.module, "app");
}

TEST_F(Log, LinesBelowTheLevelAreDropped) {
    set_log_level(LogLevel::warning);
    log(LogLevel::debug, "app", "d");
    log(LogLevel::info, "app", "i");
    EXPECT_TRUE(lines_.all.empty());
    EXPECT_FALSE(log_enabled(LogLevel::info, "app"));
    EXPECT_TRUE(log_enabled(LogLevel::warning, "app"));
    set_log_level(LogLevel::debug);
    log(LogLevel::debug, "app", "d");
    log(LogLevel::warning, "app", "w");
    ASSERT_EQ(lines_.all.size(), 2u);
    set_log_level(LogLevel::error);
    log(LogLevel::warning, "app", "w");
    EXPECT_EQ(lines_.all.size(), 2u);
}

TEST_F(Log, LongLinesAreCut) {
    log(LogLevel::error, "app", "%s", std::string(5000, 'x').c_str());
    log(LogLevel::error, "app", "%s", std::string(1023, 'y').c_str());
    ASSERT_EQ(lines_.all.size(), 2u);
    EXPECT_EQ(lines_.all[0].second, std::string(1023, 'x'));
    EXPECT_EQ(lines_.all[1].second, std::string(1023, 'y'));
}

TEST_F(Log, FieldsReachTheSinkBesideTheText) {
    using Fields = std::vector<std::pair<std::string, std::string>>;
    const Named peer{"tcp://10.0.0.5:41234"};
    log(LogLevel::error, "app",
        {peer_field(peer), transport_field("tcp"), rpc_field("store.get"), error_field(Errc::peer_lost), bytes_field(7),
         LogField("attempt", 3u)},
        "%s is lost", "it");
    ASSERT_EQ(lines_.all.size(), 1u);
    EXPECT_EQ(lines_.all[0].second, "it is lost");
    EXPECT_EQ(lines_.fields, (Fields{{"peer", "tcp://10.0.0.5:41234"},
                                     {"transport", "tcp"},
                                     {"rpc", "store.get"},
                                     {"error", std::string(to_string(Errc::peer_lost))},
                                     {"bytes", "7"},
                                     {"attempt", "3"}}));
    LogLimit lines;
    log_limited(lines, LogLevel::error, "app", {peer_field(std::string("key:ann"))}, "%d", 5);
    EXPECT_EQ(lines_.all.back().second, "5");
    EXPECT_EQ(lines_.fields, (Fields{{"peer", "key:ann"}}));
    log(LogLevel::error, "app", "none");
    EXPECT_TRUE(lines_.fields.empty());
}

TEST_F(Log, NamesAreMadeForLinesThatAreLoggedOnly) {
    const Named peer{"a peer"};
    LogLimit lines(1, Microseconds{3'600'000'000});
    log(LogLevel::debug, "app", {peer_field(peer)}, "d");
    log_limited(lines, LogLevel::debug, "app", {peer_field(peer)}, "d");
    EXPECT_EQ(peer.made, 0) << "below the level";
    for (int i = 0; i < 3; ++i) log_limited(lines, LogLevel::warning, "app", {peer_field(peer)}, "w");
    EXPECT_EQ(lines_.all.size(), 1u);
    EXPECT_EQ(peer.made, 1) << "over the limit";
}

TEST_F(Log, FieldsAreBoundedInNumberAndSize) {
    const Named peer{std::string(5'000, 'x')};
    const Named other{std::string(5'000, 'y')};
    log(LogLevel::error, "app",
        {peer_field(peer), peer_field(other), peer_field(peer), LogField("d", 4u), LogField("e", 5u), LogField("f", 6u),
         LogField("g", 7u), LogField("h", 8u), LogField("i", 9u)},
        "x");
    ASSERT_EQ(lines_.fields.size(), 8u);
    EXPECT_EQ(lines_.fields[0].second, std::string(255, 'x'));
    EXPECT_EQ(lines_.fields[1].second, std::string(255, 'y'));
    EXPECT_EQ(lines_.fields[2].second, "x") << "what is left of the room for names";
    EXPECT_EQ(lines_.fields[7].first, "h");
}

TEST_F(Log, KeysAreThoseOfNoOtherMember) {
    for (const char* const key : {"peer", "rpc", "a_1", "fifteen_letters"}) EXPECT_TRUE(LogKey::is_key(key)) << key;
    for (const char* const key : {"", "text", "time", "left_out", "Peer", "a-b", "a\"", "sixteen_letters_"})
        EXPECT_FALSE(LogKey::is_key(key)) << key;
}

TEST_F(Log, ManyThreadsLoseNoLine) {
    constexpr int threads = 4;
    constexpr int each = 200;
    std::vector<std::jthread> writers;
    for (int t = 0; t < threads; ++t) {
        writers.emplace_back([t] {
            for (int i = 0; i < each; ++i) log(LogLevel::warning, "app", "%d", t * each + i);
        });
    }
    writers.clear();
    std::vector<bool> seen(threads * each);
    for (const auto& [level, line] : lines_.all) seen.at(static_cast<std::size_t>(std::stoi(line))) = true;
    EXPECT_EQ(lines_.all.size(), seen.size());
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), threads * each);
}

TEST_F(Log, WithoutASinkLinesGoToStderr) {
    set_log_sink(nullptr, nullptr);
    ::testing::internal::CaptureStderr();
    log(LogLevel::warning, "app", "the disk is %d%% full", 91);
    EXPECT_TRUE(flush_log(limit));
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "cinnabar: warning: app: the disk is 91% full\n");
    EXPECT_TRUE(lines_.all.empty());
}

// A pipe in place of stderr, from which only read() reads.
class UnreadStderr {
  public:
    UnreadStderr() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe(ends.data()), 0);
        out_.reset(ends[0]);
        EXPECT_EQ(::fcntl(out_.get(), F_SETFL, O_NONBLOCK), 0);
        EXPECT_GT(::fcntl(out_.get(), F_SETPIPE_SZ, 4096), 0);
        before_.reset(::dup(STDERR_FILENO));
        EXPECT_EQ(::dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
        (void)::close(ends[1]);
    }
    ~UnreadStderr() {
        (void)flush_log(limit);
        (void)::dup2(before_.get(), STDERR_FILENO);
    }
    std::string read() {
        std::string text;
        std::array<char, 4096> some{};
        for (ssize_t count = 0; (count = ::read(out_.get(), some.data(), some.size())) > 0;) {
            text.append(some.data(), static_cast<std::size_t>(count));
        }
        return text;
    }

  private:
    UniqueFd out_;
    UniqueFd before_;
};

TEST_F(Log, NobodyWaitsForStderrAndWhatIsDroppedIsCounted) {
    set_log_sink(nullptr, nullptr);
    UnreadStderr unread;
    constexpr int count = 5000;
    std::atomic<bool> through{false};
    std::jthread logger([&] {
        for (int i = 0; i < count; ++i) log(LogLevel::warning, "app", "line %d of a flood", i);
        through = true;
    });
    const TimeUs end = after(steady_clock().now_us(), limit);
    while (!through && steady_clock().now_us() < end) std::this_thread::yield();
    EXPECT_TRUE(through) << "a thread that logs waits for who reads";
    std::string all;
    while (all.find("were dropped") == std::string::npos && steady_clock().now_us() < end) all += unread.read();
    unsigned long long dropped = 0;
    const std::size_t at = all.find("cinnabar: warning: ", all.rfind("of a flood"));
    ASSERT_NE(at, std::string::npos) << all;
    ASSERT_EQ(std::sscanf(all.c_str() + at, "cinnabar: warning: base: %llu lines of the log were dropped", &dropped),
              1);
    unsigned long long lines = 0;
    for (std::size_t next = 0; (next = all.find("of a flood\n", next)) != std::string::npos; ++next) ++lines;
    EXPECT_EQ(lines + dropped, static_cast<unsigned long long>(count));
    EXPECT_GT(dropped, 0u);
    log(LogLevel::warning, "app", "and on");
    EXPECT_TRUE(flush_log(limit));
    EXPECT_NE(unread.read().find("cinnabar: warning: app: and on\n"), std::string::npos);
}

TEST_F(Log, LinesOfAnEndingProcessAndOfAForkedOneAreWritten) {
    if (support::thread_sanitizer) GTEST_SKIP() << "it lets a forked process make no threads";
    set_log_sink(nullptr, nullptr);
    UnreadStderr unread;
    log(LogLevel::warning, "app", "the parent's");
    ASSERT_TRUE(flush_log(limit));
    const pid_t child = ::fork();
    if (child == 0) {
        log(LogLevel::warning, "app", "the child's");
        std::exit(0);  // NOLINT(concurrency-mt-unsafe): waits for its line
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    const std::string expected = "cinnabar: warning: app: the parent's\ncinnabar: warning: app: the child's\n";
    std::string written = unread.read();
    // The leak checker adds that it could not stop the writing thread.
    if (support::address_sanitizer) written.resize(std::min(written.size(), expected.size()));
    EXPECT_EQ(written, expected);
}

TEST_F(Log, ALimitLetsABurstThroughAndThenOneAPeriod) {
    LogLimit lines(3, Microseconds{1'000});
    std::uint64_t left_out = 0;
    const TimeUs start = 1'000'000;
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(lines.admits(start, left_out));
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(lines.admits(start + 999, left_out));
    EXPECT_TRUE(lines.admits(start + 1'000, left_out));
    EXPECT_EQ(left_out, 20u);
    EXPECT_FALSE(lines.admits(start + 1'000, left_out));
    EXPECT_TRUE(lines.admits(start + 2'000, left_out));
    EXPECT_EQ(left_out, 1u);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(lines.admits(start + 1'000'000, left_out)) << "a burst again, after a rest";
    EXPECT_FALSE(lines.admits(start + 1'000'000, left_out));
}

TEST_F(Log, ALimitHasABurstOfAtLeastOneLine) {
    LogLimit lines(0, Microseconds{1'000});
    std::uint64_t left_out = 0;
    EXPECT_TRUE(lines.admits(1'000'000, left_out));
    EXPECT_FALSE(lines.admits(1'000'999, left_out));
}

TEST_F(Log, AFloodIsCountedByTheNextLine) {
    LogLimit lines(2, Microseconds{50'000});
    const TimeUs end = after(steady_clock().now_us(), limit);
    int sent = 0;
    for (; lines_.all.size() < 3 && steady_clock().now_us() < end; ++sent) {
        log_limited(lines, LogLevel::warning, "app", "%s", "nonsense");
    }
    ASSERT_EQ(lines_.all.size(), 3u);
    EXPECT_EQ(lines_.all[0].second, "nonsense");
    EXPECT_EQ(lines_.all[1].second, "nonsense");
    EXPECT_EQ(lines_.all[2].second, "nonsense (" + std::to_string(sent - 3) + " more of these left out)");
    EXPECT_EQ(lines_.left_out, static_cast<std::uint64_t>(sent - 3));
}

}  // namespace
}  // namespace cinnabar
