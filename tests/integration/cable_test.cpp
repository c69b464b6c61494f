// SPDX-License-Identifier: BSD-3-Clause
// The cable between two processes is unplugged, and neither end of a connection is notified. Calls end by their
// deadline or by the keepalive, and work again once the cable is back. Both ends are tested: at the unplugged end the
// interface and its routes are gone, at the other end packets are lost.
#include "cable.hpp"

#include "pending_calls.hpp"
#include "server_process.hpp"
#include "two_process.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

using Clock = PendingCalls::Clock;

class CableTest : public testing::TestWithParam<Cable::End> {
  protected:
    void SetUp() override {
        std::string why_not;
        cable_ = Cable::lay(why_not);
        if (!cable_) GTEST_SKIP() << why_not;
    }
    void start(std::chrono::milliseconds keepalive) {
        const std::vector<std::string> arguments{cable_->far_address(), "1100", std::to_string(keepalive.count())};
        cable_->at_the_far_end([&] { server_.emplace(arguments); });
        NodeOptions options;
        options.transport.receive_slots = 4096;  // half of them are for pending replies
        options.transport.keepalive = keepalive;
        options.transport.connect_timeout = 2s;
        options.progress_thread = false;
        client_.emplace(Node::open(cable_->near_address(), options).value());
        to_ = client_->lookup(server_->address()).value();
    }
    ServerLoad now_at_server() { return client_->call(load, to_, 30s).wait().value(); }
    // Returns once the server has pulled all bytes at least once, and goes on.
    void begin_transfer(Microseconds deadline) {
        memory_.resize(16u << 20);
        const Region region = client_->expose(std::span<const std::byte>(memory_)).value();
        transfer_made_ = Clock::now();
        client_->call(pull_again, to_, region, deadline).then([this](const Result<void>& result) {
            transfer_ended_ = Clock::now();
            transfer_ = result.code();
        });
        ASSERT_TRUE(drive_until(*client_, [this] { return transfer_ || now_at_server().pulls > 0; }));
        ASSERT_FALSE(transfer_) << "it ended before all bytes were pulled once: " << to_string(*transfer_);
    }
    [[nodiscard]] bool transfer_ends() {
        return drive_until(*client_, [this] { return transfer_.has_value(); });
    }
    void start_all_that_ends_by_the_keepalive() {
        start(1s);
        calls_.make(*client_, to_, calls_held, no_deadline);
        ASSERT_TRUE(drive_until(*client_, [this] { return now_at_server().held == calls_held; }));
        ASSERT_NO_FATAL_FAILURE(begin_transfer(no_deadline));
    }
    void expect_all_to_end_by_the_keepalive(Clock::time_point unplugged) {
        calls_.expect_to_end(*client_, Errc::peer_lost, unplugged, 1s + patience);
        ASSERT_TRUE(transfer_ends());
        EXPECT_EQ(*transfer_, Errc::peer_lost);
        EXPECT_LE(transfer_ended_ - unplugged, 1s + patience);
    }
    void works_when_plugged_in() {
        cable_->plug_in(GetParam());
        auto answer = client_->call(twice, to_, 3, 30s).wait();
        // A fabric may end the session if the peer continues to access memory whose lease was revoked.
        if (transfer_ == Errc::timed_out && answer.code() == Errc::peer_lost) {
            answer = client_->call(twice, to_, 3, 30s).wait();
        }
        EXPECT_EQ(answer.value(), 6);
        EXPECT_TRUE(drive_until(*client_, [this] {
            const ServerLoad now = now_at_server();
            return now.held == 0 && now.pulling == 0;
        })) << "the server did not notice";
    }

    std::unique_ptr<Cable> cable_;
    std::optional<ServerProcess> server_;
    PendingCalls calls_;
    std::vector<std::byte> memory_;
    std::optional<Errc> transfer_;
    Clock::time_point transfer_made_;
    Clock::time_point transfer_ended_;
    std::optional<Node> client_;
    na::Addr to_;
};

INSTANTIATE_TEST_SUITE_P(UnpluggedAt, CableTest, testing::Values(Cable::End::near, Cable::End::far),
                         [](const auto& at) { return at.param == Cable::End::near ? "near" : "far"; });

TEST_P(CableTest, ends_calls_and_a_transfer_by_the_keepalive) {
    ASSERT_NO_FATAL_FAILURE(start_all_that_ends_by_the_keepalive());
    cable_->unplug(GetParam());
    const auto unplugged = Clock::now();
    expect_all_to_end_by_the_keepalive(unplugged);
    works_when_plugged_in();
}

TEST_P(CableTest, ends_calls_and_a_transfer_whose_interface_is_taken_down) {
    ASSERT_NO_FATAL_FAILURE(start_all_that_ends_by_the_keepalive());
    const auto taken_down = Clock::now();
    if (!cable_->take_down(GetParam())) GTEST_SKIP() << "unplugging takes it down";
    expect_all_to_end_by_the_keepalive(taken_down);
}

TEST_P(CableTest, ends_calls_that_are_made_afterwards) {
    start(1s);
    ASSERT_EQ(client_->call(twice, to_, 1, 30s).wait().value(), 2);
    cable_->unplug(GetParam());
    const auto unplugged = Clock::now();
    calls_.make(*client_, to_, calls_held, no_deadline);
    calls_.expect_to_end(*client_, Errc::peer_lost, unplugged, 1s + patience);
    works_when_plugged_in();
}

// The deadline passes before the keepalive notices. The server cannot confirm that it no longer uses the memory, so the
// leases are revoked by force.
TEST_P(CableTest, ends_a_transfer_by_its_deadline) {
    start(20s);
    // Long enough to pull 16 MiB once; RDMA devices are emulated, by a machine that is busy with other tests.
    const auto deadline = cable_->near_address().starts_with("verbs") ? 8s : 2s;
    ASSERT_NO_FATAL_FAILURE(begin_transfer(deadline));
    cable_->unplug(GetParam());
    ASSERT_TRUE(transfer_ends());
    EXPECT_EQ(*transfer_, Errc::timed_out);
    EXPECT_GE(transfer_ended_ - transfer_made_, deadline);
    EXPECT_LE(transfer_ended_ - transfer_made_, deadline + patience);
    works_when_plugged_in();
}

TEST_P(CableTest, ends_a_first_call_by_its_deadline_and_by_the_limit_on_connecting) {
    start(1s);
    cable_->unplug(GetParam());
    // Without a route the failure is immediate; otherwise there is no answer.
    const bool known = GetParam() == Cable::End::near && cable_->way_goes_with_plug();
    const Errc expected = known ? Errc::unreachable : Errc::timed_out;
    auto began = Clock::now();
    EXPECT_EQ(client_->call(twice, to_, 1, 500ms).wait().code(), expected);
    EXPECT_LE(Clock::now() - began, 500ms + patience);
    began = Clock::now();
    const Errc limited = client_->call(twice, to_, 1, no_deadline).wait().code();
    // With RDMA's connection manager, a host that is gone looks like a process that is suspended.
    EXPECT_TRUE(limited == Errc::unreachable ||
                (limited == Errc::timed_out && cable_->near_address().find("verbs") == 0))
        << to_string(limited);
    EXPECT_LE(Clock::now() - began, 2s + patience);
    works_when_plugged_in();
}

}  // namespace
}  // namespace cinnabar::test
