// SPDX-License-Identifier: BSD-3-Clause
#include "bare_host.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/na/session/fd_watch.hpp>

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

namespace cinnabar::na {
namespace {

class FdWatchTest : public ::testing::Test {
  protected:
    void ready() noexcept { ++ready_; }
    // The objects of the events that have happened; they are not told yet.
    [[nodiscard]] FdEvents* next_event() {
        epoll_event event{};
        if (::epoll_wait(host_.epoll_fd(), &event, 1, 0) != 1) return nullptr;
        return static_cast<FdEvents*>(event.data.ptr);
    }

    BareHost host_;
    UniqueFd bell_{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
    FdWatch<FdWatchTest> watch_{host_, *this, &FdWatchTest::ready};
    int ready_ = 0;
};

TEST_F(FdWatchTest, ADescriptorThatIsReadyCallsItsOwner) {
    ASSERT_TRUE(watch_.start(bell_.get(), EPOLLIN));
    FdEvents* const event = next_event();
    ASSERT_EQ(event, &watch_);
    event->on_ready(EPOLLIN);
    EXPECT_EQ(ready_, 1);
}

TEST_F(FdWatchTest, AnEventThatComesAfterTheStopDoesNothing) {
    ASSERT_TRUE(watch_.start(bell_.get(), EPOLLIN));
    FdEvents* const event = next_event();
    ASSERT_EQ(event, &watch_);
    watch_.stop();
    event->on_ready(EPOLLIN);
    EXPECT_EQ(ready_, 0);
    EXPECT_EQ(next_event(), nullptr) << "it is no longer watched";
    watch_.stop();
}

TEST_F(FdWatchTest, ByEdgesADescriptorThatStaysReadyIsToldOnce) {
    ASSERT_TRUE(watch_.start(bell_.get(), EPOLLIN));
    ASSERT_TRUE(next_event());
    ASSERT_TRUE(next_event()) << "by levels it is told again";
    ASSERT_TRUE(watch_.change(EPOLLIN | EPOLLET));
    ASSERT_TRUE(next_event()) << "a change tells what is ready";
    EXPECT_FALSE(next_event());
}

TEST_F(FdWatchTest, ADescriptorThatIsClosedIsRefused) {
    EXPECT_FALSE(watch_.start(-1, EPOLLIN));
    EXPECT_EQ(next_event(), nullptr);
}

}  // namespace
}  // namespace cinnabar::na
