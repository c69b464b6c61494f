// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/spdlog.hpp>

#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

// Stores the lines that it gets; blocks its caller while `shut`.
class Kept : public spdlog::sinks::sink {
  public:
    void log(const spdlog::details::log_msg& message) override {
        std::unique_lock lock(mutex_);
        opened_.wait(lock, [this] { return !shut_; });
        lines.emplace_back(message.level, std::string(message.payload.data(), message.payload.size()));
    }
    void flush() override {}
    void set_pattern(const std::string&) override {}
    void set_formatter(std::unique_ptr<spdlog::formatter>) override {}
    void shut() {
        const std::lock_guard lock(mutex_);
        shut_ = true;
    }
    void open() {
        const std::lock_guard lock(mutex_);
        shut_ = false;
        opened_.notify_all();
    }
    std::vector<std::pair<spdlog::level::level_enum, std::string>> lines;

  private:
    std::mutex mutex_;
    std::condition_variable opened_;
    bool shut_ = false;
};

TEST(SpdlogBridge, LinesReachItsSinksWithTheirLevels) {
    const auto kept = std::make_shared<Kept>();
    {
        const hl::SpdlogBridge bridge({kept});
        set_log_level(LogLevel::debug);
        log(LogLevel::debug, "rpc", "a {} that is no format");
        log(LogLevel::error, "tcp", "%d", 7);
        log(LogLevel::error, "tcp", {peer_field("tcp://x"), bytes_field(5)}, "lost");
        set_log_level(LogLevel::warning);
    }
    ASSERT_EQ(kept->lines.size(), 3u);
    EXPECT_EQ(kept->lines[0].first, spdlog::level::debug);
    EXPECT_EQ(kept->lines[0].second, "rpc: a {} that is no format");
    EXPECT_EQ(kept->lines[1].first, spdlog::level::err);
    EXPECT_EQ(kept->lines[1].second, "tcp: 7");
    EXPECT_EQ(kept->lines[2].second, "tcp: lost peer=tcp://x bytes=5");
}

TEST(SpdlogBridge, ASinkThatBlocksStopsNobodyWhoLogs) {
    const auto kept = std::make_shared<Kept>();
    kept->shut();
    std::size_t overrun = 0;
    {
        hl::SpdlogBridge bridge({kept}, 8);
        for (int i = 0; i < 1000; ++i) log(LogLevel::warning, "app", "%d", i);  // returns although nothing is consumed
        overrun = bridge.overrun();
        kept->open();
    }
    EXPECT_GE(overrun, 1000u - 8 - 1);
    ASSERT_FALSE(kept->lines.empty());
    EXPECT_EQ(kept->lines.back().second, "app: 999");
}

}  // namespace
}  // namespace cinnabar
