// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/span_exporter.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace cinnabar::hl {
namespace {

constexpr std::chrono::seconds patience{20};

// Counts what it exports, and can be held up while it does.
class Counter final : public SpanExporter {
  public:
    explicit Counter(std::size_t spans_max) : Counter({.spans_max = spans_max, .period = std::chrono::hours(1)}) {}
    explicit Counter(const SpanExporterOptions& options) : SpanExporter(options) {}
    ~Counter() override {
        hold(false);
        finish();
    }
    void add(int spans) {
        for (int i = 0; i < spans; ++i) ended({});
    }
    void hold(bool held) {
        const std::lock_guard lock(mutex_);
        held_ = held;
        changed_.notify_all();
    }
    // Whether it began to export `spans` spans in time.
    bool await(std::size_t spans) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, patience, [&] { return exported_ >= spans; });
    }
    std::size_t exported() {
        const std::lock_guard lock(mutex_);
        return exported_;
    }

  private:
    void export_spans(const std::vector<SpanRecord>& spans) override {
        std::unique_lock lock(mutex_);
        exported_ += spans.size();
        changed_.notify_all();
        changed_.wait(lock, [this] { return !held_; });
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    std::size_t exported_ = 0;
};

TEST(SpanExporter, ExportsEarlyWhenHalfOfItsRoomIsFull) {
    Counter counter(8);
    counter.add(3);
    EXPECT_EQ(counter.exported(), 0u);
    counter.add(1);
    EXPECT_TRUE(counter.await(4));
}

TEST(SpanExporter, DropsAndCountsSpansThatFindNoRoom) {
    Counter counter(8);
    counter.hold(true);
    counter.add(4);
    ASSERT_TRUE(counter.await(4));
    counter.add(10);
    EXPECT_EQ(counter.dropped(), 2u);
    counter.hold(false);
    counter.flush();
    EXPECT_EQ(counter.exported(), 12u);
}

TEST(TraceLimit, AdmitsThoseOfASecondAtOnceAndThenOneAfterTheOther) {
    TraceLimit limit(100);
    const auto admitted = [&](TimeUs now) {
        int count = 0;
        while (count < 1'000 && limit.admits(now)) ++count;
        return count;
    };
    constexpr TimeUs begin = 5'000'000;
    EXPECT_EQ(admitted(begin), 100);
    EXPECT_EQ(admitted(begin + 9'999), 0);
    EXPECT_EQ(admitted(begin + 10'000), 1);
    EXPECT_EQ(admitted(begin + 60'000), 5);
    EXPECT_EQ(admitted(begin + 3'600'000'000), 100) << "a quiet hour saves no more than a quiet second";
    EXPECT_EQ(limit.left_out(), 5u);
}

TEST(TraceLimit, OfManyASecondOrNoneIsKept) {
    TraceLimit most(~std::uint32_t{0});
    TraceLimit none(0);
    for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(most.admits(1) && none.admits(1));
    EXPECT_EQ(most.left_out() + none.left_out(), 0u);
}

TEST(TraceLimit, IsKeptByThreadsTogether) {
    TraceLimit limit(1'000);
    std::atomic<unsigned> admitted{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                for (int j = 0; j < 1'000; ++j) admitted += limit.admits(1) ? 1 : 0;
            });
    }
    EXPECT_EQ(admitted, 1'000u);
    EXPECT_EQ(limit.left_out(), 3'000u);
}

TEST(SpanExporter, LimitsWhatBeginsHereAndWhatBeginsElsewhereSeparately) {
    Counter counter({.traces_per_second = 2, .requests_per_second = 3});
    const auto recorded = [&](TraceOrigin origin) {
        int count = 0;
        for (int i = 0; i < 10; ++i) count += counter.records(origin, 1) ? 1 : 0;
        return count;
    };
    EXPECT_EQ(recorded(TraceOrigin::here), 2);
    EXPECT_EQ(recorded(TraceOrigin::elsewhere), 3);
    EXPECT_EQ(counter.calls_left_out(), 8u);
    EXPECT_EQ(counter.requests_left_out(), 7u);
    EXPECT_EQ(counter.dropped(), 0u);
}

}  // namespace
}  // namespace cinnabar::hl
