// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cinnabar {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

class UniqueFds : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(::pipe(fds_), 0); }
    void TearDown() override {
        for (const int fd : fds_) {
            if (is_open(fd)) ::close(fd);
        }
    }
    int fds_[2] = {-1, -1};
};

TEST_F(UniqueFds, ClosesAtTheEnd) {
    {
        const UniqueFd fd(fds_[0]);
        EXPECT_TRUE(fd);
        EXPECT_EQ(fd.get(), fds_[0]);
    }
    EXPECT_FALSE(is_open(fds_[0]));
    EXPECT_TRUE(is_open(fds_[1]));
    EXPECT_FALSE(UniqueFd());
    EXPECT_EQ(UniqueFd().get(), -1);
}

TEST_F(UniqueFds, ReleaseHandsItOut) {
    {
        UniqueFd fd(fds_[0]);
        EXPECT_EQ(fd.release(), fds_[0]);
        EXPECT_FALSE(fd);
    }
    EXPECT_TRUE(is_open(fds_[0]));
}

TEST_F(UniqueFds, MovesAndReplaces) {
    UniqueFd first(fds_[0]);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left of it is the test
    EXPECT_TRUE(is_open(fds_[0]));
    first = UniqueFd(fds_[1]);
    second = std::move(first);
    EXPECT_FALSE(is_open(fds_[0])) << "what was held before is closed";
    EXPECT_EQ(second.get(), fds_[1]);
    UniqueFd& same = second;
    second = std::move(same);
    EXPECT_TRUE(is_open(fds_[1])) << "moving to itself changes nothing";
    second.reset();
    EXPECT_FALSE(is_open(fds_[1]));
}

}  // namespace
}  // namespace cinnabar
