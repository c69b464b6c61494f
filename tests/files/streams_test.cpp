// SPDX-License-Identifier: BSD-3-Clause
// Sessions over paths on which each connection is limited, all of them are, or none is: how many connections come up
// by themselves, and what happens to files when one of them breaks.
#include "session/protocol.hpp"
#include "support/content.hpp"
#include "support/limited_path.hpp"
#include "support/test_key.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

namespace cinnabar::files {
namespace {

using support::LimitedPath;

// Bytes per second of one connection, so little that no machine is too busy for several.
constexpr double slow = 1.5e6;
// A session has a connection for messages and one for bulk data.
constexpr unsigned sockets = 2;

struct StreamsTest : testing::Test {
    support::Folder folder{support::memory_folder()};
    ServerOptions options;
    std::string scheme = "tcp";
    hl::NodeOptions node_options;
    bool keyed = false;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::unique_ptr<LimitedPath> path;
    std::optional<hl::Node> here;
    std::optional<Key> key;
    std::optional<Client> client;
    const std::string content = support::pattern(8u << 20);

    void begin(double of_each, double of_all = LimitedPath::any_rate) {
        options.window_bytes = 16u << 10;
        (void)folder.put("a", content);
        for (const char* name : {"root", "back"}) std::filesystem::create_directory(folder.at(name));
        if (keyed) key.emplace(Key::from("a key of at least 16 bytes").value());
        std::optional<Key> wanted;
        if (keyed) wanted.emplace(Key::from("a key of at least 16 bytes").value());
        server = Server::make(Root::serve(folder.at("root")).value(), std::move(wanted), options).value();
        there = hl::Node::listen(scheme + "://127.0.0.1:0", node_options).value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        path = std::make_unique<LimitedPath>(there->endpoints().front(), of_each, of_all);
        auto own = node_options;
        own.progress_thread = false;
        here = hl::Node::open(scheme + "://", own).value();
        client.emplace(*here, here->lookup(path->endpoint()).value(), key ? &*key : nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void TearDown() override {
        if (client) {
            EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        }
        client.reset();
        here.reset();
        path.reset();
        there.reset();
    }
    // Saves "a" as "a", and checks that the server has all of it.
    Moved save(SaveMode mode = {}) {
        const auto saved = hl::sync_wait(client->save(folder.at("a"), "a", mode));
        EXPECT_TRUE(saved.ok()) << saved.error().message();
        EXPECT_TRUE(folder.get("root/a") == content);
        return saved ? *saved : Moved{};
    }
    Moved fetch() {
        const auto into = Root::open(folder.at("back")).value();
        const auto fetched = hl::sync_wait(client->fetch("a", into));
        EXPECT_TRUE(fetched.ok()) << fetched.error().message();
        EXPECT_TRUE(folder.get("back/a") == content);
        return fetched ? *fetched : Moved{};
    }
    void expect_many_connections(const Moved& moved) const {
        EXPECT_GE(moved.connections, 2u);
        EXPECT_LT(path->bytes_of_busiest(), content.size() * 3 / 4);
    }
    // Resets the second connection soon after it was made.
    [[nodiscard]] std::jthread cut_second() {
        return std::jthread([this](const std::stop_token& stop) {
            while (path->connections() < 2 * sockets && !stop.stop_requested()) (void)::poll(nullptr, 0, 10);
            (void)::poll(nullptr, 0, 100);  // there are windows on it
            path->cut_last();
        });
    }
    void expect_loss_of_second(const Moved& moved) const {
        EXPECT_EQ(moved.connections, 1u);
        EXPECT_EQ(path->connections(), 2 * sockets);
    }
};

TEST_F(StreamsTest, ASaveFindsThatSeveralConnectionsHelp) {
    begin(slow);
    expect_many_connections(save());
}

TEST_F(StreamsTest, AFetchFindsThatSeveralConnectionsHelp) {
    begin(slow);
    (void)folder.put("root/a", content);
    expect_many_connections(fetch());
}

TEST_F(StreamsTest, APushFindsThatSeveralConnectionsHelp) {
    begin(slow);
    expect_many_connections(save({.push = true}));
}

TEST_F(StreamsTest, WithAKeyToo) {
    keyed = true;
    begin(slow);
    expect_many_connections(save());
}

#ifdef CINNABAR_PLUGIN_tcps
TEST_F(StreamsTest, OverTlsToo) {
    scheme = "tcps";
    node_options.transport.tls.key_file = support::test_key_file();
    begin(slow);
    expect_many_connections(save());
}
#endif

TEST_F(StreamsTest, OneConnectionStaysWhereItFillsThePath) {
    begin(LimitedPath::any_rate, slow);
    EXPECT_EQ(save().connections, 1u);
    EXPECT_EQ(path->connections(), 2 * sockets) << "one more was tried";
    EXPECT_EQ(fetch().connections, 1u);
    EXPECT_EQ(path->connections(), 2 * sockets) << "it is known for the session";
}

TEST_F(StreamsTest, WhatIsOverSoonTriesNone) {
    begin(LimitedPath::any_rate);
    EXPECT_EQ(save().connections, 1u);
}

TEST_F(StreamsTest, ALimitedRateNeedsOneConnection) {
    begin(LimitedPath::any_rate);
    client->limit_rate(6'000'000);
    EXPECT_EQ(save().connections, 1u);
    EXPECT_EQ(path->connections(), sockets);
}

TEST_F(StreamsTest, WhereNoneCanBeAddedTheSaveGoesOn) {
    begin(LimitedPath::any_rate, 4 * slow);
    auto refusing = std::jthread([this](const std::stop_token& stop) {
        while (path->connections() < sockets && !stop.stop_requested()) (void)::poll(nullptr, 0, 1);
        path->refuse_more();
    });
    EXPECT_EQ(save().connections, 1u);
}

// It takes the place of the server for connections that are made later, and agrees to everything.
TEST_F(StreamsTest, AServerWithoutTheKeyGetsNoWindows) {
    keyed = true;
    begin(slow);
    std::atomic<unsigned> joined = 0;
    std::atomic<unsigned> windows = 0;
    auto impostor = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(impostor.serve(hello_rpc, [](const hl::Request<HelloIn>&) { return HelloOut{}; }).ok());
    ASSERT_TRUE(impostor
                    .serve(join_rpc,
                           [&joined](const hl::Request<JoinIn>&) {
                               ++joined;
                               return JoinOut{};
                           })
                    .ok());
    ASSERT_TRUE(impostor
                    .serve(window_rpc,
                           [&windows](const hl::Request<WindowIn>&) {
                               ++windows;
                               return WindowOut{};
                           })
                    .ok());
    const auto leading = std::jthread([&](const std::stop_token& stop) {
        while (path->connections() < sockets && !stop.stop_requested()) (void)::poll(nullptr, 0, 1);
        path->lead_to(impostor.endpoints().front());
    });
    EXPECT_EQ(save().connections, 1u);
    EXPECT_EQ(joined.load(), 1u);
    EXPECT_EQ(windows.load(), 0u);
}

TEST_F(StreamsTest, ASaveLosesNothingWithAConnection) {
    begin(slow);
    const auto cutting = cut_second();
    expect_loss_of_second(save());
}

TEST_F(StreamsTest, APushLosesNothingWithAConnection) {
    begin(slow);
    const auto cutting = cut_second();
    expect_loss_of_second(save({.push = true}));
}

TEST_F(StreamsTest, AFetchLosesNothingWithAConnection) {
    begin(slow);
    (void)folder.put("root/a", content);
    const auto cutting = cut_second();
    expect_loss_of_second(fetch());
}

}  // namespace
}  // namespace cinnabar::files
