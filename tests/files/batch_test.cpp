// SPDX-License-Identifier: BSD-3-Clause
// A client that makes and removes many entries: each one has a result of its own, and few calls are made.
#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;

struct BatchTest : testing::Test {
    Folder folder;
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;

    void begin() {
        server = Server::make(Root::serve(folder.path().string()).value(), std::nullopt, options).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void TearDown() override {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
        there.reset();
    }
    std::vector<Errc> make(const std::vector<NewEntry>& entries) {
        return codes_of(hl::sync_wait(client->make_many(entries)).value());
    }
    std::vector<Errc> remove(const std::vector<std::string>& names) {
        return codes_of(hl::sync_wait(client->remove_many(names)).value());
    }
    static std::vector<Errc> codes_of(const std::vector<Result<void>>& results) {
        std::vector<Errc> codes;
        for (const auto& result : results) codes.push_back(result.code());
        return codes;
    }
    [[nodiscard]] std::uint64_t calls(const std::string& rpc) const {
        for (const auto& counts : here->stats()) {
            if (counts.name == rpc) return counts.calls;
        }
        return 0;
    }
    [[nodiscard]] static NewEntry link(std::string name) { return {MakeKind::link, std::move(name), "to", {}, false}; }
};

TEST_F(BatchTest, ManyEntriesNeedFewCalls) {
    constexpr std::size_t all = 200;
    begin();
    std::vector<NewEntry> entries;
    std::vector<std::string> names;
    entries.push_back({MakeKind::folder, "d", {}, {}, false});
    for (std::size_t i = 0; i < all; ++i) {
        names.push_back("d/" + std::to_string(i));
        entries.push_back(link(names.back()));
    }
    entries[7].name = "none/7";
    auto expected = std::vector<Errc>(all + 1, Errc::ok);
    expected[7] = Errc::not_found;
    EXPECT_EQ(make(entries), expected);
    EXPECT_EQ(calls("cinnabar.save.make_many"), 4u);
    EXPECT_EQ(calls("cinnabar.save.make"), 0u);
    EXPECT_EQ(fs::read_symlink(folder.at("d/199")), "to");
    names.emplace_back("d");
    expected = std::vector<Errc>(all + 1, Errc::ok);
    expected[6] = Errc::not_found;
    EXPECT_EQ(remove(names), expected);
    EXPECT_EQ(calls("cinnabar.save.remove_many"), 4u);
    EXPECT_EQ(Folder::list_of(folder.path()), std::vector<std::string>{".cinnabar-staging"});
}

TEST_F(BatchTest, WhatDoesNotFitIsMadeByItselfAndInOrder) {
    begin();
    NewEntry finish{MakeKind::finish_folder, "d", {}, {}, false};
    finish.attributes.mode = 0750;
    const std::string too_long(5000, 'x');
    // The folder is there before its attributes, which come in another call because the name is the same.
    EXPECT_EQ(make({{MakeKind::folder, "d", {}, {}, false}, finish, link("a"), link(too_long), link("b"), link("c")}),
              (std::vector<Errc>{Errc::ok, Errc::ok, Errc::ok, Errc::too_large, Errc::ok, Errc::ok}));
    EXPECT_EQ(fs::status(folder.at("d")).permissions(), fs::perms{0750});
    EXPECT_EQ(fs::read_symlink(folder.at("c")), "to");
    EXPECT_EQ(remove({"a", "a", too_long, "b", "c"}),
              (std::vector<Errc>{Errc::ok, Errc::not_found, Errc::too_large, Errc::ok, Errc::ok}));
    EXPECT_TRUE(make({}).empty());
    EXPECT_TRUE(remove({}).empty());
}

TEST_F(BatchTest, AServerThatTakesFewAtOnceIsAskedOneByOne) {
    options.session_files_max = 4;
    begin();
    std::vector<NewEntry> entries;
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) {
        names.push_back(std::to_string(i));
        entries.push_back(link(names.back()));
    }
    EXPECT_EQ(make(entries), std::vector<Errc>(10, Errc::ok));
    EXPECT_EQ(remove(names), std::vector<Errc>(10, Errc::ok));
    EXPECT_EQ(calls("cinnabar.save.make_many"), 1u) << "and is not asked for many again";
}

TEST_F(BatchTest, AServerThatIsEndingMakesNoMore) {
    begin();
    ASSERT_TRUE(server->drain(std::chrono::seconds(0)));
    EXPECT_EQ(make({link("a"), link("b")}), std::vector<Errc>(2, Errc::shutting_down));
    EXPECT_EQ(remove({"a", "b"}), std::vector<Errc>(2, Errc::shutting_down));
}

// A server that lies about what it has done.
struct LyingMakerTest : testing::Test {
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    BatchOut told;

    template <typename R, typename H>
    void serve(const R& rpc, H handler) {
        ASSERT_TRUE(there.serve(rpc, std::move(handler)).ok());
    }
    void SetUp() override {
        serve(hello_rpc, [](const HelloIn&) { return HelloOut{protocol_version, false, {}}; });
        serve(login_rpc, [](const LoginIn&) { return LoginOut{{}, {}, 1u << 20, 1}; });
        serve(hold_rpc, [](hl::Request<HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serve(make_many_rpc, [this](const MakeManyIn&) { return told; });
    }
    static hl::Task<std::vector<Result<void>>> open_and_make(Client& session, const std::vector<NewEntry>& entries) {
        std::vector<Result<void>> made;
        if (auto opened = co_await session.open(); opened) made = co_await session.make_many(entries);
        co_await session.close();
        co_return made;
    }
    std::vector<Result<void>> make() {
        const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
        const std::vector<NewEntry> two{{MakeKind::folder, "a", {}, {}, false}, {MakeKind::folder, "b", {}, {}, false}};
        return hl::sync_wait(open_and_make(session, two)).value();
    }
};

TEST_F(LyingMakerTest, AnswersForOtherEntriesAreRefused) {
    for (const std::size_t count : {0u, 1u, 3u, 1000u}) {
        told.outcomes.assign(count, {});
        const auto made = make();
        ASSERT_EQ(made.size(), 2u);
        for (const auto& one : made) EXPECT_EQ(one.code(), Errc::protocol) << count;
    }
}

TEST_F(LyingMakerTest, ReasonsAreToldAsTheServersAndAreFitToPrint) {
    told.outcomes = {{static_cast<Errc>(4), "x"}, {Errc::io, "no \x1b[2J"}};
    const auto made = make();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].code(), Errc::protocol) << "an error that nobody knows";
    EXPECT_EQ(made[1].code(), Errc::io);
    const auto message = made[1].error().message();
    EXPECT_EQ(message.find('\x1b'), message.npos) << message;
    EXPECT_NE(message.find("the server says"), message.npos) << message;
}

}  // namespace
}  // namespace cinnabar::files
