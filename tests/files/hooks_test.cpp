// SPDX-License-Identifier: BSD-3-Clause
// Hooks of a program that embeds the service: who may save and fetch what, and what happens to a file before and after
// it gets its name.
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

using support::Folder;

struct HooksTest : testing::Test {
    Folder folder;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;

    void begin() {
        std::filesystem::create_directory(folder.at("here"));
        (void)folder.put("here/a", "the content of a");
        std::filesystem::create_directory(folder.at("root"));
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, {}, hooks).value();
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
    Result<Moved> save(const std::string& name, SaveMode mode = {}) {
        return hl::sync_wait(client->save(folder.at("here/a"), name, mode));
    }
    Result<Moved> fetch(const std::string& name) {
        const auto into = Root::open(folder.at("here")).value();
        return hl::sync_wait(client->fetch(name, into));
    }
};

TEST_F(HooksTest, WhatTheProgramForbidsIsNeitherMadeNorRead) {
    std::vector<std::string> asked;
    hooks.may_access = [&](const AccessRequest& access) -> Result<void> {
        asked.push_back(std::string(access.name) + (access.kind == AccessRequest::Kind::save ? " s" : " f") +
                        std::to_string(access.bytes) + (access.replace ? " r" : ""));
        if (access.name.starts_with("own-")) return {};
        return Error{Errc::permission, "not yours"};
    };
    begin();
    const auto refused = save("other");
    EXPECT_EQ(refused.code(), Errc::permission);
    EXPECT_NE(refused.error().message().find("not yours"), std::string::npos) << refused.error().message();
    EXPECT_FALSE(std::filesystem::exists(folder.at("root/other")));
    EXPECT_TRUE(save("own-a", {.existing = Existing::replace}).ok());
    (void)folder.put("root/other", "somebody's");
    EXPECT_EQ(fetch("other").code(), Errc::permission);
    EXPECT_FALSE(std::filesystem::exists(folder.at("here/other")));
    EXPECT_TRUE(fetch("own-a").ok());
    EXPECT_EQ(asked, (std::vector<std::string>{"other s16", "own-a s16 r", "other f0", "own-a f0"}));
}

TEST_F(HooksTest, LinksAreAskedForAsSuchAndWithWhatTheyLeadTo) {
    std::vector<std::string> asked;
    hooks.may_access = [&](const AccessRequest& access) -> Result<void> {
        using Kind = AccessRequest::Kind;
        const std::string name(access.name);
        const std::string target(access.target);
        if (access.kind == Kind::make) asked.push_back("folder " + name + target);
        if (access.kind == Kind::link) asked.push_back("link " + name + " -> " + target);
        if (access.kind == Kind::hard_link) asked.push_back("hard link " + name + " = " + target);
        if (access.kind == Kind::fetch) asked.push_back("fetch " + name + target);
        if (access.kind == Kind::link && target.find("..") != target.npos) return Error{Errc::permission, "a way out"};
        if (name.starts_with("own/") || name == "own") return {};
        return Error{Errc::permission, "not yours"};
    };
    begin();
    std::filesystem::create_directory(folder.at("root/other"));
    (void)folder.put("root/other/secret", "somebody's");
    EXPECT_TRUE(hl::sync_wait(client->make_folder("own")).ok());
    EXPECT_EQ(hl::sync_wait(client->make_link("own/up", "..", {})).code(), Errc::permission);
    EXPECT_EQ(hl::sync_wait(client->make_hard_link("own/copy", "other/secret")).code(), Errc::permission);
    EXPECT_EQ(hl::sync_wait(client->make_hard_link("other/copy", "own/a")).code(), Errc::permission);
    EXPECT_EQ(asked, (std::vector<std::string>{"folder own", "link own/up -> ..", "hard link own/copy = other/secret",
                                               "fetch other/secret", "hard link other/copy = own/a"}));
    EXPECT_TRUE(std::filesystem::is_empty(folder.at("root/own")));
    EXPECT_TRUE(save("own/a").ok());
    EXPECT_TRUE(hl::sync_wait(client->make_hard_link("own/b", "own/a")).ok());
    EXPECT_TRUE(hl::sync_wait(client->make_link("own/c", "a", {})).ok());
    EXPECT_EQ(folder.get("root/own/b"), "the content of a");
    EXPECT_EQ(folder.get("root/own/c"), "the content of a");
}

