// SPDX-License-Identifier: BSD-3-Clause
// How many connections a session finds to fill its path, on paths that are formulas.
#include "session/stream_count.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace cinnabar::files {
namespace {

using std::chrono::duration_cast;

struct StreamCountTest : testing::Test {
    StreamCount count{8};
    StreamCount::Clock::time_point now{};
    static constexpr std::uint64_t window = 1u << 20;

    // Moves windows over a path whose rate, in windows per second, depends on the number of connections.
    void move(unsigned windows, const std::function<double(unsigned)>& rate) {
        for (; windows > 0; --windows) {
            const std::chrono::duration<double> takes(1 / rate(count.wanted()));
            now += duration_cast<StreamCount::Clock::duration>(takes);
            const unsigned before = count.wanted();
            if (count.moved(window, now) && count.wanted() > before) count.begin();
        }
    }
    static constexpr unsigned enough = 5000;
};

TEST_F(StreamCountTest, ManyWhereEachConnectionIsLimited) {
    move(enough, [](unsigned connections) { return 40.0 * connections; });
    EXPECT_EQ(count.wanted(), 8u);
    EXPECT_FALSE(count.measures());
}

TEST_F(StreamCountTest, OneWhereOneFillsThePath) {
    move(enough, [](unsigned) { return 1000.0; });
    EXPECT_EQ(count.wanted(), 1u);
    EXPECT_FALSE(count.measures());
}

TEST_F(StreamCountTest, AsManyAsHelp) {
    move(enough, [](unsigned connections) { return 40.0 * std::min(connections, 3u); });
    EXPECT_EQ(count.wanted(), 4u);
}

TEST_F(StreamCountTest, OneWhereASecondGainsLittleOrDoesHarm) {
    for (const double factor : {1.2, 0.5}) {
        count = StreamCount(8);
        move(enough, [factor](unsigned connections) { return connections == 1 ? 100.0 : 100.0 * factor; });
        EXPECT_EQ(count.wanted(), 1u) << factor;
        EXPECT_FALSE(count.measures());
    }
}

TEST_F(StreamCountTest, AFewWindowsOrAMomentTellNothing) {
    const unsigned needed = StreamCount::windows_before + StreamCount::windows_measured;
    move(needed - 1, [](unsigned) { return 1.0; });
    EXPECT_EQ(count.wanted(), 1u) << "a slow path: few windows";
    count = StreamCount(8);
    move(100 * needed, [](unsigned) { return 1e6; });
    EXPECT_EQ(count.wanted(), 1u) << "a fast path: little time";
    EXPECT_TRUE(count.measures());
}

TEST_F(StreamCountTest, APauseIsNotMeasured) {
    const auto steady = [](unsigned) { return 100.0; };
    move(70, steady);
    now += std::chrono::seconds(100);
    count.pause();
    move(10, steady);
    EXPECT_EQ(count.wanted(), 1u) << "it begins anew";
    move(150, steady);
    EXPECT_EQ(count.wanted(), 2u);
    count.pause();
    move(enough, steady);
    EXPECT_EQ(count.wanted(), 1u) << "the rate before the pause still counts";
}

TEST_F(StreamCountTest, NothingIsMeasuredUntilTheConnectionsAreThere) {
    while (!count.moved(window, now += std::chrono::milliseconds(10))) {
    }
    ASSERT_EQ(count.wanted(), 2u);
    for (unsigned i = 0; i < enough; ++i) ASSERT_FALSE(count.moved(window, now += std::chrono::seconds(1)));
    count.settle(1);
    EXPECT_EQ(count.wanted(), 1u);
    EXPECT_FALSE(count.measures());
    EXPECT_FALSE(count.moved(window, now));
}

}  // namespace
}  // namespace cinnabar::files
