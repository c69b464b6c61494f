// SPDX-License-Identifier: BSD-3-Clause
// Looking at what a server has, removing it, and verifying that it is still what was saved.
#include "file/stored_checksum.hpp"
#include "support/content.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using State = StoredChecksum::State;

struct ManageTest : testing::Test {
    Folder folder;
    ServerOptions options;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;

    void SetUp() override {
        fs::create_directories(folder.at("root/folder/inner"));
        (void)folder.put("a", "the content of a");
        begin();
    }
    void begin() {
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options, hooks).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void end() {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
        there.reset();
        server.reset();
    }
    void TearDown() override { end(); }
    Result<Moved> save(const std::string& name, SaveMode mode = {}) {
        return hl::sync_wait(client->save(folder.at("a"), name, mode));
    }
    Result<Seen> look(const std::string& name) { return hl::sync_wait(client->look(name)); }
    Result<void> remove(const std::string& name) { return hl::sync_wait(client->remove(name)); }
    Result<Verified> verify(const std::string& name) { return hl::sync_wait(client->verify(name)); }
    // Damages a byte without changing the time of modification, as a failing disk does.
    void rot(const std::string& name) const {
        const UniqueFd file(::open(folder.at("root/" + name).c_str(), O_WRONLY | O_CLOEXEC));
        struct stat status {};
        ASSERT_EQ(::fstat(file.get(), &status), 0);
        ASSERT_EQ(::pwrite(file.get(), "X", 1, 4), 1);
        const timespec times[2] = {{0, UTIME_OMIT}, status.st_mtim};
        ASSERT_EQ(::futimens(file.get(), times), 0);
    }
    bool keeps_attributes() const { return ::setxattr(folder.at("root").c_str(), "user.try", "x", 1, 0) == 0; }
};

