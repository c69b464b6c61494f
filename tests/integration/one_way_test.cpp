// SPDX-License-Identifier: BSD-3-Clause
// One-way calls of a node that is destroyed right after sending them: each one reaches its handler in another process.
#include "server_process.hpp"
#include "two_process.hpp"
#include "ways.hpp"

#include <gtest/gtest.h>

#include <chrono>

using namespace std::chrono_literals;

namespace cinnabar::test {
namespace {

constexpr int calls = 2000;

class OneWayCalls : public testing::TestWithParam<Way> {
  protected:
    // How many nodes come one after the other. libfabric's shm rejects peers that reconnect too often.
    [[nodiscard]] static int rounds() { return GetParam().name == "ofi_shm" ? 4 : 20; }
    [[nodiscard]] static Node open(bool threaded) {
        return Node::open(GetParam().open, {.progress_thread = threaded}).value();
    }
    [[nodiscard]] na::Addr server_of(Node& node) const { return node.lookup(server_.address()).value(); }
    static void send(Node& node, const na::Addr& to, int count) {
        for (int i = 0; i < count; ++i) {
            node.call(note, to, i).then([](const Result<void>& sent) { EXPECT_EQ(sent.code(), Errc::ok); });
        }
    }
    static void warm_up(Node& node, const na::Addr& to) {
        const Errc called = node.call(load, to, 30s).wait().code();
        ASSERT_EQ(called, Errc::ok) << to_string(called);
    }
    // Waits until the server has received the notes: `load` uses another connection and may overtake them.
    void expect_notes(int count) {
        Node node = open(false);
        const na::Addr to = server_of(node);
        const auto end = std::chrono::steady_clock::now() + 20s;
        int came = 0;
        do {
            came = node.call(load, to, 30s).wait().value().notes;
        } while (came < count && std::chrono::steady_clock::now() < end);
        EXPECT_EQ(came, count);
    }

    ServerProcess server_{{GetParam().listen}};
};

CINNABAR_ON_EACH_WAY(OneWayCalls);

TEST_P(OneWayCalls, leave_on_a_fresh_connection) {
    for (int i = 0; i < rounds(); ++i) {
        Node node = open(i % 2 != 0);
        send(node, server_of(node), 1);
    }
    expect_notes(rounds());
}

TEST_P(OneWayCalls, leave_on_a_warm_connection) {
    for (int i = 0; i < rounds(); ++i) {
        Node node = open(i % 2 != 0);
        const na::Addr to = server_of(node);
        ASSERT_NO_FATAL_FAILURE(warm_up(node, to));
        send(node, to, calls / rounds());
    }
    expect_notes(calls);
}

TEST_P(OneWayCalls, have_arrived_when_they_were_awaited) {
    for (int i = 0; i < rounds(); ++i) {
        Node node = open(i % 2 != 0);
        const na::Addr to = server_of(node);
        ASSERT_NO_FATAL_FAILURE(warm_up(node, to));
        ASSERT_TRUE(node.call(note, to, i).wait().ok());
    }
    expect_notes(rounds());
}

// A target that does not receive the calls delays the origin no longer than the limit.
TEST_P(OneWayCalls, wait_for_a_stopped_target_up_to_the_limit) {
    const auto took = [this](Microseconds leave_max) {
        NodeOptions options;
        options.rpc.leave_max = leave_max;
        std::optional<Node> node = Node::open(GetParam().open, options).value();
        const na::Addr to = server_of(*node);
        warm_up(*node, to);
        server_.stop();
        // A network whose sends end when the target has them never took it.
        const auto taken_or_given_up = [](const Result<void>& sent) {
            EXPECT_TRUE(sent.ok() || sent.code() == Errc::canceled) << sent.error().message();
        };
        node->call(note, to, 0).then(taken_or_given_up);
        const auto began = std::chrono::steady_clock::now();
        node.reset();
        const auto time = std::chrono::steady_clock::now() - began;
        server_.signal(SIGCONT);
        return time;
    };
    const auto waited = took(300ms);
    EXPECT_GE(waited, 300ms);
    EXPECT_LT(waited, 5s);
    EXPECT_LT(took(0ms), 5s);
}

}  // namespace
}  // namespace cinnabar::test
