// SPDX-License-Identifier: BSD-3-Clause
// A slow close delays only other closes of the same user.
#include "late_closes.hpp"

#include "slow_close.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <thread>

namespace cinnabar::shm {
namespace {

constexpr uid_t slow_user = 70'001;
constexpr uid_t other_user = 70'002;

// A descriptor that shows when it is closed: the other end becomes readable.
class Closed {
  public:
    Closed() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        ours_.reset(ends[0]);
        theirs.reset(ends[1]);
    }
    [[nodiscard]] bool within(std::chrono::milliseconds limit) const {
        pollfd look{ours_.get(), 0, 0};
        return ::poll(&look, 1, static_cast<int>(limit.count())) == 1;
    }
    UniqueFd theirs;

  private:
    UniqueFd ours_;
};

[[nodiscard]] bool soon(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    return done();
}

class LateClosesTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(slow_.fd) << "no loopback";
        closes_.add(std::move(slow_.fd), slow_user);
    }
    ~LateClosesTest() override {
        slow_.reader.reset();  // from here on no close blocks
        EXPECT_TRUE(soon([this] { return !closes_.crowded_by(slow_user) && !closes_.crowded(); }));
        EXPECT_TRUE(last_.within(std::chrono::seconds(20)));
    }
    void add(std::size_t count, uid_t user) {
        for (std::size_t i = 0; i < count; ++i) closes_.add(UniqueFd(::fcntl(0, F_DUPFD_CLOEXEC, 0)), user);
    }
    LateCloses& closes_ = LateCloses::of_process();
    SlowClose slow_ = SlowClose::make();
    Closed last_;
};

TEST_F(LateClosesTest, another_user_does_not_wait) {
    Closed other;
    closes_.add(std::move(last_.theirs), slow_user);
    closes_.add(std::move(other.theirs), other_user);
    EXPECT_TRUE(other.within(std::chrono::seconds(2)));
    EXPECT_FALSE(last_.within(std::chrono::milliseconds(50))) << "what is to be slow here is not";
}

TEST_F(LateClosesTest, one_user_with_many_is_known) {
    add(LateCloses::of_user_max - 2, slow_user);
    EXPECT_FALSE(closes_.crowded_by(slow_user));
    closes_.add(std::move(last_.theirs), slow_user);
    EXPECT_TRUE(closes_.crowded_by(slow_user));
    EXPECT_FALSE(closes_.crowded_by(other_user));
    EXPECT_FALSE(closes_.crowded());
}

TEST_F(LateClosesTest, all_together_have_a_limit) {
    add(LateCloses::waiting_max - 2, slow_user);
    EXPECT_FALSE(closes_.crowded());
    closes_.add(std::move(last_.theirs), slow_user);
    EXPECT_TRUE(closes_.crowded());
}

}  // namespace
}  // namespace cinnabar::shm