TEST_F(ManageTest, TheStoredChecksumFindsDamageAfterARestart) {
    if (!keeps_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
    const auto saved = save("f");
    ASSERT_TRUE(saved.ok());
    EXPECT_EQ(look("f")->stored.state, State::good);
    EXPECT_EQ(look("f")->stored.checksum, saved->checksum);
    end();
    begin();
    const auto whole = verify("f");
    ASSERT_TRUE(whole.ok()) << whole.error().message();
    EXPECT_FALSE(whole->damaged());
    EXPECT_EQ(whole->checksum, saved->checksum);
    EXPECT_EQ(whole->stored.checksum, saved->checksum);
    rot("f");
    const auto damaged = verify("f");
    ASSERT_TRUE(damaged.ok());
    EXPECT_TRUE(damaged->damaged());
    EXPECT_NE(damaged->checksum, saved->checksum);
}

TEST_F(ManageTest, TheStoredChecksumTellsWhatAFileWasSavedFrom) {
    if (!keeps_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
    const auto saved_from_a = [&](const std::string& name) {
        return hl::sync_wait(client->was_saved_from([&] { return SourceFile::open(folder.at("a")); }, name));
    };
    ASSERT_TRUE(save("f").ok());
    EXPECT_TRUE(saved_from_a("f").value());
    EXPECT_EQ(saved_from_a("none").code(), Errc::not_found);
    EXPECT_FALSE(saved_from_a("folder").value());
    (void)folder.put("a", "THE CONTENT OF A");
    EXPECT_FALSE(saved_from_a("f").value()) << "of equal size";
    (void)folder.put("a", "the content of a");
    EXPECT_TRUE(saved_from_a("f").value());
    (void)folder.put("root/f", "THE CONTENT OF A");
    EXPECT_FALSE(saved_from_a("f").value()) << "modified since, so nothing is known";
    ASSERT_TRUE(save("g", {.checked = false}).ok());
    EXPECT_FALSE(saved_from_a("g").value());
}

TEST_F(ManageTest, AFileIsVerifiedInAsManyStepsAsItsDiskNeeds) {
    end();
    options.sum_step = std::chrono::milliseconds(0);
    begin();
    (void)folder.put("a", support::pattern((5u << 20) / 2));
    const auto saved = save("f");
    ASSERT_TRUE(saved.ok());
    const auto verified = verify("f");
    ASSERT_TRUE(verified.ok()) << verified.error().message();
    EXPECT_EQ(verified->bytes, (5u << 20) / 2);
    EXPECT_EQ(verified->checksum, saved->checksum);
    EXPECT_FALSE(verified->damaged());
}

TEST_F(ManageTest, AFileThatItsOwnerMayNotWriteKeepsItsChecksum) {
    if (!keeps_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
    const auto path = folder.at("a");
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    }
    ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const support::AsNobody nobody;
    EXPECT_TRUE(store_checksum(file.get(), 7));
    EXPECT_EQ(read_stored_checksum(file.get()).state, State::good);
    struct stat status {};
    ASSERT_EQ(::fstat(file.get(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0444u);
}

TEST_F(ManageTest, WhoWritesToAFileOutdatesItsChecksum) {
    if (!keeps_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
    ASSERT_TRUE(save("f").ok());
    (void)folder.put("root/f", "something else");
    EXPECT_EQ(look("f")->stored.state, State::outdated);
    const auto verified = verify("f");
    ASSERT_TRUE(verified.ok());
    EXPECT_FALSE(verified->damaged());
    ASSERT_TRUE(save("g", {.checked = false}).ok());
    EXPECT_EQ(look("g")->stored.state, State::none);
    ASSERT_TRUE(save("g", {.existing = Existing::replace, .exact = true}).ok());
    EXPECT_EQ(look("g")->stored.state, State::good) << "with the time of its source";
    (void)folder.put("root/h", "not saved here");
    EXPECT_EQ(look("h")->stored.state, State::none);
    ASSERT_EQ(::setxattr(folder.at("root/h").c_str(), "user.cinnabar.checksum", "nonsense", 8, 0), 0);
    EXPECT_EQ(look("h")->stored.state, State::none);
}

// Otherwise a client could make damage look like what was saved.
TEST_F(ManageTest, ClientsNeitherSeeNorSetIt) {
    if (!keeps_attributes()) GTEST_SKIP() << "the file system keeps no extended attributes";
    ASSERT_TRUE(save("f").ok());
    EXPECT_TRUE(hl::sync_wait(client->look("f", {.user = true}))->entry.attributes.extended.empty());
    Attributes forged;
    forged.mode = 0700;
    forged.extended = {{"user.cinnabar.checksum", "forged"}};
    EXPECT_EQ(hl::sync_wait(client->finish_folder("folder", forged)).code(), Errc::permission);
    ASSERT_EQ(::setxattr(folder.at("a").c_str(), "user.cinnabar.checksum", "forged", 6, 0), 0);
    EXPECT_TRUE(save("g", {.exact = true, .extended = {.user = true}}).ok());
    EXPECT_EQ(look("g")->stored.state, State::good);
}

TEST_F(ManageTest, ANameIsLookedAtWithoutFollowingIt) {
    fs::create_symlink("folder", folder.at("root/link"));
    EXPECT_EQ(look("folder")->entry.kind, EntryKind::folder);
    EXPECT_EQ(look("link")->entry.kind, EntryKind::link);
    EXPECT_EQ(look("link")->entry.target, "folder");
    ASSERT_TRUE(save("folder/f").ok());
    EXPECT_EQ(look("folder/f")->entry.bytes, 16u);
    EXPECT_EQ(look("link/f")->entry.bytes, 16u);
    EXPECT_EQ(look("none").code(), Errc::not_found);
    EXPECT_EQ(look("../a").code(), Errc::permission);
    EXPECT_EQ(look("/etc/passwd").code(), Errc::permission);
    EXPECT_EQ(look(".cinnabar-staging").code(), Errc::permission);
}

TEST_F(ManageTest, WhatIsRemovedIsGoneAndNothingElse) {
    ASSERT_TRUE(save("folder/f").ok());
    fs::create_symlink("folder", folder.at("root/link"));
    const auto refused = remove("folder");
    EXPECT_EQ(refused.code(), Errc::busy);
    EXPECT_NE(refused.error().message().find("not empty"), std::string::npos) << refused.error().message();
    EXPECT_TRUE(remove("link").ok());
    EXPECT_TRUE(fs::exists(folder.at("root/folder/f"))) << "the link, not what it leads to";
    EXPECT_TRUE(remove("folder/f").ok());
    EXPECT_TRUE(remove("folder/inner").ok());
    EXPECT_TRUE(remove("folder").ok());
    EXPECT_EQ(remove("folder").code(), Errc::not_found);
    EXPECT_EQ(Folder::list_of(folder.at("root")), (std::vector<std::string>{".cinnabar-staging"}));
    ASSERT_EQ(::mkfifo(folder.at("root/pipe").c_str(), 0600), 0);
    EXPECT_EQ(remove("pipe").code(), Errc::invalid_argument);
    for (const std::string name : {"../a", "/tmp", "", ".", ".cinnabar-staging", "pipe/x"})
        EXPECT_FALSE(remove(name).ok());
    EXPECT_TRUE(fs::exists(folder.at("a")));
    EXPECT_TRUE(fs::exists(folder.at("root/.cinnabar-staging")));
}

TEST_F(ManageTest, AClientSaysWhereNoLinkIsFollowed) {
    ASSERT_TRUE(save("folder/inner/f").ok());
    fs::create_symlink("inner", folder.at("root/folder/link"));
    const auto list = [&](const std::string& name, std::optional<std::string_view> below) {
        return hl::sync_wait(client->list(name, {}, below)).code();
    };
    EXPECT_NE(list("folder/link", {}), Errc::ok) << "a link is no folder";
    EXPECT_EQ(list("folder/inner", "folder"), Errc::ok);
    EXPECT_EQ(list("folder/link", "folder"), Errc::permission);
    EXPECT_EQ(list("folder/inner", "other"), Errc::invalid_argument);
    const std::string through = "folder/link/f";
    EXPECT_EQ(hl::sync_wait(client->remove(through, "folder")).code(), Errc::permission);
    EXPECT_TRUE(fs::exists(folder.at("root/folder/inner/f")));
    EXPECT_TRUE(hl::sync_wait(client->remove(through)).ok()) << "otherwise links that stay inside are followed";
    const std::string link = "folder/link";
    EXPECT_TRUE(hl::sync_wait(client->remove(link, "folder")).ok());
    EXPECT_TRUE(fs::exists(folder.at("root/folder/inner")));
}

TEST_F(ManageTest, AReadOnlyServerRemovesNothing) {
    end();
    (void)folder.put("root/f", "x");
    server = Server::make(Root::serve_read_only(folder.at("root")).value(), std::nullopt).value();
    there = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server->serve_on(*there).ok());
    here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
    ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    EXPECT_EQ(remove("f").code(), Errc::permission);
    EXPECT_TRUE(look("f").ok());
}

TEST_F(ManageTest, APolicyDecidesWhoLooksAndRemoves) {
    ASSERT_TRUE(save("f").ok());
    end();
    std::vector<std::string> told;
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        using Kind = AccessRequest::Kind;
        const bool own = access.name.starts_with("own");
        const bool asked = access.kind == Kind::look || access.kind == Kind::remove || access.kind == Kind::fetch;
        return asked && !own ? Result<void>(Error{Errc::permission, "not yours"}) : Result<void>();
    };
    hooks.ended = [&](const ServerEvent& event) {
        if (event.kind == ServerEvent::Kind::removed) told.push_back(event.name);
    };
    begin();
    EXPECT_EQ(look("f").code(), Errc::permission);
    EXPECT_EQ(verify("f").code(), Errc::permission);
    EXPECT_EQ(remove("f").code(), Errc::permission);
    EXPECT_TRUE(fs::exists(folder.at("root/f")));
    ASSERT_TRUE(save("own").ok());
    EXPECT_TRUE(look("own").ok());
    EXPECT_TRUE(verify("own").ok());
    EXPECT_TRUE(remove("own").ok());
    end();
    EXPECT_EQ(told, (std::vector<std::string>{"own"}));
    hooks = {};
    begin();
}

}  // namespace
}  // namespace cinnabar::files
