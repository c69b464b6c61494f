// SPDX-License-Identifier: BSD-3-Clause
// Sending from a pipe to a socket whose other side is closed gives an error, and raises no signal.
#include "splice.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace cinnabar::tcp {
namespace {

std::atomic<int> signals{0};

class SpliceToAClosedSocket : public testing::Test {
  protected:
    SpliceToAClosedSocket() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        in_ = UniqueFd(ends[0]);
        out_ = UniqueFd(ends[1]);
        EXPECT_EQ(::write(out_.get(), "12345678", 8), 8);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
        socket_ = UniqueFd(ends[0]);
        ::close(ends[1]);
        struct sigaction count {};
        count.sa_handler = [](int) { ++signals; };
        EXPECT_EQ(::sigaction(SIGPIPE, &count, &before_), 0);
        signals = 0;
    }
    ~SpliceToAClosedSocket() override { (void)::sigaction(SIGPIPE, &before_, nullptr); }

    UniqueFd in_;
    UniqueFd out_;
    UniqueFd socket_;
    struct sigaction before_ {};
};

TEST_F(SpliceToAClosedSocket, RaisesNoSignal) {
    const na::Moved moved = splice_some(socket_.get(), in_.get(), 8);
    EXPECT_EQ(moved.bytes, 0u);
    EXPECT_EQ(moved.why, Errc::peer_lost);
    EXPECT_EQ(signals, 0);
    (void)::raise(SIGPIPE);
    EXPECT_EQ(signals, 1) << "it is let through again";
}

TEST_F(SpliceToAClosedSocket, LeavesASignalThatWasPendingBefore) {
    sigset_t pipe{};
    sigset_t before{};
    (void)sigaddset(&pipe, SIGPIPE);
    (void)::pthread_sigmask(SIG_BLOCK, &pipe, &before);
    (void)::raise(SIGPIPE);
    EXPECT_EQ(splice_some(socket_.get(), in_.get(), 8).why, Errc::peer_lost);
    EXPECT_EQ(signals, 0);
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(signals, 1);
}

}  // namespace
}  // namespace cinnabar::tcp