TEST_F(HooksTest, AStagedFileIsReadBeforeItHasItsNameAndMayBeRefused) {
    std::mutex mutex;
    std::string content;
    bool had_name = false;
    std::optional<std::uint64_t> checksum;
    hooks.before_naming = [&](const StagedFile& staged) -> Result<void> {
        const std::lock_guard lock(mutex);
        content.resize(staged.bytes);
        if (::pread(staged.fd, content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
            return Error{Errc::io, "cannot be read"};
        had_name = std::filesystem::exists(folder.at("root/" + std::string(staged.name)));
        checksum = staged.checksum;
        if (staged.name == "infected") return Error{Errc::permission, "it is infected"};
        return {};
    };
    begin();
    const auto clean = save("clean");
    ASSERT_TRUE(clean.ok()) << clean.error().message();
    EXPECT_EQ(content, "the content of a");
    EXPECT_FALSE(had_name);
    EXPECT_EQ(checksum, clean->checksum);
    EXPECT_EQ(save("infected").code(), Errc::permission);
    EXPECT_FALSE(std::filesystem::exists(folder.at("root/infected")));
    EXPECT_TRUE(std::filesystem::is_empty(folder.at("root/.cinnabar-staging")));
    EXPECT_TRUE(save("unchecked", {.checked = false}).ok());
    EXPECT_EQ(checksum, std::nullopt);
}

TEST_F(HooksTest, WhatHasEndedIsTold) {
    std::mutex mutex;
    std::vector<std::string> told;
    hooks.ended = [&](const ServerEvent& event) {
        const std::lock_guard lock(mutex);
        const bool there_now = std::filesystem::exists(folder.at("root/" + event.name));
        told.push_back(std::to_string(static_cast<int>(event.kind)) + event.name + (there_now ? " is there" : ""));
    };
    begin();
    EXPECT_TRUE(save("a").ok());
    EXPECT_EQ(save("a").code(), Errc::exists);
    EXPECT_EQ(fetch("b").code(), Errc::not_found);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(told, (std::vector<std::string>{"0a is there", "2a is there", "2b"}));
}

// Windows in holes, and windows before, between and behind them, transferred by either side.
TEST_F(HooksTest, ASparseFileGoesThereAndBackAsOne) {
    begin();
    constexpr std::size_t bytes = (9u << 20) + 5;
    std::string content(bytes, '\0');
    content[0] = 'a';
    content[4u << 20] = 'b';
    content[bytes - 1] = 'c';
    (void)folder.put("here/a", "");
    ASSERT_EQ(::truncate(folder.at("here/a").c_str(), bytes), 0);
    std::fstream file(folder.at("here/a"), std::ios::in | std::ios::out | std::ios::binary);
    for (const std::size_t at : {std::size_t{0}, std::size_t{4u << 20}, bytes - 1}) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(content[at]);
    }
    file.close();
    for (const bool push : {false, true}) {
        const std::string name = push ? "pushed" : "pulled";
        const auto saved = save(name, {.push = push});
        ASSERT_TRUE(saved.ok()) << saved.error().message();
        EXPECT_TRUE(folder.get("root/" + name) == content);
        const auto fetched = fetch(name);
        ASSERT_TRUE(fetched.ok()) << fetched.error().message();
        EXPECT_EQ(fetched->checksum, saved->checksum);
        EXPECT_TRUE(folder.get("here/" + name) == content);
        for (const auto* side : {"root/", "here/"}) {
            struct stat status {};
            ASSERT_EQ(::stat(folder.at(side + name).c_str(), &status), 0);
            EXPECT_LT(status.st_blocks * 512, 64 << 10) << side << name;
        }
    }
}

}  // namespace
}  // namespace cinnabar::files
