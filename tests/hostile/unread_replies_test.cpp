// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends requests and does not read the replies, beside an honest client. The peer makes no progress while
// it does not read, so that everything sent to it stays in the network: in a socket, a ring, or a provider.
//
// All sizes are small here: over libfabric a peer that does not look sends only 128 messages, since it does not see
// that they have left, and a socket of the kernel could hold more than those.
//
// - `self` is left out: there is no network that could hold a reply.
// - `sim` is left out: messages have left once they are in the receive slots of the peer, read or not.
// - `verbs` is left out: a sender needs messages from the other side to go on, and gets them only if it reads.
#include "../rpc/rpc_fixture.hpp"
#include "rude_peer.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

std::set<int> descriptors_open() {
    std::set<int> open;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        open.insert(std::stoi(entry.path().filename().string()));
    }
    return open;
}

bool is_internet(int socket) {
    sockaddr_storage peer{};
    socklen_t bytes = sizeof peer;
    return ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && peer.ss_family == AF_INET;
}

class UnreadReplies : public RpcTest {
  protected:
    UnreadReplies() {
        options_.context.initial_credits = 4;
        options_.credits_per_peer_max = 48;
        options_.requests_held_max = 16;
    }

    void SetUp() override {
        RpcTest::SetUp();
        if (IsSkipped()) return;
        serve_echo();
        serve("big", [this](Request& request) {
            ++served_;
            request.respond(request.output_room().size());  // so that few fill the network
            request.release();
        });
        ASSERT_EQ(call_echo(), Errc::ok);
        const std::set<int> before = descriptors_open();
        rogue_.emplace(network_.open("rogue", {.listen = false}).value(), na::ContextId{0});
        rogue_->meet(to_);
        ASSERT_TRUE(send_big());  // the first message dials
        ASSERT_TRUE(read_until([&] { return rogue_->connected() && all_answered(); }));
        connections_ = target_.context->counts().connections;
        for (const int descriptor : descriptors_open()) {
            if (!before.contains(descriptor) && is_internet(descriptor)) sockets_.push_back(descriptor);
        }
        let_kernel_take_little();
    }
    void TearDown() override {
        rogue_.reset();
        RpcTest::TearDown();
    }

    // Limits what can be in flight between the rogue and the target. A receive buffer must not become smaller than the
    // announced window, or packets are lost and sent again much later.
    void let_kernel_take_little() {
        constexpr int sent = 4096;
        constexpr int received = 128 * 1024;
        for (const int socket : sockets_) {
            EXPECT_EQ(::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &sent, sizeof sent), 0);
            EXPECT_EQ(::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &received, sizeof received), 0);
        }
    }
    // False: there is no free buffer.
    [[nodiscard]] bool send_big() {
        const bool sent = rogue_->request(rpc_id("big"), {}, flag_wants_credits, 60'000'000);
        sent_ += sent ? 1 : 0;
        return sent;
    }
    [[nodiscard]] bool all_answered() const { return rogue_->replies() == sent_; }
    // False: the target has ended the session, which the rogue does not notice, since it does not look.
    [[nodiscard]] bool has_session() const { return target_.context->counts().connections == connections_; }
    [[nodiscard]] bool read_until(const std::function<bool()>& done) {
        return until([&] {
            rogue_->look();
            return done();
        });
    }
    // Behaves like an honest peer that asks for more credits, until it gets no more.
    void earn_credits() {
        std::uint32_t before = 0;
        while (std::exchange(before, rogue_->credits()) < rogue_->credits()) {
            ASSERT_TRUE(send_big());
            ASSERT_TRUE(send_big());
            ASSERT_TRUE(read_until([&] { return all_answered(); }));
        }
        ASSERT_GT(rogue_->credits(), options_.requests_held_max);
    }
    [[nodiscard]] Errc call_echo() {
        Ending ending;
        send("echo", "still here", ending, Microseconds{5'000'000});
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        return ending.result;
    }

    std::optional<hostile::RudePeer> rogue_;
    std::vector<int> sockets_;  // both ends of the connections
    std::uint64_t sent_ = 0;
    std::uint64_t served_ = 0;
    std::uint32_t connections_ = 0;
};

// The rogue sends as if each reply had been read, far more than it has credits for.
TEST_P(UnreadReplies, HoldNoMoreThanTheShareOfOnePeer) {
    log_.allow("without credits");
    earn_credits();
    std::uint32_t most = 0;
    for (int i = 0; i < 1'000 && has_session(); ++i) {
        for (int k = 0; k < 4; ++k) (void)send_big();
        for (int k = 0; k < 4; ++k) pump();
        most = std::max(most, target_.context->counts().requests);
        if (i % 4 == 0) {
            ASSERT_EQ(call_echo(), Errc::ok) << "after " << sent_ << " requests, " << most << " held";
        }
    }
    EXPECT_GE(most, options_.credits_per_peer_max) << "the replies left";
    EXPECT_LE(most, 2 * options_.credits_per_peer_max);
    EXPECT_EQ(call_echo(), Errc::ok);
    EXPECT_FALSE(has_session());
}

// The rogue sends as long as it has credits, and reads later: nothing is lost, and it gets credits again.
TEST_P(UnreadReplies, AreNoReasonToCloseAConnectionThatKeepsToItsCredits) {
    earn_credits();
    const std::uint32_t share = options_.credits_per_peer_max;
    const std::uint32_t has = rogue_->credits();
    for (int i = 0; i < 10'000 && target_.context->counts().replies_unsent < share; ++i) {
        ASSERT_TRUE(send_big());
        pump();
    }
    // Spends the credits that it still has, except some that may not have come back.
    for (std::uint32_t i = 0; i + 4 < has; ++i) {
        ASSERT_TRUE(send_big());
        ASSERT_TRUE(until([&] { return served_ == sent_; })) << served_ << " of " << sent_ << " came";
    }
    const Context::Counts held = target_.context->counts();
    EXPECT_GT(held.replies_unsent, share) << "the replies left";
    EXPECT_LE(held.replies_unsent, share + has);
    EXPECT_EQ(held.requests, held.replies_unsent);
    EXPECT_EQ(call_echo(), Errc::ok);

    ASSERT_TRUE(read_until([&] { return all_answered(); }))
        << rogue_->replies() << " of " << sent_ << " replies were read, " << target_.context->counts().replies_unsent
        << " have not left";
    EXPECT_EQ(target_.context->counts().requests, 0u);
    ASSERT_TRUE(read_until([&] { return rogue_->credits() > 0; })) << "no credits after all was read";
    ASSERT_TRUE(send_big());
    ASSERT_TRUE(read_until([&] { return all_answered(); }));
    EXPECT_TRUE(has_session());
}

std::vector<support::NetworkKind> networks_that_fill() {
    std::vector<support::NetworkKind> all = support::networks_for_calls();
    std::erase_if(all, [](support::NetworkKind kind) {
        return kind < support::NetworkKind::tcp || kind == support::NetworkKind::cable;
    });
    return all;
}

INSTANTIATE_TEST_SUITE_P(Over, UnreadReplies, testing::ValuesIn(networks_that_fill()),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnreadReplies);

}  // namespace
}  // namespace cinnabar::rpc
