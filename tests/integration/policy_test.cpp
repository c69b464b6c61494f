// SPDX-License-Identifier: BSD-3-Clause
// Policies of nodes: by key over tcps and ofis, and by user over shm.
#include "support/folder.hpp"
#include "support/log_watch.hpp"
#include "support/missing_here.hpp"
#include "support/test_key.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

constexpr Rpc<std::string()> whoami{"policy.whoami"};
constexpr Rpc<std::string()> where{"policy.where"};

class NodePolicy : public testing::Test {
  protected:
    NodePolicy() { log_.allow("may not call"); }
    std::string key(const std::string& name, char digit) {
        return support::put_key(folder_, name, name + ":" + std::string(64, digit));
    }
    std::shared_ptr<const Policy> policy(const std::string& text) {
        return Policy::parse(text,
                             [this](const AuditEvent& event) {
                                 const std::lock_guard lock(mutex_);
                                 told_.push_back((event.allowed ? "+" : "-") + event.caller + " " + event.rpc);
                             })
            .value();
    }
    static void serve(const Node& node) {
        for (const auto& rpc : {whoami, where}) {
            node.serve(rpc, [](const Request<>& request) { return caller_name(request.source()); }).value();
        }
    }
    // Waits until there are `count` audit records: an answer may arrive before the call's record.
    std::vector<std::string> told(std::size_t count) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        for (;; std::this_thread::yield()) {
            const std::lock_guard lock(mutex_);
            if (told_.size() >= count || std::chrono::steady_clock::now() > end) return told_;
        }
    }

#ifdef CINNABAR_PLUGIN_tcps
    void keys_are_told_apart(const std::string& address);
    void a_quota_is_of_whoever_proves_the_key(unsigned contexts);
#endif

    support::LogWatch log_;
    support::Folder folder_;
    std::mutex mutex_;
    std::vector<std::string> told_;
};

