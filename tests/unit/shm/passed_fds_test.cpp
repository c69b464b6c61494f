// SPDX-License-Identifier: BSD-3-Clause
// Descriptors that a member of the group passes. No context waits for a close that blocks.
#include "late_closes.hpp"
#include "raw_peer.hpp"
#include "slow_close.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace cinnabar::shm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uid_t of_the_other = 65534;  // user id and group id
constexpr std::size_t many = 253;      // the most that one message can carry
constexpr char fine = 'f';
constexpr char told_no_root = 'r';

bool pass(int socket, std::string_view text, const std::vector<int>& fds) {
    std::string bytes(text);
    iovec piece{bytes.data(), bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * many)> room{};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = room.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
    return ::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// As greet(), with descriptors that the caller chooses.
bool greet_with(const RawPeer& peer, const std::vector<int>& fds) {
    std::array<std::byte, greeting_bytes_max> bytes{};
    const std::size_t length = encode_greeting(peer.hello, peer.terms, bytes);
    return pass(peer.socket.get(), {reinterpret_cast<const char*>(bytes.data()), length}, fds);
}

// again: no answer within five seconds.
Errc wait_for_answer(RawPeer& peer) {
    pollfd look{peer.socket.get(), POLLIN, 0};
    (void)::poll(&look, 1, 5000);
    const Errc came = receive_greeting(peer.socket.get(), peer.answer);
    if (came != Errc::ok || peer.answer.hello.kind != na::HelloKind::reject) return came;
    return static_cast<Errc>(peer.answer.hello.reason);
}

char wait_for_end(int socket) {
    std::array<char, 256> bytes{};
    ssize_t came = 1;
    while (came > 0 || (came < 0 && errno == EAGAIN)) {
        pollfd look{socket, POLLIN, 0};
        (void)::poll(&look, 1, -1);
        came = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    }
    return fine;
}

// The parent's listeners are closed only with their last descriptors, so the child closes its copies.
void close_listeners() {
    for (int fd = 3; fd < 1024; ++fd) {
        int listens = 0;
        socklen_t bytes = sizeof listens;
        if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && listens != 0) (void)::close(fd);
    }
}

class PassedFds : public ShmTest {
  protected:
    PassedFds() : ShmTest("shm://server?group=" + std::to_string(of_the_other)) {
        EXPECT_EQ(::chmod(root_.path().c_str(), 0755), 0);
        std::array<int, 2> told{};
        std::array<int, 2> stop{};
        EXPECT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(stop.data(), O_CLOEXEC), 0);
        told_.reset(told[0]);
        tell_.reset(told[1]);
        stopped_.reset(stop[0]);
        stop_.reset(stop[1]);
    }
    ~PassedFds() override { stop(); }

    // The result that the member reports: `fine`, or the step at which it failed.
    char begin_session(RawPeer& peer) {
        if (connect_to(path(), peer.socket) != Errc::ok) return 'c';
        peer.greet();
        return wait_for_answer(peer) == Errc::ok ? fine : 'a';
    }
    // Runs `body` in a child, as another user who is a member of the group. The child lives until stop(); until then,
    // closing `slow` blocks.
    void as_member(const std::function<char(SlowClose& slow)>& body) {
        member_ = ::fork();
        if (member_ != 0) return tell_.reset();
        (void)::alarm(120);  // it waits for ever and sends nothing more
        stop_.reset();
        close_listeners();
        const bool is_other = ::setgroups(0, nullptr) == 0 &&
                              ::setresgid(of_the_other, of_the_other, of_the_other) == 0 &&
                              ::setresuid(of_the_other, of_the_other, of_the_other) == 0;
        SlowClose slow = SlowClose::make();
        tell(!is_other ? told_no_root : slow.fd ? body(slow) : 'l');
        char none = 0;
        (void)!::read(stopped_.get(), &none, 1);
        ::_exit(0);
    }
    void tell(char what) { (void)!::write(tell_.get(), &what, 1); }
    void stop() {
        stop_.reset();
        if (member_ > 0) (void)::waitpid(std::exchange(member_, -1), nullptr, 0);
    }

    // The next byte from the member; 0 if it has died. The context is not driven meanwhile.
    [[nodiscard]] char told() {
        char what = 0;
        EXPECT_EQ(::read(told_.get(), &what, 1), 1);
        return what;
    }
    // The same, but the context is driven meanwhile.
    [[nodiscard]] char told_meanwhile() {
        EXPECT_EQ(::fcntl(told_.get(), F_SETFL, O_NONBLOCK), 0);
        char what = 0;
        while (::read(told_.get(), &what, 1) < 0) round();
        for (unsigned i = 0; i < 200; ++i) round();  // until the context has seen everything
        EXPECT_EQ(::fcntl(told_.get(), F_SETFL, 0), 0);
        return what;
    }
    void round() {
        const auto begin = Clock::now();
        (void)pump_.round();
        longest_ = std::max(longest_, Clock::now() - begin);
    }
    void expect_no_wait() const { EXPECT_LT(longest_, std::chrono::seconds(SlowClose::seconds / 2)); }

    // Starts a session with the peer at that address by sending a message, which is lost.
    [[nodiscard]] na::Peer& dial(const std::string& address) {
        na::Peer* there = nullptr;
        {
            const na::Context::Ownership own(*context_);
            there = context_->peer(na::Addr::parse(address).value()).value();
            there->acquire();
        }
        message_.kind = na::OpKind::send_unexpected;
        message_.peer = there;
        message_.message = context_->ports().front()->take_message();
        message_.message_bytes = 8;
        message_.complete = [](na::Op& op) noexcept { op.message->port->give_message(*op.message); };
        EXPECT_EQ(context_->post(message_), Errc::ok);
        return *there;
    }

    na::Op message_;
    UniqueFd told_, tell_, stopped_, stop_;
    pid_t member_ = -1;
    Clock::duration longest_{};
};

