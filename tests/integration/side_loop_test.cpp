// SPDX-License-Identifier: BSD-3-Clause
// The side loop of a node answers while a handler holds the node's own loop, and serves only what is served there.
#include "gate.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/side_loop.hpp>

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

constexpr Rpc<int(int)> held_here{"side.held"};
constexpr Rpc<int(int)> answered_there{"side.answered"};

class SideLoopOf : public testing::TestWithParam<std::string> {};

TEST_P(SideLoopOf, AnswersWhileAHandlerHoldsTheNodesOwn) {
    const Node server = Node::listen(GetParam()).value();
    const Node client = Node::listen(GetParam()).value();
    const NodeRef there = hl::side_loop(server).value();
    const NodeRef here = hl::side_loop(client).value();
    test::Gate gate;
    const auto hold = [&gate](int value) { return gate.pass(), value; };
    server.serve(held_here, hold).value();
    client.serve(held_here, hold).value();
    there.serve(answered_there, [](int value) { return value + 1; }).value();
    const Addr to = Addr::parse(server.address()).value();
    // By a third node: the loop of either of the two may be held before its own call has left.
    const Node other = Node::listen(GetParam()).value();
    auto first = other.call(held_here, to, 1, 60s).future();
    auto second = other.call(held_here, Addr::parse(client.address()).value(), 2, 60s).future();
    gate.await(2);  // neither of the two loops goes on
    for (int i = 0; i < 3; ++i) {
        const auto answer = here.call(answered_there, to.with_context(hl::side_context), i, 20s).wait();
        ASSERT_TRUE(answer.ok()) << answer.error().message();
        EXPECT_EQ(*answer, i + 1);
    }
    gate.open();
    EXPECT_EQ(first.get().value(), 1);
    EXPECT_EQ(second.get().value(), 2);
}

TEST_P(SideLoopOf, HasHandlersOfItsOwn) {
    const Node server = Node::listen(GetParam()).value();
    const Node client = Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value();
    server.serve(held_here, [](int value) { return value; }).value();
    const Addr to = Addr::parse(server.address()).value();
    const Addr to_side = to.with_context(hl::side_context);
    EXPECT_FALSE(client.call(held_here, to_side, 1, 20s).wait().ok()) << "there is none yet";
    const NodeRef side = hl::side_loop(server).value();
    EXPECT_EQ(&side.rpc_context(), &hl::side_loop(server)->rpc_context()) << "a node has one";
    side.serve(answered_there, [](int value) { return value; }).value();
    EXPECT_EQ(client.call(held_here, to_side, 1, 20s).wait().code(), Errc::no_such_rpc);
    EXPECT_EQ(client.call(answered_there, to, 1, 20s).wait().code(), Errc::no_such_rpc);
    EXPECT_EQ(client.call(answered_there, to_side, 1, 20s).wait().value(), 1);
    // The policy of the node holds there too, also when it is replaced.
    server.set_policy(Policy::parse("nobody deny anyone *\n").value());
    EXPECT_EQ(client.call(answered_there, to_side, 1, 20s).wait().code(), Errc::permission);
}

TEST_P(SideLoopOf, GetsNoConnectionThatDoesNotNameIt) {
    const Node server = Node::listen(GetParam(), {.contexts = 2}).value();
    (void)hl::side_loop(server).value();
    server.serve(held_here, [](int value) { return value; }).value();
    std::vector<Node> clients;
    for (int i = 0; i < 8; ++i) {
        clients.push_back(Node::open(GetParam().substr(0, GetParam().find(':')) + "://").value());
        EXPECT_EQ(clients.back().call(held_here, Addr::parse(server.address()).value(), i, 20s).wait().value(), i);
    }
}

Task<void> sleep_on(NodeRef node, std::promise<void>& begun, Errc& slept) {
    begun.set_value();
    slept = co_await node.sleep_for(1h);
}

TEST_P(SideLoopOf, EndsWithItsTasksAlsoIfTheyAwaitTheNodesOwn) {
    std::promise<void> begun;
    Errc slept = Errc::ok;
    {
        const Node node = Node::listen(GetParam()).value();
        ASSERT_EQ(hl::side_loop(node)->spawn(sleep_on(node, begun, slept)), Errc::ok);
        begun.get_future().wait();
    }
    EXPECT_EQ(slept, Errc::canceled);
}

TEST(SideLoop, NeedsANodeWithThreads) {
    const Node driven = Node::listen("tcp://127.0.0.1:0", {.progress_thread = false}).value();
    EXPECT_EQ(hl::side_loop(driven).code(), Errc::unsupported);
}

INSTANTIATE_TEST_SUITE_P(networks, SideLoopOf, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