#ifdef CINNABAR_PLUGIN_tcps
void NodePolicy::keys_are_told_apart(const std::string& address) {
    const std::string ann = key("ann", 'a');
    const std::string bob = key("bob", 'b');
    NodeOptions options;
    options.transport.tls.key_file =
        support::put_key(folder_, "all", "ann:" + std::string(64, 'a') + "\nbob:" + std::string(64, 'b'));
    options.rpc.policy = policy("ann allow key:ann *\nall allow proven policy.where\n");
    const Node server = Node::listen(address, options).value();
    serve(server);
    const auto client_of = [&](const std::string& file) {
        NodeOptions own;
        own.transport.tls.key_file = file;
        return Node::connect(server.address(), own).value();
    };
    const auto [anns, peer_of_ann] = client_of(ann);
    const auto [bobs, peer_of_bob] = client_of(bob);
    EXPECT_EQ(anns.call(whoami, peer_of_ann).wait().value(), "key:ann");
    EXPECT_EQ(bobs.call(where, peer_of_bob).wait().value(), "key:bob");
    const auto refused = bobs.call(whoami, peer_of_bob).wait();
    EXPECT_EQ(refused.code(), Errc::permission);
    EXPECT_NE(refused.error().message().find("not allowed there, no rule allows it"), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(told(3),
              (std::vector<std::string>{"+key:ann policy.whoami", "+key:bob policy.where", "-key:bob policy.whoami"}));

    server.set_policy(policy("nobody deny key:ann *\nall allow proven *\n"));
    const auto later = anns.call(whoami, peer_of_ann).wait();
    EXPECT_EQ(later.code(), Errc::permission);
    EXPECT_NE(later.error().message().find("by the rule nobody"), std::string::npos) << later.error().message();
    EXPECT_EQ(bobs.call(whoami, peer_of_bob).wait().value(), "key:bob");
}

// The log has the advice for each case; the error leads there, and not to memory or files.
TEST_F(NodePolicy, WhoMayNotConnectIsToldWhereTheReasonIs) {
    log_.allow("compare the key files");
    NodeOptions options;
    options.transport.tls.key_file = key("ann", 'a');
    const Node server = Node::listen("tcps://127.0.0.1:0", options).value();
    serve(server);
    NodeOptions own;
    own.transport.tls.key_file = key("bob", 'b');
    const Connected client = Node::connect(server.address(), own).value();
    const auto refused = client.node.call(whoami, client.peer).wait();
    ASSERT_EQ(refused.code(), Errc::permission);
    EXPECT_NE(refused.error().message().find("do not accept each other's key, certificate or user"), std::string::npos)
        << refused.error().message();
}

TEST_F(NodePolicy, KeysAreToldApart) { keys_are_told_apart("tcps://127.0.0.1:0"); }
TEST_F(NodePolicy, KeysAreToldApartOverFabrics) {
    const std::string missing = support::missing_here(Node::listen("ofi+tcp;ofi_rxm://127.0.0.1:0"));
    if (!missing.empty()) GTEST_SKIP() << missing;
    keys_are_told_apart("ofis+tcp;ofi_rxm://127.0.0.1:0");
}

// The quota applies to the identity, no matter how often it connects.
void NodePolicy::a_quota_is_of_whoever_proves_the_key(unsigned contexts) {
    log_.allow("as many requests in progress as the quota small");
    const std::string ann = key("ann", 'a');
    const std::string bob = key("bob", 'b');
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    NodeOptions options;
    options.contexts = contexts;
    options.transport.tls.key_file =
        support::put_key(folder_, "all", "ann:" + std::string(64, 'a') + "\nbob:" + std::string(64, 'b'));
    options.rpc.policy = policy("all allow proven *\nsmall quota key:ann 2\n");
    const Node server = Node::listen("tcps://127.0.0.1:0", options).value();
    constexpr Rpc<std::string()> slow{"policy.slow"};
    server
        .serve(slow,
               [&](Request<> request) -> Task<Result<std::string>> {
                   ++inside;
                   while (!open) (void)co_await request.node().sleep_for(std::chrono::milliseconds(1));
                   co_return std::string("done");
               })
        .value();
    std::vector<Connected> anns;
    for (int i = 0; i < 3; ++i) {
        NodeOptions own;
        own.transport.tls.key_file = ann;
        anns.push_back(Node::connect(server.address(), own).value());
    }
    auto first = anns[0].node.call(slow, anns[0].peer).future();
    auto second = anns[1].node.call(slow, anns[1].peer).future();
    while (inside < 2) std::this_thread::yield();
    const auto refused = anns[2].node.call(slow, anns[2].peer).wait();
    EXPECT_EQ(refused.code(), Errc::overloaded);
    EXPECT_NE(refused.error().message().find("refused there by the quota small"), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(told(4).back(), "-key:ann policy.slow");
    NodeOptions others;
    others.transport.tls.key_file = bob;
    const auto [bobs, peer_of_bob] = Node::connect(server.address(), others).value();
    auto third = bobs.call(slow, peer_of_bob).future();
    while (inside < 3) std::this_thread::yield();
    open = true;
    for (auto* each : {&first, &second, &third}) EXPECT_TRUE(each->get().ok());
    // Another context may free its request a moment after the answer has arrived.
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    bool has_room = false;
    while (!has_room && std::chrono::steady_clock::now() < end)
        has_room = anns[2].node.call(slow, anns[2].peer).wait().ok();
    EXPECT_TRUE(has_room) << "again";
}

TEST_F(NodePolicy, AQuotaIsOfWhoeverProvesTheKey) { a_quota_is_of_whoever_proves_the_key(1); }
// Three connections are distributed over three contexts.
TEST_F(NodePolicy, AQuotaIsOfAllContextsOfTheNode) { a_quota_is_of_whoever_proves_the_key(3); }

// The same for the bytes of its requests: the arguments, while they are encoded and once they are decoded.
TEST_F(NodePolicy, BytesAreOfWhoeverProvesTheKey) {
    log_.allow("key:ann has as many bytes in progress as the quota small allows");
    std::atomic<bool> open{false};
    std::atomic<int> inside{0};
    NodeOptions options;
    options.transport.tls.key_file =
        support::put_key(folder_, "all", "ann:" + std::string(64, 'a') + "\nbob:" + std::string(64, 'b'));
    options.rpc.policy = policy("all allow proven *\nsmall quota key:ann 9 2500000\n");
    const Node server = Node::listen("tcps://127.0.0.1:0", options).value();
    constexpr Rpc<std::uint64_t(std::string)> slow{"policy.slow"};
    server
        .serve(slow,
               [&](Request<std::string> request) -> Task<Result<std::uint64_t>> {
                   ++inside;
                   while (!open) (void)co_await request.node().sleep_for(std::chrono::milliseconds(1));
                   co_return (*request).size();
               })
        .value();
    const auto client_of = [&](const std::string& file) {
        NodeOptions own;
        own.transport.tls.key_file = file;
        return Node::connect(server.address(), own).value();
    };
    const std::string ann = key("ann", 'a');
    const Connected first = client_of(ann);
    const Connected second = client_of(ann);
    const Connected other = client_of(key("bob", 'b'));
    const std::string large(1'000'000, 'x');
    auto held = first.node.call(slow, first.peer, large).future();
    while (inside < 1) std::this_thread::yield();
    const auto refused = second.node.call(slow, second.peer, large).wait();
    EXPECT_EQ(refused.code(), Errc::overloaded);
    EXPECT_NE(refused.error().message().find("refused there by the quota small: key:ann has "), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(told(3).back(), "-key:ann policy.slow");
    auto of_bob = other.node.call(slow, other.peer, large).future();
    while (inside < 2) std::this_thread::yield();
    open = true;
    for (auto* each : {&held, &of_bob}) EXPECT_EQ(each->get().value(), large.size());
    EXPECT_TRUE(second.node.call(slow, second.peer, large).wait().ok()) << "there is room again";
}
#endif

// A quota also limits what calls to a peer lend, here to one that was dialled.
TEST_F(NodePolicy, WhatIsLentToAPeerHasAQuota) {
    log_.allow("is lent as many bytes of memory as the quota small allows");
    constexpr Rpc<std::uint64_t(Bulk)> size{"policy.size"};
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    server.serve(size, [](const Request<Bulk>& request) { return request->size(); }).value();
    NodeOptions options;
    options.rpc.policy = policy("all allow anyone *\nsmall quota dialled 9 - - 50000\n");
    const auto [client, peer] = Node::connect(server.address(), options).value();
    std::vector<std::byte> memory(50'001);
    const auto region = client.expose(std::span(memory)).value();
    const auto refused = client.call(size, peer, Bulk(region)).wait();
    EXPECT_EQ(refused.code(), Errc::too_large) << "the quota never allows that much";
    EXPECT_NE(refused.error().message().find("refused here by the quota small"), std::string::npos)
        << refused.error().message();
    EXPECT_EQ(told(1), (std::vector<std::string>{"-" + peer.to_string() + " "}));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(client.call(size, peer, Bulk(region.slice(0, 50'000))).wait().value(), 50'000u);
}

// The owner of the context finds this out, when it sends a result that the caller's messages do not hold.
TEST_F(NodePolicy, AResultThatIsTooLargeForTheMessagesOfACallerHasTheQuota) {
    log_.allow("has as many bytes in progress as the quota small allows");
    constexpr Rpc<std::string(std::uint64_t)> text{"policy.text"};
    NodeOptions options;
    options.rpc.policy = policy("all allow anyone *\nsmall quota anyone 9 1000\n");
    const auto server = Node::listen("tcp://127.0.0.1:0", options).value();
    server.serve(text, [](const Request<std::uint64_t>& request) { return std::string(*request, 'x'); }).value();
    NodeOptions small;
    small.transport.message_bytes_max = 4'096;  // the server has more
    const auto [client, peer] = Node::connect(server.address(), small).value();
    const auto refused = client.call(text, peer, std::uint64_t{10'000}).wait();
    EXPECT_EQ(refused.code(), Errc::too_large);
    EXPECT_NE(refused.error().message().find("refused there by the quota small: "), std::string::npos)
        << refused.error().message();
    const auto events = told(2);
    EXPECT_TRUE(events.back().starts_with("-") && events.back().ends_with(" policy.text")) << events.back();
    EXPECT_EQ(client.call(text, peer, std::uint64_t{900}).wait().value().size(), 900u) << "the server goes on";
}

TEST_F(NodePolicy, UsersAreToldByTheKernel) {
    NodeOptions options;
    const std::string uid = std::to_string(::geteuid());
    options.rpc.policy = policy("own allow uid:" + uid + " policy.whoami\nothers allow uid:4294967294 policy.where\n");
    const auto server = Node::listen("shm://", options).value();
    serve(server);
    const auto [client, peer] = Node::connect(server.address()).value();
    EXPECT_EQ(client.call(whoami, peer).wait().value(), "uid:" + uid);
    EXPECT_EQ(client.call(where, peer).wait().code(), Errc::permission);
    EXPECT_EQ(server.call(where, server.self_addr()).wait().value(), "own") << "a node may call itself";
}

TEST_F(NodePolicy, ANodeThatWasDialledCallsBackByItsOwnRule) {
    NodeOptions options;
    options.rpc.policy = policy("back allow dialled policy.whoami\n");
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(where,
               [](Request<> request) -> Task<Result<std::string>> {
                   const auto here = co_await request.node().call(whoami, request.source());
                   const auto other = co_await request.node().call(where, request.source());
                   co_return std::string(to_string(here.code())) + ", " + std::string(to_string(other.code()));
               })
        .value();
    const auto [client, peer] = Node::connect(server.address(), options).value();
    serve(client);
    EXPECT_EQ(client.call(where, peer).wait().value(), "ok, permission");
}

// Whoever made the address is called at its last endpoint, and calls back over that connection.
TEST_F(NodePolicy, ANodeWhoseAddressBeginsWithSelfIsAStranger) {
    NodeOptions options;
    options.rpc.policy = policy("none deny anyone *\n");
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    server
        .serve(where,
               [](Request<> request) -> Task<Result<std::string>> {
                   const auto here = co_await request.node().call(whoami, request.source());
                   co_return std::string(to_string(here.code()));
               })
        .value();
    const auto client = Node::open({"tcp://"}, options).value();
    serve(client);
    const na::Addr made = na::Addr::parse("self://x," + server.address()).value();
    EXPECT_EQ(client.call(where, made).wait().value(), "permission");
    EXPECT_EQ(told(1), (std::vector<std::string>{"-" + made.to_string() + " policy.whoami"}));
}

}  // namespace
}  // namespace cinnabar
