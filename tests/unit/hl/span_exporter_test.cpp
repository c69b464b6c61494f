// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/hl/span_exporter.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace cinnabar::hl {
namespace {

constexpr std::chrono::seconds patience{20};

// Counts what it exports, and can be held up while it does.
class Counter final : public SpanExporter {
  public:
    explicit Counter(std::size_t spans_max) : SpanExporter({.spans_max = spans_max, .period = std::chrono::hours(1)}) {}
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

}  // namespace
}  // namespace cinnabar::hl
