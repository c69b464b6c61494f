// SPDX-License-Identifier: BSD-3-Clause
// Limits for one client in total, however often it connects: quotas, and the rate of either side.
#include "session/client_quota.hpp"

#include "session/rate.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/when_all.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>

namespace cinnabar::files {
namespace {

using namespace std::chrono_literals;
using support::Folder;
using support::pattern;

TEST(Rate, EachTransferDelaysTheNext) {
    Rate rate(1000);
    const Rate::Clock::time_point begin(1h);
    EXPECT_EQ(rate.reserve(500, begin), 0us);
    EXPECT_EQ(rate.reserve(1000, begin), 500ms);
    EXPECT_EQ(rate.wait(begin + 1s), 500ms);
    EXPECT_EQ(rate.reserve(0, begin), 0us) << "what moves nothing waits for nothing";
    EXPECT_EQ(rate.reserve(1, begin + 2s), 0us) << "what was not used is not made up for";
    EXPECT_EQ(rate.reserve(1, begin + 2s), 1ms);
}

TEST(Rate, WithoutOneNothingWaits) {
    Rate rate;
    EXPECT_FALSE(rate.limits());
    EXPECT_EQ(rate.reserve(1u << 30, Rate::Clock::time_point(1h)), 0us);
    EXPECT_EQ(rate.reserve(1u << 30, Rate::Clock::time_point(1h)), 0us);
}

TEST(Rate, AnAbsurdSizeHasAnEnd) {
    Rate rate(1);
    EXPECT_EQ(rate.reserve(~0ull, Rate::Clock::time_point(1h)), 0us);
    EXPECT_LE(rate.wait(Rate::Clock::time_point(1h)), 366 * 24h);
}

TEST(Accounts, AClientIsItsHost) {
    EXPECT_EQ(host_of("tcp://10.0.0.5:41234"), "10.0.0.5");
    EXPECT_EQ(host_of("10.0.0.5:1"), "10.0.0.5");
    EXPECT_EQ(host_of("tcp://[2001:db8:0:1:aaaa::7]:1"), "2001:db8:0:1::/64");
    EXPECT_EQ(host_of("tcp://[2001:db8:0:1::8]:2"), "2001:db8:0:1::/64") << "it may take any address of its network";
    EXPECT_EQ(host_of("tcp://[fe80::1%eth0]:2"), "fe80::/64");
    EXPECT_EQ(host_of("tcp://[::ffff:10.0.0.5]:2"), "::ffff:10.0.0.5");
    EXPECT_EQ(host_of(""), "");
}

TEST(Accounts, ThoseWhoSavedNothingAreForgottenFirst) {
    Accounts accounts(Quota{.bytes = 100});
    const auto saver = accounts.of("saver").value();
    ASSERT_TRUE(saver->charge(1, 1).ok());
    for (std::size_t i = 1; i < Accounts::accounts_max; ++i) ASSERT_TRUE(accounts.of("idle" + std::to_string(i)).ok());
    EXPECT_EQ(accounts.count(), Accounts::accounts_max);
    EXPECT_TRUE(accounts.of("one more").ok());
    EXPECT_EQ(accounts.of("saver").value(), saver) << "it cannot begin anew";
    EXPECT_EQ(accounts.count(), 2u);
}

TEST(Accounts, TooManyAreRefused) {
    Accounts accounts(Quota{.bytes = 100});
    std::vector<std::shared_ptr<Account>> held;
    for (std::size_t i = 0; i < Accounts::accounts_max; ++i) held.push_back(accounts.of(std::to_string(i)).value());
    EXPECT_EQ(accounts.of("one more").code(), Errc::overloaded);
}

TEST(Accounts, WithoutLimitsThereAreNoAccounts) {
    Accounts accounts{Quota()};
    EXPECT_EQ(accounts.of("anybody").value(), nullptr);
    EXPECT_EQ(accounts.count(), 0u);
}

// A client that can connect again.
struct QuotaTest : testing::Test {
    static constexpr std::size_t window_bytes = 64u << 10;
    Folder folder;
    ServerOptions options;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::uint64_t rate = 0;

