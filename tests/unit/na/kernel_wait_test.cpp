// SPDX-License-Identifier: BSD-3-Clause
// Sleeping where the kernel, or a filter of system calls, has no epoll_pwait2.
#include "kernel_wait.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <cerrno>

namespace cinnabar::na {
namespace {

int times_asked = 0;
int no_such_call(int, epoll_event*, int, const timespec*, const sigset_t*) {
    ++times_asked;
    errno = ENOSYS;
    return -1;
}
int not_permitted(int, epoll_event*, int, const timespec*, const sigset_t*) {
    errno = EPERM;
    return -1;
}
int interrupted(int, epoll_event*, int, const timespec*, const sigset_t*) {
    ++times_asked;
    errno = EINTR;
    return -1;
}

struct KernelWaitTest : testing::Test {
    UniqueFd epoll{::epoll_create1(EPOLL_CLOEXEC)};
    UniqueFd bell{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    std::array<epoll_event, 4> events{};

    void SetUp() override {
        times_asked = 0;
        epoll_event event{};
        event.events = EPOLLIN;
        ASSERT_EQ(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, bell.get(), &event), 0);
    }
    // Returns how long it slept at least.
    TimeUs time_of(KernelWait& wait, TimeUs timeout) {
        const TimeUs before = steady_clock().now_us();
        EXPECT_EQ(wait(epoll.get(), events, timeout), 0);
        return steady_clock().now_us() - before;
    }
    void ring() { ASSERT_EQ(::eventfd_write(bell.get(), 1), 0); }
};

TEST_F(KernelWaitTest, WithoutTheCallItSleepsAndAsksOnce) {
    KernelWait wait(&no_such_call);
    EXPECT_GE(time_of(wait, 5'000), 5'000u) << "not at once, which would be a loop";
    EXPECT_GE(time_of(wait, 1), 1u) << "rounded up";
    EXPECT_EQ(times_asked, 1);
}

TEST_F(KernelWaitTest, AFilterThatForbidsTheCallIsTheSame) {
    KernelWait wait(&not_permitted);
    EXPECT_GE(time_of(wait, 5'000), 5'000u);
}

TEST_F(KernelWaitTest, WithoutTheCallEventsEndASleepOfAnyLength) {
    KernelWait wait(&no_such_call);
    ring();
    for (const TimeUs timeout : {TimeUs{0}, TimeUs{1}, time_never - 1, time_never})
        EXPECT_EQ(wait(epoll.get(), events, timeout), 1) << timeout;
}

TEST_F(KernelWaitTest, WithTheCallOtherErrorsAreReturned) {
    KernelWait wait(&interrupted);
    for (int i = 1; i < 3; ++i) {
        EXPECT_EQ(wait(epoll.get(), events, 1'000'000), -1);
        EXPECT_EQ(times_asked, i);
    }
}

}  // namespace
}  // namespace cinnabar::na
