// SPDX-License-Identifier: BSD-3-Clause
// Two processes over each transport that connects processes: calls and bulk work, and when one process is killed the
// other one notices.
#include "two_process.hpp"

#include "server_process.hpp"
#include "ways.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <numeric>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

class TwoProcesses : public testing::TestWithParam<Way> {
  protected:
    ServerProcess server_{{GetParam().listen}};
    Node client_ = Node::open(GetParam().open, {.progress_thread = false}).value();
    Addr to_ = client_.lookup(server_.address()).value();
};

CINNABAR_ON_EACH_WAY(TwoProcesses);

TEST_P(TwoProcesses, calls_and_bulk) {
    EXPECT_EQ(client_.call(twice, to_, 21).wait().value(), 42);
    std::vector<std::uint8_t> bytes(5'000'000);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{3});
    std::uint64_t expected = 0;
    for (const std::uint8_t byte : bytes) expected = expected * 31 + byte;
    const Region region = client_.expose(std::span<const std::uint8_t>(bytes)).value();
    EXPECT_EQ(client_.call(checksum, to_, region, 30s).wait().value(), expected);
}

TEST_P(TwoProcesses, a_killed_process_ends_all_calls_with_peer_lost) {
    ASSERT_EQ(client_.call(twice, to_, 1).wait().value(), 2);
    std::vector<Future<void>> calls;
    // Some calls are in flight or held by the server; the rest are queued here for lack of credits.
    for (int i = 0; i < 100; ++i) calls.push_back(client_.call(hang, to_, no_deadline).future());
    ASSERT_EQ(client_.call(twice, to_, 2, 30s).wait().code(), Errc::ok);
    while (calls.size() < 1000) calls.push_back(client_.call(hang, to_, no_deadline).future());
    server_.signal(SIGKILL);
    for (Future<void>& call : calls) {
        ASSERT_TRUE(call.wait_for(60s));
        EXPECT_EQ(call.get().code(), Errc::peer_lost);
    }
    const Errc next = client_.call(twice, to_, 1, 5s).wait().code();
    EXPECT_TRUE(next == Errc::refused || next == Errc::peer_lost) << to_string(next);
}

TEST_P(TwoProcesses, a_stopped_process_ends_calls_by_their_deadline) {
    ASSERT_EQ(client_.call(twice, to_, 1).wait().value(), 2);
    server_.stop();
    std::vector<Future<int>> calls;
    for (int i = 0; i < 20; ++i) calls.push_back(client_.call(twice, to_, i, 50ms).future());
    for (Future<int>& call : calls) {
        ASSERT_TRUE(call.wait_for(60s));
        EXPECT_EQ(call.get().code(), Errc::timed_out);
    }
    server_.signal(SIGCONT);
    EXPECT_EQ(client_.call(twice, to_, 3, 20s).wait().value(), 6);
}

TEST_P(TwoProcesses, a_transfer_under_way_ends_with_its_process) {
    std::vector<std::byte> bytes(256u << 20);
    const Region region = client_.expose(std::span<const std::byte>(bytes)).value();
    ASSERT_EQ(client_.call(twice, to_, 1).wait().value(), 2);  // connected
    Future<std::uint64_t> call = client_.call(checksum, to_, region, 60s).future();
    (void)client_.run_for(20ms);
    server_.end(SIGKILL);
    ASSERT_TRUE(call.wait_for(60s));
    EXPECT_EQ(call.get().code(), Errc::peer_lost);
}

}  // namespace
}  // namespace cinnabar::test