#define RETURN_UNLESS_FINE(what)                                                          \
    do {                                                                                  \
        const char heard = (what);                                                        \
        if (heard == told_no_root) GTEST_SKIP() << "needs root, to become somebody else"; \
        ASSERT_EQ(heard, fine);                                                           \
    } while (false)

TEST_F(PassedFds, in_a_greeting_in_place_of_its_own) {
    as_member([this](SlowClose& slow) {
        RawPeer peer;
        const bool sent = connect_to(path(), peer.socket) == Errc::ok &&
                          greet_with(peer, {slow.fd.get(), slow.fd.get(), slow.fd.get()});
        slow.fd.reset();
        return sent && wait_for_answer(peer) == Errc::protocol ? wait_for_end(peer.socket.get()) : 's';
    });
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
}

TEST_F(PassedFds, more_of_them_than_a_greeting_has) {
    as_member([this](SlowClose& slow) {
        RawPeer peer;
        std::vector<int> fds(many, peer.bell_fd.get());
        fds[0] = peer.ring_fd.get();
        fds[2] = peer.board_fd.get();
        fds.back() = slow.fd.get();
        const bool sent = connect_to(path(), peer.socket) == Errc::ok && greet_with(peer, fds);
        slow.fd.reset();
        return sent ? wait_for_end(peer.socket.get()) : 's';
    });
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
}

TEST_F(PassedFds, after_an_invalid_greeting) {
    as_member([this](SlowClose& slow) {
        UniqueFd socket;
        const bool sent = connect_to(path(), socket) == Errc::ok &&
                          ::send(socket.get(), "GET / HTTP/1.1", 14, MSG_NOSIGNAL) == 14 &&
                          pass(socket.get(), "x", {slow.fd.get()});
        slow.fd.reset();
        tell(sent ? fine : 's');
        return wait_for_end(socket.get());
    });
    RETURN_UNLESS_FINE(told());
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
}

TEST_F(PassedFds, with_a_bell_end_the_session) {
    log_.allow("descriptors with a wake-up");
    as_member([this](SlowClose& slow) {
        RawPeer peer;
        if (const char why = begin_session(peer); why != fine) return why;
        const bool sent = pass(peer.socket.get(), "x", {slow.fd.get()});
        slow.fd.reset();
        return sent ? wait_for_end(peer.socket.get()) : 's';
    });
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
    EXPECT_EQ(lost(), 1u);
    EXPECT_EQ(receiver_.events.back().why, Errc::protocol);
}

