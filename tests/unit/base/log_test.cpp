// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/log.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

struct Lines {
    std::mutex mutex;
    std::vector<std::pair<LogLevel, std::string>> all;

    static void take(LogLevel level, std::string_view line, void* user) {
        auto& self = *static_cast<Lines*>(user);
        const std::lock_guard lock(self.mutex);
        self.all.emplace_back(level, line);
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
    log(LogLevel::error, "%s is %d of %s", "this", 1, "2");
    ASSERT_EQ(lines_.all.size(), 1u);
    EXPECT_EQ(lines_.all[0].first, LogLevel::error);
    EXPECT_EQ(lines_.all[0].second, "this is 1 of 2");
}

TEST_F(Log, LinesBelowTheLevelAreDropped) {
    set_log_level(LogLevel::warning);
    log(LogLevel::debug, "d");
    log(LogLevel::info, "i");
    EXPECT_TRUE(lines_.all.empty());
    EXPECT_FALSE(log_enabled(LogLevel::info));
    EXPECT_TRUE(log_enabled(LogLevel::warning));
    set_log_level(LogLevel::debug);
    log(LogLevel::debug, "d");
    log(LogLevel::warning, "w");
    ASSERT_EQ(lines_.all.size(), 2u);
    set_log_level(LogLevel::error);
    log(LogLevel::warning, "w");
    EXPECT_EQ(lines_.all.size(), 2u);
}

TEST_F(Log, LongLinesAreCut) {
    log(LogLevel::error, "%s", std::string(5000, 'x').c_str());
    log(LogLevel::error, "%s", std::string(1023, 'y').c_str());
    ASSERT_EQ(lines_.all.size(), 2u);
    EXPECT_EQ(lines_.all[0].second, std::string(1023, 'x'));
    EXPECT_EQ(lines_.all[1].second, std::string(1023, 'y'));
}

TEST_F(Log, ManyThreadsLoseNoLine) {
    constexpr int threads = 4;
    constexpr int each = 200;
    std::vector<std::jthread> writers;
    for (int t = 0; t < threads; ++t) {
        writers.emplace_back([t] {
            for (int i = 0; i < each; ++i) log(LogLevel::warning, "%d", t * each + i);
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
    log(LogLevel::warning, "the disk is %d%% full", 91);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "cinnabar: warning: the disk is 91% full\n");
    EXPECT_TRUE(lines_.all.empty());
}

}  // namespace
}  // namespace cinnabar
