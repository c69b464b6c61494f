// SPDX-License-Identifier: BSD-3-Clause
// The server of the save service, called by a client that does not keep to the protocol.
#include "session/server.hpp"

#include "folder.hpp"
#include "session/protocol.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>

namespace cinnabar::tools {
namespace {

struct ServerTest : testing::Test {
    Folder folder;
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    na::Addr to;
    Token token;

    void begin() {
        server = Server::make(Root::serve(folder.path().string()).value(), std::nullopt, options, nullptr).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://").value();
        to = here->lookup(there->endpoints().front()).value();
        HelloIn hello;
        hello.version = protocol_version;
        const auto greeted = here->call_sync(hello_rpc, to, hello);
        ASSERT_TRUE(greeted.ok()) << greeted.error().message();
        LoginIn login;
        login.challenge = greeted->challenge;
        token = here->call_sync(login_rpc, to, login).value().token;
    }
    void TearDown() override {
        here.reset();
        there.reset();
    }
    [[nodiscard]] std::uint64_t open(const std::string& name, std::uint64_t bytes) const {
        OpenIn in;
        in.token = token;
        in.name = name;
        in.bytes = bytes;
        in.mode = 0600;
        return here->call_sync(open_rpc, to, in).value().file;
    }
    [[nodiscard]] Result<void> send(std::uint64_t file, std::uint64_t offset, std::size_t bytes) const {
        std::vector<std::byte> content(bytes);
        WindowIn in;
        in.token = token;
        in.file = file;
        in.offset = offset;
        in.window = hl::Bulk(bulk::Region::expose(ConstBytes(content)).value(), na::Access::read);
        hl::CallOptions call;
        call.deadline = std::chrono::seconds(60);
        auto sent = here->call_sync(window_rpc, to, in, call);
        if (!sent) return from_remote(std::move(sent).error());
        return sent;
    }
};

// A client that is asked to fill the server's buffers.
struct PushTest : ServerTest {
    using Fill = std::function<hl::Task<Result<void>>(hl::Request<FillIn> request)>;
    void fills(Fill fill) { ASSERT_TRUE(here->serve(fill_rpc, std::move(fill)).ok()); }
    [[nodiscard]] Result<void> push(std::uint64_t file, std::uint64_t offset) const {
        PushIn in;
        in.token = token;
        in.file = file;
        in.offset = offset;
        auto pushed = here->call_sync(push_rpc, to, in);
        if (!pushed) return from_remote(std::move(pushed).error());
        return pushed;
    }
};

TEST_F(PushTest, WhatIsNotifiedIsWrittenAndAnotherWindowRefused) {
    begin();
    const std::string content = pattern(1000);
    fills([&content](hl::Request<FillIn> request) -> hl::Task<Result<void>> {
        hl::TransferOptions how;
        how.notify = request->notice;
        auto moved = co_await request->buffer.push(as_bytes(content), how);
        if (!moved) co_return std::move(moved).error();
        co_return Result<void>();
    });
    OpenIn in;
    in.token = token;
    in.name = "name";
    in.bytes = content.size();
    in.mode = 0600;
    in.checked = false;
    CommitIn commit;
    commit.token = token;
    commit.file = here->call_sync(open_rpc, to, in).value().file;
    EXPECT_TRUE(push(commit.file, 0).ok());
    EXPECT_TRUE(here->call_sync(commit_rpc, to, commit).ok());
    EXPECT_EQ(folder.get("name"), content);
    EXPECT_EQ(push(open("other", 1000), 500).code(), Errc::invalid_argument) << "no such window";
}

TEST_F(PushTest, AnAnswerWithoutItsNotificationEndsTheFile) {
    begin();
    fills([](hl::Request<FillIn>) -> hl::Task<Result<void>> { co_return Result<void>(); });
    const auto file = open("name", 1000);
    EXPECT_EQ(push(file, 0).code(), Errc::protocol);
    EXPECT_NE(open("name", 10), file) << "its name is free again";
}

TEST_F(PushTest, AClientThatCannotBeAskedSaysWhy) {
    begin();
    EXPECT_EQ(push(open("name", 1000), 0).code(), Errc::no_such_rpc);
}

TEST_F(ServerTest, AFailedUploadLetsItsNameGoAndSaysWhy) {
    begin();
    const auto first = open("name", 1000);
    EXPECT_EQ(send(first, 500, 500).code(), Errc::invalid_argument) << "no such window";
    const auto second = open("name", 10);
    EXPECT_TRUE(send(second, 0, 10).ok());
    EXPECT_EQ(send(first, 0, 1000).code(), Errc::invalid_argument) << "the first one's reason, as before";
    CommitIn commit;
    commit.token = token;
    commit.file = first;
    EXPECT_EQ(from_remote(here->call_sync(commit_rpc, to, commit).error()).code, Errc::invalid_argument);
}

TEST_F(ServerTest, WithoutItsFolderForUnfinishedFilesItSaysSo) {
    begin();
    std::filesystem::remove_all(folder.path() / ".cinnabar-staging");
    OpenIn in;
    in.token = token;
    in.name = "name";
    in.mode = 0600;
    EXPECT_EQ(from_remote(here->call_sync(open_rpc, to, in).error()).code, Errc::io);
}

TEST_F(ServerTest, AWindowWhoseForerunnerNeverComesTimesOut) {
    options.gap_seconds_max = 1;
    begin();
    const std::uint64_t file = open("a", 2 * options.window_bytes);
    const auto second = send(file, options.window_bytes, options.window_bytes);
    EXPECT_EQ(second.code(), Errc::timed_out) << second.error().message();
    EXPECT_EQ(send(file, 0, options.window_bytes).code(), Errc::timed_out) << "the file has ended";
}

}  // namespace
}  // namespace cinnabar::tools
