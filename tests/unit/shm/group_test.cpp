// SPDX-License-Identifier: BSD-3-Clause
// Peers of other users: members of the group of "?group=" get access to no more than they need, and a name that another
// user has taken is not connected to.
#include "raw_peer.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace cinnabar::shm {
namespace {

constexpr uid_t other = 65534;  // user id and group id
constexpr int no_root = 99;

bool become_the_other() {
    return ::setgroups(0, nullptr) == 0 && ::setresgid(other, other, other) == 0 &&
           ::setresuid(other, other, other) == 0;
}

struct TestOp {
    na::Op op;
    unsigned completions = 0;
    TestOp() {
        op.user = this;
        op.complete = [](na::Op& self) noexcept {
            auto& test = *static_cast<TestOp*>(self.user);
            ++test.completions;
            if (self.message) self.message->port->give_message(*self.message);
            self.message = nullptr;
        };
    }
};

na::Peer& peer_of(na::Context& context, const std::string& address) {
    const na::Context::Ownership own(context);
    na::Peer* found = context.peer(na::Addr::parse(address).value()).value();
    found->acquire();
    return *found;
}

class Group : public ShmTest {
  protected:
    Group() : ShmTest("shm://server?group=" + std::to_string(other)) {
        EXPECT_EQ(::chmod(root_.path().c_str(), 0755), 0);
        support::fill_pattern(bytes_, 5);
        const na::Segment segment{bytes_.data(), bytes_.size()};
        memory_ = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
        lease_.memory = memory_.get();
        lease_.bytes = bytes_.size();
        EXPECT_EQ(transport_->grant(lease_), Errc::ok);
    }
    ~Group() override { EXPECT_EQ(transport_->revoke(lease_), Errc::ok); }
    // Runs `body` in a child as another user who is a member of the group; returns the exit status.
    [[nodiscard]] int as_member(const std::function<int()>& body) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(become_the_other() ? body() : no_root);
        int status = 0;
        EXPECT_TRUE(until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    std::vector<std::byte> bytes_ = std::vector<std::byte>(64 * 1024);
    std::unique_ptr<na::Memory> memory_;
    na::Lease lease_;
};

// Lets a service decide by the caller's user.
TEST_F(Group, a_member_is_identified_by_its_user) {
    std::array<int, 2> until_seen{};
    ASSERT_EQ(::pipe2(until_seen.data(), O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(until_seen[1]);
        RawPeer peer;
        if (!become_the_other() || connect_to(path(), peer.socket) != Errc::ok) ::_exit(no_root);
        peer.greet();
        char nothing = 0;
        ::_exit(static_cast<int>(::read(until_seen[0], &nothing, 1)));
    }
    EXPECT_TRUE(until([this] { return receiver_.count(na::PeerEvent::connected) == 1; }));
    const na::Addr source = receiver_.events.front().peer->addr();
    EXPECT_EQ(::close(until_seen[1]), 0);
    int status = 0;
    EXPECT_TRUE(until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    if (WIFEXITED(status) && WEXITSTATUS(status) == no_root) GTEST_SKIP() << "not root";
    ASSERT_TRUE(source.process().has_value());
    EXPECT_EQ(source.process()->uid, other);
    EXPECT_EQ(source.process()->gid, other);
    EXPECT_EQ(source.process()->pid, child);
    EXPECT_FALSE(na::Addr::parse("shm://server").value().process().has_value()) << "a name is anybody's";
    ::close(until_seen[0]);
}

TEST_F(Group, a_member_that_is_another_user_gets_no_lease_board_and_no_flags) {
    const int seen = as_member([where = path()] {
        RawPeer peer;
        if (connect_to(where, peer.socket) != Errc::ok) return 1;
        peer.greet();
        Errc came = Errc::again;
        while (came == Errc::again) came = receive_greeting(peer.socket.get(), peer.answer);
        if (came != Errc::ok || peer.answer.hello.kind != na::HelloKind::accept) return 2;
        const Terms& told = peer.answer.terms;
        Segment board;
        if (peer.answer.fds.board && told.lease_slots > 0 &&
            Segment::attach(peer.answer.fds.board.get(), sizeof(BoardSlot) * told.lease_slots, board) == Errc::ok) {
            const auto* slots = reinterpret_cast<const BoardSlot*>(board.base());
            for (std::uint32_t i = 0; i < told.lease_slots; ++i) {
                if (slots[i].key.load() != 0) return 3;
            }
        }
        if (peer.answer.fds.flags || told.flag != 0) return 5;
        return !peer.answer.fds.board && told.lease_slots == 0 && told.probe_address == 0 ? 0 : 4;
    });
    if (seen == no_root) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(seen, 0) << (seen == 3 ? "it found the key of a lease that is not its own" : "");
}

TEST_F(Group, a_member_that_is_another_user_transfers_with_the_keys_it_was_given) {
    std::array<std::byte, 20> key{};
    ByteWriter writer(key);
    transport_->describe(lease_, writer);
    const int moved = as_member([&, address = transport_->endpoints().front()] {
        auto transport = plugin_info.open(na::Uri::parse("shm://").value(), {}).value();
        na::Transport* raw = transport.get();
        support::RecordingReceiver receiver;
        auto context = na::Context::open({&raw, 1}, {}, receiver).value();
        na::Peer& there = peer_of(*context, address);
        std::vector<std::byte> here(bytes_.size());
        const na::Segment segment{here.data(), here.size()};
        const auto memory = transport->register_memory({&segment, 1}, na::Access::read_write).value();
        for (const bool right : {true, false}) {
            if (!right) key[8] ^= std::byte{1};
            TestOp get;
            get.op.kind = na::OpKind::get;
            get.op.peer = &there;
            get.op.local = memory.get();
            get.op.remote = {key, bytes_.size()};
            get.op.bytes = here.size();
            if (context->post(get.op) != Errc::ok) return 1;
            support::Pump pump{context.get()};
            if (!pump.until([&] { return get.completions > 0; })) return 2;
            if (get.op.result != (right ? Errc::ok : Errc::permission)) return 10 + static_cast<int>(get.op.result);
        }
        return support::holds_pattern(here, 5) ? 0 : 3;
    });
    if (moved == no_root) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(moved, 0);
}

// It says in its ring that it holds a lease, but it does not have the lease board.
TEST_F(Group, a_member_that_is_another_user_leaves_no_ring_behind) {
    constexpr unsigned sessions = 100;
    log_.allow("malformed record");
    const std::size_t before = rings_mapped();
    const int done = as_member([where = path()] {
        for (unsigned i = 0; i < sessions; ++i) {
            RawPeer peer;
            peer.hello.incarnation = 5000 + i;
            if (connect_to(where, peer.socket) != Errc::ok) return 1;
            peer.greet();
            Errc came = Errc::again;
            while (came == Errc::again) came = receive_greeting(peer.socket.get(), peer.answer);
            if (came != Errc::ok || peer.answer.hello.kind != na::HelloKind::accept) return 2;
            peer.take_answer();
            peer.end_while_holding();
            while (listen_for_bells(peer.socket.get(), true) != SocketEvent::end) {
            }
        }
        return 0;
    });
    if (done == no_root) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(done, 0);
    ASSERT_TRUE(until([this] { return lost() == sessions; }));
    EXPECT_EQ(rings_mapped(), before);
}

TEST_F(Group, one_of_the_own_user_gets_the_lease_board_and_the_flags) {
    RawPeer peer;
    ASSERT_NO_FATAL_FAILURE(connect(peer));
    EXPECT_GT(peer.answer.terms.lease_slots, 0u);
    EXPECT_TRUE(peer.answer.fds.board);
    EXPECT_GT(peer.answer.terms.flag, 0u);
    EXPECT_TRUE(peer.answer.fds.flags);
}

class Impostor : public ShmTest {
  protected:
    Impostor() { log_.allow("the dial fails"); }
};

// The socket of the other user is in this user's folder.
TEST_F(Impostor, another_user_that_listens_under_a_name_is_not_connected_to) {
    const std::string where = path().substr(0, path().rfind('/')) + "/elsewhere.sock";
    UniqueFd socket = listen_at(where, 0600);
    ASSERT_TRUE(socket);
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool is_other = become_the_other() && ::listen(socket.get(), 16) == 0;
        const char told = is_other ? 1 : 0;
        if (::write(ready[1], &told, 1) != 1 || !is_other) ::_exit(no_root);
        for (;;) {
            const UniqueFd caller(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
            if (!caller) continue;
            Greeting greeting;
            Errc came = Errc::again;
            while (came == Errc::again) came = receive_greeting(caller.get(), greeting);
            ::_exit(came == Errc::peer_lost ? 0 : 1);
        }
    }
    char told = 0;
    ASSERT_EQ(::read(ready[0], &told, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    na::Peer& there = peer_of(*context_, "shm://elsewhere");
    TestOp message;
    message.op.kind = na::OpKind::send_unexpected;
    message.op.peer = &there;
    message.op.message = context_->ports().front()->take_message();
    message.op.message_bytes = 8;
    ASSERT_EQ(context_->post(message.op), Errc::ok);
    if (told != 0) {
        EXPECT_TRUE(until([&] { return message.completions == 1; }));
        EXPECT_EQ(message.op.result, Errc::permission);
    }
    socket.reset();
    int status = 0;
    ASSERT_TRUE(until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
    there.release();
    context_->close();
    if (told == 0) GTEST_SKIP() << "needs root, to become somebody else";
    EXPECT_EQ(WEXITSTATUS(status), 0) << "it was told what only a peer of the own user may know";
}

}  // namespace
}  // namespace cinnabar::shm
