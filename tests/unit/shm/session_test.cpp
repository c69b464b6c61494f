// SPDX-License-Identifier: BSD-3-Clause
// How the data of a session are copied, which peers are accepted, and what the diagnosis says.
#include "raw_peer.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cinnabar::shm {
namespace {

class SessionTest : public ShmTest {
  protected:
    [[nodiscard]] bool says(const std::string& part) const {
        return transport_->diagnosis().find(part) != std::string::npos;
    }
};

TEST_F(SessionTest, copies_across_if_the_probe_succeeds) {
    const std::uint64_t word = 0x1122'3344'5566'7788u;
    RawPeer peer;
    peer.terms.probe_address = reinterpret_cast<std::uintptr_t>(&word);
    peer.terms.probe_value = word;
    ASSERT_NO_FATAL_FAILURE(connect(peer));
    EXPECT_TRUE(says("1 with cross-memory copy, 0 through buffers")) << transport_->diagnosis();
}

TEST_F(SessionTest, copies_through_buffers_if_it_fails) {
    const std::uint64_t word = 0x1122'3344'5566'7788u;
    RawPeer wrong;
    wrong.terms.probe_address = reinterpret_cast<std::uintptr_t>(&word);
    wrong.terms.probe_value = word + 1;
    ASSERT_NO_FATAL_FAILURE(connect(wrong));
    RawPeer nowhere;
    nowhere.hello.incarnation = 4712;
    nowhere.terms.probe_address = 8;
    nowhere.terms.probe_value = 1;
    ASSERT_NO_FATAL_FAILURE(connect(nowhere));
    EXPECT_TRUE(says("0 with cross-memory copy, 2 through buffers")) << transport_->diagnosis();
}

TEST_F(SessionTest, sends_a_word_to_be_probed) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(connect(peer));
    const auto* word = reinterpret_cast<const std::uint64_t*>(peer.answer.terms.probe_address);
    EXPECT_EQ(*word, peer.answer.terms.probe_value);  // the other side is this process, too
    EXPECT_EQ(peer.answer.terms.name.view(), "server");
}

// Only while a ring is busy is epoll asked less often than once per round.
TEST_F(SessionTest, a_context_that_seldom_makes_progress_accepts_at_once) {
    RawPeer first;
    ASSERT_NO_FATAL_FAILURE(connect(first));
    pump_.run_for(Microseconds(2000));
    RawPeer second;
    second.hello.incarnation = 4712;
    ASSERT_NO_FATAL_FAILURE(second.dial(path()));
    ASSERT_NO_FATAL_FAILURE(second.greet());
    for (int looks = 0; looks < 3; ++looks) (void)context_->progress(Microseconds(0));
    EXPECT_EQ(receive_greeting(second.socket.get(), second.answer), Errc::ok);
}

// Runs `body` in a child as another user; skips the test if this process may not change its user.
int as_another_user(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(99);
        ::_exit(body());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(SessionTest, another_user_cannot_reach_the_socket) {
    ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
    const int answer = as_another_user([where = path()] {
        UniqueFd fd;
        return connect_to(where, fd) == Errc::permission ? 0 : 1;
    });
    if (answer == 99) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(answer, 0);
}

TEST_F(SessionTest, another_user_with_a_socket_is_rejected) {
    // The other user cannot enter the folder, so the test opens it.
    const std::string where = path();
    const std::string folder = where.substr(0, where.rfind('/'));
    ASSERT_EQ(::chmod(root_.path().c_str(), 0755), 0);
    ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    ASSERT_EQ(::chmod(where.c_str(), 0666), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(99);
        RawPeer peer;
        if (const Errc why = connect_to(where, peer.socket); why != Errc::ok) ::_exit(static_cast<int>(why));
        peer.greet();
        Errc came = Errc::again;
        while (came == Errc::again) came = receive_greeting(peer.socket.get(), peer.answer);
        const bool rejected = came == Errc::ok && peer.answer.hello.kind == na::HelloKind::reject &&
                              peer.answer.hello.reason == static_cast<std::uint8_t>(Errc::permission);
        ::_exit(rejected ? 0 : 1);
    }
    int status = 0;
    ASSERT_TRUE(until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    if (WEXITSTATUS(status) == 99) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(receiver_.count(na::PeerEvent::connected), 0u);
}

}  // namespace
}  // namespace cinnabar::shm
