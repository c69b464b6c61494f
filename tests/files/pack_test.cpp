// SPDX-License-Identifier: BSD-3-Clause
// Many small files in one call: each one has a result of its own.
#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

struct PackTest : testing::Test {
    Folder folder;
    ServerOptions options;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::vector<std::pair<ServerEvent::Kind, std::string>> events;

    void begin() {
        fs::create_directories(folder.at("root/d"));
        fs::create_directory(folder.at("here"));
        hooks.ended = [this](const ServerEvent& event) { events.emplace_back(event.kind, event.name); };
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options, hooks).value();
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
    // A local file with this content, to be saved as `name`.
    SmallFile small(const std::string& name, const std::string& content) const {
        auto leaf = name;
        std::ranges::replace(leaf, '/', '_');
        auto path = folder.put("here/" + leaf, content);
        return {[path] { return SourceFile::open(path); }, name};
    }
    std::vector<Result<Moved>> save(const std::vector<SmallFile>& files, SaveMode mode = {}) {
        return hl::sync_wait(client->save_small(files, mode)).value();
    }
    bool staging_is_empty() const { return fs::is_empty(folder.at("root/.cinnabar-staging")); }
};

TEST_F(PackTest, ManyFilesOfEverySizeHaveTheirNamesAndContents) {
    begin();
    for (const auto sync : {Sync::each, Sync::batch, Sync::none}) {
        std::map<std::string, std::string> contents;
        std::vector<SmallFile> files;
        for (unsigned i = 0; i < small_files_max; ++i) {
            const auto name = (i % 2 ? "d/" : "") + std::to_string(i) + "-" + std::to_string(static_cast<int>(sync));
            contents[name] = pattern(i * 251, i + 1);
            files.push_back(small(name, contents[name]));
        }
        const auto saved = save(files, {.exact = true, .sync = sync});
        ASSERT_EQ(saved.size(), files.size());
        for (std::size_t i = 0; i < saved.size(); ++i) {
            ASSERT_TRUE(saved[i].ok()) << files[i].name << ": " << saved[i].error().message();
            EXPECT_EQ(saved[i]->bytes, contents[files[i].name].size());
            const auto seen = hl::sync_wait(client->verify(files[i].name)).value();
            EXPECT_EQ(seen.checksum, saved[i]->checksum);
        }
        for (const auto& [name, content] : contents) EXPECT_EQ(folder.get("root/" + name), content) << name;
        EXPECT_TRUE(staging_is_empty());
    }
    EXPECT_EQ(events.size(), 3 * small_files_max);
}

TEST_F(PackTest, TheEndOfOneIsNotThatOfTheOthers) {
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.name == "forbidden") return Error{Errc::permission, "not yours"};
        return {};
    };
    hooks.before_naming = [](const StagedFile& staged) -> Result<void> {
        char first = 0;
        EXPECT_EQ(::pread(staged.fd, &first, 1, 0), 1);
        if (first == '!') return Error{Errc::permission, "it is infected"};
        return {};
    };
    begin();
    (void)folder.put("root/there", "old");
    std::vector<SmallFile> files{small("good", "1"), small("there", "2"),     small("none/x", "3"), small("../x", "4"),
                                 small("d", "5"),    small("forbidden", "6"), small("virus", "!"),  small("last", "8")};
    files.push_back({[] { return SourceFile::open("/nowhere/at/all"); }, "missing"});
    const auto saved = save(files);
    const std::vector<Errc> expected{
        Errc::ok,         Errc::exists,     Errc::not_found, Errc::permission, Errc::invalid_argument,
        Errc::permission, Errc::permission, Errc::ok,        Errc::not_found};
    for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(saved[i].code(), expected[i]) << files[i].name;
    EXPECT_NE(saved[5].error().message().find("not yours"), std::string::npos) << saved[5].error().message();
    EXPECT_NE(saved[6].error().message().find("infected"), std::string::npos) << saved[6].error().message();
    EXPECT_EQ(folder.get("root/good"), "1");
    EXPECT_EQ(folder.get("root/last"), "8");
    EXPECT_EQ(folder.get("root/there"), "old");
    EXPECT_FALSE(fs::exists(folder.at("root/virus")));
    EXPECT_TRUE(staging_is_empty());
    EXPECT_EQ(save({small("there", "new"), small("more", "x")}, {.existing = Existing::replace})[0].code(), Errc::ok);
    EXPECT_EQ(folder.get("root/there"), "new");
}

TEST_F(PackTest, WhatDoesNotFitIsSavedByItself) {
    options.window_bytes = 64 << 10;
    begin();
    const std::vector<SmallFile> files{small("a", pattern(40 << 10)), small("b", pattern(40 << 10, 2)), small("c", "x"),
                                       small("large", pattern(small_file_bytes_max + 1))};
    for (const auto& saved : save(files)) EXPECT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(folder.get("root/a"), pattern(40 << 10));
    EXPECT_EQ(folder.get("root/b"), pattern(40 << 10, 2));
    EXPECT_EQ(folder.get("root/large"), pattern(small_file_bytes_max + 1));
}

TEST_F(PackTest, AServerThatTakesFewAtOnceGetsThemOneByOne) {
    options.session_files_max = 4;
    begin();
    std::vector<SmallFile> files;
    for (int i = 0; i < 10; ++i) files.push_back(small(std::to_string(i), "x"));
    for (const auto& saved : save(files)) EXPECT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(folder.get("root/9"), "x");
}

TEST_F(PackTest, WithoutChecksumsThereAreNone) {
    begin();
    const auto saved = save({small("a", "x"), small("b", "y")}, {.checked = false});
    EXPECT_FALSE(saved.at(0)->checksum);
    EXPECT_EQ(hl::sync_wait(client->look("a"))->stored.state, StoredChecksum::State::none);
}

TEST_F(PackTest, WhatWasSavedWithoutAnAnswerIsFoundAgain) {
    begin();
    ASSERT_TRUE(save({small("a", "x"), small("b", "y")}).at(0).ok());
    const auto again = save({small("a", "x"), small("b", "other")}, {.again = true});
    EXPECT_TRUE(again.at(0).ok());
    EXPECT_EQ(again.at(1).code(), Errc::exists);
}

}  // namespace
}  // namespace cinnabar::files