    void begin() {
        std::filesystem::create_directories(folder.at("root"));
        options.window_bytes = window_bytes;
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        connect();
    }
    void connect() {
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        client->limit_rate(rate);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void disconnect() {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
    }
    void connect_again() {
        disconnect();
        connect();
    }
    void TearDown() override {
        disconnect();
        there.reset();
        server.reset();
    }
    Result<Moved> save(const std::string& name, std::size_t bytes, SaveMode mode = {}) {
        return hl::sync_wait(client->save(folder.put("source", pattern(bytes)), name, mode));
    }
    // Returns how long the work takes.
    template <typename F>
    static std::chrono::duration<double> time_of(F work) {
        const auto begin = std::chrono::steady_clock::now();
        work();
        return std::chrono::steady_clock::now() - begin;
    }
};

TEST_F(QuotaTest, OfBytesIsNotEvadedByConnectingAgain) {
    options.client_bytes_max = 1000;
    begin();
    EXPECT_TRUE(save("a", 600).ok());
    connect_again();
    const auto refused = save("b", 401);
    EXPECT_EQ(refused.code(), Errc::no_space);
    EXPECT_NE(refused.error().message().find("--client-quota"), std::string::npos) << refused.error().message();
    EXPECT_TRUE(save("b", 400).ok()) << "what was refused is not counted";
    EXPECT_TRUE(save("empty", 0).ok());
    EXPECT_EQ(save("a", 1, {.existing = Existing::replace}).code(), Errc::no_space);
    EXPECT_TRUE(hl::sync_wait(client->remove("a")).ok());
    EXPECT_EQ(save("c", 1).code(), Errc::no_space) << "it is what was saved, not what is there";
}

TEST_F(QuotaTest, OfFilesCountsLinksAndNewFolders) {
    options.client_files_max = 4;
    begin();
    EXPECT_TRUE(save("a", 1).ok());
    EXPECT_TRUE(hl::sync_wait(client->make_folder("d")).ok());
    EXPECT_TRUE(hl::sync_wait(client->make_folder("d")).ok()) << "one that is there";
    EXPECT_TRUE(hl::sync_wait(client->finish_folder("d", {.mode = 0755})).ok());
    EXPECT_TRUE(hl::sync_wait(client->make_link("l", "a", {})).ok());
    EXPECT_EQ(hl::sync_wait(client->make_link("l", "a", {})).code(), Errc::exists);
    EXPECT_TRUE(hl::sync_wait(client->make_hard_link("h", "a")).ok());
    connect_again();
    const auto refused = save("b", 0);
    EXPECT_EQ(refused.code(), Errc::no_space);
    EXPECT_NE(refused.error().message().find("--client-quota-files"), std::string::npos) << refused.error().message();
    EXPECT_EQ(hl::sync_wait(client->make_link("m", "a", {})).code(), Errc::no_space);
}

TEST_F(QuotaTest, WhatFailsIsNotCounted) {
    options.client_bytes_max = 1000;
    options.client_files_max = 2;
    begin();
    EXPECT_TRUE(save("a", 500).ok());
    for (int i = 0; i < 3; ++i) EXPECT_EQ(save("a", 500).code(), Errc::exists);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(save("missing/a", 500).code(), Errc::not_found);
    EXPECT_TRUE(save("b", 500).ok());
}

TEST_F(QuotaTest, CountsEachFileOfAPack) {
    options.client_bytes_max = 1000;
    begin();
    const auto path = folder.put("small", pattern(400));
    const auto open = [path] { return SourceFile::open(path); };
    const std::vector<SmallFile> files{{open, "a"}, {open, "missing/b"}, {open, "c"}, {open, "d"}};
    const auto saved = hl::sync_wait(client->save_small(files)).value();
    EXPECT_TRUE(saved[0].ok());
    EXPECT_EQ(saved[1].code(), Errc::not_found);
    // The failed file stays charged until its pack is done, so there is no room for the last two files.
    EXPECT_TRUE(saved[2].code() == Errc::no_space && saved[3].code() == Errc::no_space);
    EXPECT_TRUE(save("c", 600).ok());
    EXPECT_EQ(save("e", 1).code(), Errc::no_space);
}

TEST_F(QuotaTest, TheRateOfAClientIsKeptInBothDirections) {
    rate = 1u << 20;
    begin();
    constexpr std::size_t bytes = 6 * window_bytes;
    const auto at_least = std::chrono::duration<double>(5.0 * window_bytes / (1u << 20));
    EXPECT_GE(time_of([&] { EXPECT_TRUE(save("a", bytes).ok()); }), at_least);
    EXPECT_GE(time_of([&] { EXPECT_TRUE(save("b", bytes, {.push = true}).ok()); }), at_least);
    const auto into = Root::open(folder.path().string()).value();
    EXPECT_GE(time_of([&] { EXPECT_TRUE(hl::sync_wait(client->fetch("a", into)).ok()); }), at_least);
    EXPECT_EQ(folder.get("a"), pattern(bytes));
}

TEST_F(QuotaTest, TheRateOfAServerIsNotEvadedByConnectingAgain) {
    options.client_bytes_per_second = 1u << 20;
    begin();
    constexpr std::size_t bytes = 3 * window_bytes;
    // The first window does not wait.
    const auto at_least = std::chrono::duration<double>(11.0 * window_bytes / (1u << 20));
    EXPECT_GE(time_of([&] {
                  EXPECT_TRUE(save("a", bytes).ok());
                  connect_again();
                  EXPECT_TRUE(save("b", bytes, {.push = true}).ok());
                  connect_again();
                  const auto into = Root::open(folder.path().string()).value();
                  EXPECT_TRUE(hl::sync_wait(client->fetch("a", into)).ok());
                  connect_again();
                  EXPECT_TRUE(save("c", bytes).ok());
              }),
              at_least);
    EXPECT_EQ(folder.get("a"), pattern(bytes));
}

TEST_F(QuotaTest, AWindowThatWouldWaitTooLongIsRefused) {
    options.client_bytes_per_second = 1;
    begin();
    const auto refused = save("a", 2 * window_bytes);
    EXPECT_EQ(refused.code(), Errc::overloaded);
    EXPECT_NE(refused.error().message().find("--rate"), std::string::npos) << refused.error().message();
}

}  // namespace
}  // namespace cinnabar::files
