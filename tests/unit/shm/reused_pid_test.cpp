// SPDX-License-Identifier: BSD-3-Clause
// A peer dies, and another process gets its process id while this side still has the session: that process must not be
// accessed.
#include "raw_peer.hpp"

#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace cinnabar::shm {
namespace {

class ReusedPid : public ShmTest {
  protected:
    // A copy of this process with that process id, which waits to be killed; -1 if the system does not allow choosing
    // the id.
    [[nodiscard]] static pid_t fork_as(pid_t number) {
        clone_args args{};
        args.exit_signal = SIGCHLD;
        args.set_tid = reinterpret_cast<std::uintptr_t>(&number);
        args.set_tid_size = 1;
        const auto child = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
        while (child == 0) ::pause();
        return child;
    }
    static void end(pid_t child) {
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    }
    void expect_untouched(na::OpKind kind);
    // The value of `variable` in that process.
    template <typename T>
    [[nodiscard]] static T read_of(pid_t process, const T& variable) {
        T found{};
        const iovec here{&found, sizeof found};
        const iovec there{const_cast<T*>(&variable), sizeof found};
        EXPECT_EQ(::process_vm_readv(process, &here, 1, &there, 1, 0), static_cast<ssize_t>(sizeof found));
        return found;
    }
};

void ReusedPid::expect_untouched(na::OpKind kind) {
    const std::uint64_t probe = 0x1122'3344'5566'7788u;
    std::array<std::byte, 64> victim{};
    RawPeer peer;
    peer.terms.probe_address = reinterpret_cast<std::uintptr_t>(&probe);
    peer.terms.probe_value = probe;
    auto& slot = *reinterpret_cast<BoardSlot*>(peer.board.base());
    slot.access = 3;
    slot.key = 99;
    slot.bytes = victim.size();
    slot.address = reinterpret_cast<std::uintptr_t>(victim.data());
    slot.name = std::uint64_t{1} << 32;
    peer.socket.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    std::array<int, 2> ready{};
    ASSERT_EQ(::pipe(ready.data()), 0);
    const pid_t first = ::fork();
    if (first == 0) {
        // This process opens the session; its parent keeps the socket open after this process has died.
        const char told = connect_to(path(), peer.socket) == Errc::ok ? 1 : 0;
        (void)!::write(ready[1], &told, 1);
        for (;;) ::pause();
    }
    char told = 0;
    ASSERT_EQ(::read(ready[0], &told, 1), 1);
    ASSERT_EQ(told, 1);
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    ASSERT_EQ(answer_to(peer), Errc::ok);
    ASSERT_TRUE(until([this] { return receiver_.count(na::PeerEvent::connected) == 1; }));
    const bool copies = transport_->diagnosis().find("1 with cross-memory copy") != std::string::npos;
    ASSERT_NO_FATAL_FAILURE(end(first));
    const pid_t second = copies ? fork_as(first) : -1;
    if (second != first) GTEST_SKIP() << "needs cross-memory copies, and leave to choose the number of a process";
    pump_.run_for(Microseconds(2000));

    std::array<std::byte, 64> bytes{};
    bytes.fill(std::byte{0xee});
    const na::Segment segment{bytes.data(), bytes.size()};
    const auto memory = transport_->register_memory({&segment, 1}, na::Access::read_write).value();
    std::array<std::byte, 20> key{};
    ByteWriter writer(key);
    na::LeaseKey{0, 1, 99}.encode(writer);
    writer.u32(0);
    unsigned completions = 0;
    na::Op op;
    op.kind = kind;
    op.peer = receiver_.events.front().peer;
    op.local = memory.get();
    op.remote = {key, victim.size()};
    op.bytes = victim.size();
    op.user = &completions;
    op.complete = [](na::Op& self) noexcept { ++*static_cast<unsigned*>(self.user); };
    ASSERT_EQ(context_->post(op), Errc::ok);
    EXPECT_TRUE(until([&] { return completions == 1 && lost() == 1; })) << "the process is gone, if not its socket";
    EXPECT_EQ(op.result, Errc::peer_lost);
    EXPECT_EQ(read_of(second, victim), victim) << "a stranger was written to";
    EXPECT_EQ(bytes.front(), std::byte{0xee}) << "a stranger was read";
    EXPECT_EQ(slot.pins.load(), 0u);
    ASSERT_NO_FATAL_FAILURE(end(second));
}

TEST_F(ReusedPid, of_a_dead_peer_is_not_written_to) { expect_untouched(na::OpKind::put); }
TEST_F(ReusedPid, of_a_dead_peer_is_not_read_from) { expect_untouched(na::OpKind::get); }

}  // namespace
}  // namespace cinnabar::shm
