// SPDX-License-Identifier: BSD-3-Clause
// claim_test.c over shared memory, with hand-made greetings and rings. The stranger is another process, since the
// kernel tells who has called, and for this process the claim would be true.
extern "C" {
#include "claims.h"
}
#include "../../unit/shm/raw_peer.hpp"

#include <cinnabar/na/uri.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <span>
#include <string>
#include <thread>
#include <utility>

namespace cinnabar::shm {
namespace {

using Address = std::array<char, 256>;

// The pipes of a forked process. Each side closes the ends of the other, so that neither waits for ever.
class Pipe {
  public:
    Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
    ~Pipe() {
        close_end(0);
        close_end(1);
    }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;
    void only_reads() { close_end(1); }
    void only_writes() { close_end(0); }
    template <class T>
    [[nodiscard]] bool read(T& value) const {
        return ::read(ends_[0], &value, sizeof value) == ssize_t{sizeof value};
    }
    template <class T>
    void write(const T& value) const {
        EXPECT_EQ(::write(ends_[1], &value, sizeof value), ssize_t{sizeof value});
    }

  private:
    void close_end(std::size_t end) {
        if (ends_[end] >= 0) (void)::close(std::exchange(ends_[end], -1));
    }
    std::array<int, 2> ends_{-1, -1};
};

void dial(RawPeer& peer, const std::string& path, na::Incarnation claimed) {
    peer.hello.incarnation = claimed;
    ASSERT_NO_FATAL_FAILURE(peer.dial(path));
    ASSERT_NO_FATAL_FAILURE(peer.greet());
    Errc came = Errc::again;
    for (const double end = now_ms() + 20e3; came == Errc::again && now_ms() < end; std::this_thread::yield()) {
        came = receive_greeting(peer.socket.get(), peer.answer);
    }
    ASSERT_EQ(came, Errc::ok);
    ASSERT_EQ(peer.answer.hello.kind, na::HelloKind::accept);
    peer.take_answer();
}

void call_by_hand(RawPeer& peer) {
    std::array<unsigned char, claims_request_bytes> request{};
    make_claims_request(request.data());
    peer.write({RecordKind::unexpected, 0, 0, claims_request_bytes, 0}, std::as_bytes(std::span(request)));
    peer.ring_bell();
}

// Calls three times, each time when it is told to.
void be_strangers(const support::Folder& root, const Pipe& orders) {
    Address text{};
    ASSERT_TRUE(orders.read(text));
    const std::string name = na::Uri::parse(text.data()).value().host;
    const std::string path = root.at("cinnabar-" + std::to_string(::geteuid()) + '/' + name + ".sock");
    RawPeer honest;
    ASSERT_NO_FATAL_FAILURE(dial(honest, path, 4711));
    const na::Incarnation servers = honest.answer.hello.incarnation;
    RawPeer liar;
    ASSERT_NO_FATAL_FAILURE(dial(liar, path, servers));
    RawPeer second;
    ASSERT_NO_FATAL_FAILURE(dial(second, path, servers));
    char order = 0;
    for (RawPeer* peer : {&liar, &second, &liar}) {
        ASSERT_TRUE(orders.read(order));
        call_by_hand(*peer);
    }
    (void)orders.read(order);  // until all calls have been served
}

TEST(Claim, ToBeTheServerItselfIsNotBelieved) {
    const support::Folder root;
    ::setenv("CINNABAR_SHM_DIR", root.path().c_str(), 1);
    Pipe orders;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        orders.only_reads();
        be_strangers(root, orders);
        std::_Exit(testing::Test::HasFailure() ? 1 : 0);
    }
    both_sides both{};
    orders.only_writes();
    open_claims(&both, "shm");
    Address text{};
    claims_server(&both, text.data(), text.size());
    orders.write(text);
    for (int i = 0; i < 3; ++i) {
        orders.write('x');
        expect_stranger(&both);
    }
    orders.write('x');
    close_claims(&both);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ::unsetenv("CINNABAR_SHM_DIR");
}

}  // namespace
}  // namespace cinnabar::shm
