// SPDX-License-Identifier: BSD-3-Clause
// A server process is killed and restarted at the same address. Later calls reach the new process without any action of
// the caller, who can tell the two processes apart.
#include "pending_calls.hpp"
#include "server_process.hpp"
#include "two_process.hpp"
#include "ways.hpp"

#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/rpc/context.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

using Clock = PendingCalls::Clock;

// Reserves a loopback port: it is bound here without listening, so that servers can listen on it.
class HeldPort {
  public:
    HeldPort() {
        const int yes = 1;
        EXPECT_EQ(::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof address;
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), bytes), 0);
        EXPECT_EQ(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &bytes), 0);
        port_ = std::to_string(ntohs(address.sin_port));
    }
    [[nodiscard]] const std::string& port() const { return port_; }

  private:
    UniqueFd fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    std::string port_;
};

// The address at which the server is restarted.
class HeldPlace {
  public:
    explicit HeldPlace(const Way& way) {
        constexpr std::string_view any_port = ":0";
        if (const auto at = way.listen.find(any_port); at != std::string::npos) {
            uri_ = std::string(way.listen).replace(at + 1, 1, port_.emplace().port());
        } else {
            uri_ = "shm://restart-" + std::to_string(::getpid());
        }
    }
    [[nodiscard]] const std::string& uri() const { return uri_; }

  private:
    std::optional<HeldPort> port_;
    std::string uri_;
};

class Restart : public testing::TestWithParam<Way> {
  protected:
    Restart() {
        client_.rpc_context().on_peer(
            [](const na::Addr&, na::PeerEvent event, Errc, void* events) noexcept {
                static_cast<std::vector<na::PeerEvent>*>(events)->push_back(event);
            },
            &events_);
        server_.emplace(at_port());
    }
    ~Restart() override { client_.rpc_context().on_peer(nullptr, nullptr); }

    [[nodiscard]] std::vector<std::string> at_port() const { return {place_.uri()}; }
    [[nodiscard]] Result<int> call() const { return client_.call(twice, to_, 21, 10s).wait(); }
    // The incarnation of the process at the other end of the last connection.
    [[nodiscard]] na::Incarnation incarnation() const {
        na::Context& context = client_.rpc_context().na();
        const na::Context::Ownership own(context);
        return context.peer(to_).value()->incarnation();
    }
    // Kills the server while its handlers hold some calls and other calls are queued here for credits.
    void kill_with_calls_pending() {
        PendingCalls calls;
        calls.make(client_, to_, 300, no_deadline);
        ASSERT_TRUE(drive_until(client_, [this] { return client_.rpc_context().counts().queued < 300; }));
        const auto killed = Clock::now();
        server_.reset();
        calls.expect_to_end(client_, Errc::peer_lost, killed, patience);
    }
    void expect_refusals(int count) const {
        for (int i = 0; i < count; ++i) {
            const auto began = Clock::now();
            EXPECT_EQ(call().code(), Errc::refused) << i;
            EXPECT_LE(Clock::now() - began, patience) << "at once, not at the deadline";
        }
    }

    HeldPlace place_{GetParam()};
    std::vector<na::PeerEvent> events_;
    std::optional<ServerProcess> server_;
    Node client_ = Node::open(GetParam().open, {.progress_thread = false}).value();
    na::Addr to_ = client_.lookup(place_.uri()).value();
};

CINNABAR_ON_EACH_WAY(Restart);

TEST_P(Restart, the_next_call_reaches_the_new_process) {
    ASSERT_EQ(call().value(), 42);
    const na::Incarnation before = incarnation();
    ASSERT_NO_FATAL_FAILURE(kill_with_calls_pending());
    server_.emplace(at_port());
    ASSERT_EQ(call().value(), 42);
    EXPECT_NE(incarnation(), before);
    (void)client_.run_for(1ms);
    using enum na::PeerEvent;
    EXPECT_EQ(events_, (std::vector{connected, lost, restarted, connected}));
}

TEST_P(Restart, calls_are_refused_until_the_new_process_is_there) {
    ASSERT_EQ(call().value(), 42);
    const na::Incarnation before = incarnation();
    ASSERT_NO_FATAL_FAILURE(kill_with_calls_pending());
    expect_refusals(2);
    server_.emplace(at_port());
    // Shortly after the loss, each call dials.
    ASSERT_EQ(call().value(), 42);
    EXPECT_NE(incarnation(), before);
    server_.reset();
    (void)call();  // reports the loss, or already dials
    // Now calls may be refused without dialling, for up to 100 ms at a time.
    expect_refusals(20);
    server_.emplace(at_port());
    Result<int> reached = call();
    const auto end = Clock::now() + patience;
    while (reached.code() == Errc::refused && Clock::now() < end) {
        (void)client_.run_for(1ms);
        reached = call();
    }
    EXPECT_EQ(reached.value(), 42);
    (void)client_.run_for(1ms);
    EXPECT_EQ(std::count(events_.begin(), events_.end(), na::PeerEvent::restarted), 2);
}

}  // namespace
}  // namespace cinnabar::test