TEST_F(PassedFds, unread_at_the_end_of_a_session) {
    log_.allow("malformed record");
    log_.allow("descriptors with a wake-up");
    as_member([this](SlowClose& slow) {
        RawPeer peer;
        if (const char why = begin_session(peer); why != fine) return why;
        peer.take_answer();
        tell(fine);
        const bool sent = pass(peer.socket.get(), "x", {slow.fd.get()});
        slow.fd.reset();
        peer.write({static_cast<RecordKind>(99), 0, 0, 0, 1});
        tell(sent ? fine : 's');
        return wait_for_end(peer.socket.get());
    });
    RETURN_UNLESS_FINE(told_meanwhile());
    RETURN_UNLESS_FINE(told());
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
    EXPECT_EQ(lost(), 1u);
}

TEST_F(PassedFds, in_the_answer_to_a_dial) {
    const std::string where = path().substr(0, path().rfind('/')) + "/slow.sock";
    as_member([&](SlowClose& slow) {
        const UniqueFd listener = listen_at(where, 0660);
        tell(listener ? fine : 'l');
        UniqueFd caller;
        while (!caller) caller.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        const bool sent = pass(caller.get(), "GET / HTTP/1.1", {slow.fd.get()});
        slow.fd.reset();
        return sent ? wait_for_end(caller.get()) : 's';
    });
    RETURN_UNLESS_FINE(told());
    na::Peer& there = dial("shm://slow?group=" + std::to_string(of_the_other));
    RETURN_UNLESS_FINE(told_meanwhile());
    expect_no_wait();
    there.release();
}

TEST_F(PassedFds, in_the_queue_of_a_listener_that_closes) {
    as_member([this](SlowClose& slow) {
        UniqueFd socket;
        const bool sent = connect_to(path(), socket) == Errc::ok && pass(socket.get(), "x", {slow.fd.get()});
        slow.fd.reset();
        return sent ? fine : 's';
    });
    RETURN_UNLESS_FINE(told());
    pump_.clear();
    const auto begin = Clock::now();
    context_.reset();
    transport_.reset();
    longest_ = Clock::now() - begin;
    expect_no_wait();
}

class ManyPassedFds : public PassedFds {
  protected:
    void SetUp() override {
        rlimit files{};
        ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
        files.rlim_cur = files.rlim_max;
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
        if (files.rlim_max < 2 * LateCloses::waiting_max) GTEST_SKIP() << "needs more open files";
        log_.allow("wait to be closed");
    }
    // Passes a descriptor whose close blocks, then more descriptors, until an answer is `end` or there is no answer for
    // some seconds.
    char leave_until(SlowClose& slow, Errc end) {
        const linger longer{1, 300};  // longer than the test takes on a slow machine
        (void)::setsockopt(slow.fd.get(), SOL_SOCKET, SO_LINGER, &longer, sizeof longer);
        UniqueFd socket;
        if (connect_to(path(), socket) != Errc::ok || !pass(socket.get(), "GET /", {slow.fd.get()})) return 's';
        slow.fd.reset();
        RawPeer peer;
        for (std::size_t i = 0; i < LateCloses::waiting_max; ++i) {
            peer.socket.reset();
            peer.answer = {};
            if (connect_to(path(), peer.socket) != Errc::ok ||
                !greet_with(peer, std::vector<int>(3, peer.bell_fd.get())))
                return 'g';
            if (wait_for_answer(peer) == end) return fine;
        }
        return 'n';
    }
};

TEST_F(ManyPassedFds, reject_their_user_and_nobody_else) {
    as_member([this](SlowClose& slow) { return leave_until(slow, Errc::overloaded); });
    RETURN_UNLESS_FINE(told_meanwhile());
    RawPeer own;
    ASSERT_NO_FATAL_FAILURE(connect(own));
    EXPECT_GT(log_.allowed(), 0u);
    expect_no_wait();
}

TEST_F(ManyPassedFds, have_a_limit_over_which_everybody_is_rejected) {
    as_member([this](SlowClose& slow) { return leave_until(slow, Errc::again); });
    RETURN_UNLESS_FINE(told_meanwhile());
    RawPeer own;
    own.dial(path());
    own.greet();
    EXPECT_FALSE(pump_.until([&] { return receive_greeting(own.socket.get(), own.answer) != Errc::again; },
                             std::chrono::milliseconds(300)));
    stop();
    EXPECT_EQ(answer_to(own), Errc::ok);
    expect_no_wait();
}

}  // namespace
}  // namespace cinnabar::shm
