// SPDX-License-Identifier: BSD-3-Clause
// Who may log in at a server that was given no key: its own user on its own host, who needs no option for that.
#include "process.hpp"
#include "support/content.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;

constexpr uid_t nobody = 65534;

struct UserProcess : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    std::string file = folder.put("file", "x");
    UserProcess() {
        fs::create_directory(root);
        // So that only the server can stop another user.
        fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    }
    static fs::path keys() { return runtime_folder() / "cinnabar"; }
    static Words key_files() { return fs::exists(keys()) ? Folder::list_of(keys()) : Words{}; }
    static bool is_root() { return ::geteuid() == 0; }
};

TEST_F(UserProcess, OnTheLoopbackItsOwnUserNeedsNoOption) {
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0"});
    const auto saved = run({"save", file, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(folder.get("root/file"), "x");
    const auto by_name = run({"save", "--as", "b", file, "tcp://localhost" + serving.uri().substr(15)});
    EXPECT_EQ(by_name.exit, 0) << by_name.err;
}

TEST_F(UserProcess, OnTheLoopbackNoOtherUserGetsIn) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0"});
    folder.put("root/secret", "precious");
    const auto saved = run({"save", file, serving.uri()}, {.user = nobody});
    EXPECT_EQ(saved.exit, 4) << saved.err;
    EXPECT_NE(saved.err.find("the server wants a key: give --key-file"), std::string::npos) << saved.err;
    EXPECT_FALSE(fs::exists(fs::path(root) / "file"));
    const auto fetched = run({"fetch", serving.uri() + "/secret", "-o", "/tmp"}, {.user = nobody});
    EXPECT_EQ(fetched.exit, 4) << fetched.err;
}

TEST_F(UserProcess, InSharedMemoryNoOtherUserGetsIn) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    const Serving serving(root, {"--listen", "shm://"});
    EXPECT_EQ(run({"save", file, serving.uri()}).exit, 0);
    const auto saved = run({"save", "--as", "other", file, serving.uri()}, {.user = nobody});
    EXPECT_NE(saved.exit, 0) << saved.err;
    EXPECT_FALSE(fs::exists(fs::path(root) / "other"));
}

TEST_F(UserProcess, InsecureLetsEverybodyIn) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--insecure"});
    const auto saved = run({"save", "--insecure", file, serving.uri()}, {.user = nobody});
    EXPECT_EQ(saved.exit, 0) << saved.err;
}

// The server's key was removed when it stopped, so nothing distinguishes it from another process that listens there
// now.
TEST_F(UserProcess, AStoppedServersPlaceIsTrustedOnlyOnRequest) {
    auto serving = std::make_unique<Serving>(root, Words{"--listen", "tcp://127.0.0.1:0"});
    const auto uri = serving->uri();
    EXPECT_EQ(run({"save", file, uri}).exit, 0);
    serving->process().send(SIGTERM);
    EXPECT_EQ(serving->process().wait(), 0);
    serving.reset();
    const auto nobody_there = run({"save", "--as", "other", file, uri});
    EXPECT_EQ(nobody_there.exit, 2) << nobody_there.err;
    const Serving anyone(root, {"--listen", uri, "--insecure"});
    for (const Words& words :
         {Words{"save", "--as", "other", file, uri}, Words{"fetch", uri + "/file", "-o", "/tmp"}}) {
        const auto refused = run(words);
        EXPECT_EQ(refused.exit, 4) << refused.err;
        EXPECT_NE(refused.err.find("or --insecure if that is meant"), std::string::npos) << refused.err;
    }
    EXPECT_FALSE(fs::exists(fs::path(root) / "other"));
    EXPECT_EQ(run({"save", "--insecure", "--as", "other", file, uri}).exit, 0);
}

// Each of these connects to the loopback, where the server may be any user's.
TEST_F(UserProcess, AServerWithoutAKeyOnTheLoopbackIsRefusedHoweverItIsNamed) {
    const Serving anyone(root, {"--listen", "tcp://127.0.0.1:0", "--insecure"});
    const auto port = anyone.uri().substr(anyone.uri().rfind(':'));
    for (const auto* host : {"127.0.0.1", "[::ffff:127.0.0.1]", "127.1", "0.0.0.0", ""}) {
        const auto refused = run({"save", file, "tcp://" + std::string(host) + port});
        EXPECT_EQ(refused.exit, 4) << host << ": " << refused.err;
        EXPECT_NE(refused.err.find("or --insecure if that is meant"), std::string::npos) << refused.err;
    }
    EXPECT_FALSE(fs::exists(fs::path(root) / "file"));
}

// Permission bits do not restrict root, so both sides are another user's.
TEST_F(UserProcess, ATreeWithFoldersForReadingOnlyIsMovedAgain) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    const auto mode_of = [this](const std::string& name) {
        struct stat status {};
        EXPECT_EQ(::stat(folder.at(name).c_str(), &status), 0) << name;
        return status.st_mode & 07777u;
    };
    fs::permissions(folder.path(), fs::perms(0755));
    fs::create_directories(folder.at("tree/closed/inner"));
    fs::create_directory(folder.at("back"));
    for (const auto& path : {root, folder.at("back")}) ASSERT_EQ(::chown(path.c_str(), nobody, nobody), 0);
    const auto close = [this] {
        for (const char* name : {"tree/closed/inner", "tree/closed"}) fs::permissions(folder.at(name), fs::perms(0555));
    };
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--insecure"}, {.user = nobody});
    for (const std::string round : {"1", "2"}) {
        folder.put("tree/closed/file " + round, round);  // root may
        folder.put("tree/closed/inner/file " + round, round);
        close();
        const auto saved = run({"save", "--insecure", folder.at("tree"), serving.uri()});
        EXPECT_EQ(saved.exit, 0) << saved.err;
        const auto fetched =
            run({"fetch", "--insecure", serving.uri() + "/tree", "-o", folder.at("back")}, {.user = nobody});
        EXPECT_EQ(fetched.exit, 0) << fetched.err;
        for (const std::string side : {"root/", "back/"}) {
            EXPECT_EQ(folder.get(side + "tree/closed/inner/file " + round), round) << side;
            EXPECT_EQ(mode_of(side + "tree/closed"), 0555u) << side;
            EXPECT_EQ(mode_of(side + "tree/closed/inner"), 0555u) << side;
        }
    }
}

TEST_F(UserProcess, WhatATreeDoesNotHaveIsRemovedFromFoldersForReadingOnlyToo) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    const auto mode_of = [this](const std::string& name) {
        struct stat status {};
        EXPECT_EQ(::stat(folder.at(name).c_str(), &status), 0) << name;
        return status.st_mode & 07777u;
    };
    fs::permissions(folder.path(), fs::perms(0755));
    fs::create_directories(folder.at("tree/closed"));
    fs::create_directory(folder.at("back"));
    for (const auto& path : {root, folder.at("back")}) ASSERT_EQ(::chown(path.c_str(), nobody, nobody), 0);
    folder.put("tree/closed/file", "x");
    fs::permissions(folder.at("tree/closed"), fs::perms(0555));
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--insecure"}, {.user = nobody});
    const Words save{"save", "--insecure", "--delete", folder.at("tree"), serving.uri()};
    const Words fetch{"fetch", "--insecure", "--delete", serving.uri() + "/tree", "-o", folder.at("back")};
    ASSERT_EQ(run(save).exit, 0);
    ASSERT_EQ(run(fetch, {.user = nobody}).exit, 0);
    for (const std::string side : {"root/", "back/"}) {
        fs::create_directory(folder.at(side + "tree/closed/gone"));  // root may
        folder.put(side + "tree/closed/gone/more", "x");
        ASSERT_EQ(::chown(folder.at(side + "tree/closed/gone").c_str(), nobody, nobody), 0);
        fs::permissions(folder.at(side + "tree/closed/gone"), fs::perms(0555));
        const auto deleted = side == "root/" ? run(save) : run(fetch, {.user = nobody});
        EXPECT_EQ(deleted.exit, 0) << deleted.err;
        EXPECT_EQ(Folder::list_of(folder.at(side + "tree/closed")), Words{"file"});
        EXPECT_EQ(mode_of(side + "tree/closed"), 0555u) << side;
    }
}

TEST_F(UserProcess, AGroupIsOthers) {
    const auto group = run({"serve", "--root", root, "--listen", "shm://x?group=users"});
    EXPECT_EQ(group.exit, 1);
    EXPECT_NE(group.err.find("--insecure"), std::string::npos) << group.err;
}

TEST_F(UserProcess, TheKeyIsForItsUserAloneAndGoesWithTheServer) {
    const auto before = key_files();
    Serving serving(root, {"--listen", "tcp://127.0.0.1:0", "--listen", "shm://"});
    const auto during = key_files();
    EXPECT_EQ(during.size(), before.size() + 2) << "one for each way";
    struct stat status {};
    ASSERT_EQ(::stat(keys().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0700u);
    for (const auto& name : during) {
        ASSERT_EQ(::stat((keys() / name).c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777u, 0600u) << name;
    }
    EXPECT_EQ(run({"save", "--transport", "shm", file, serving.uri()}).exit, 0);
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait(), 0);
    EXPECT_EQ(key_files(), before);
}

TEST_F(UserProcess, AKeyThatOthersCanReadIsNotUsed) {
    const auto before = key_files();
    const Serving serving(root, {"--listen", "tcp://127.0.0.1:0"});
    for (const auto& name : key_files()) {
        if (std::ranges::find(before, name) != before.end()) continue;
        fs::permissions(keys() / name, fs::perms::others_read, fs::perm_options::add);
    }
    const auto saved = run({"save", file, serving.uri()});
    EXPECT_EQ(saved.exit, 4);
    EXPECT_NE(saved.err.find("the key file is open to others: chmod 600 it"), std::string::npos) << saved.err;
}

TEST_F(UserProcess, WhatAKilledServerLeftMisleadsNobody) {
    auto serving = std::make_unique<Serving>(root, Words{"--listen", "tcp://127.0.0.1:0"});
    const auto uri = serving->uri();
    serving->process().send(SIGKILL);
    (void)serving->process().wait();
    serving.reset();
    {
        const Serving next(root, {"--listen", uri});
        EXPECT_EQ(run({"save", file, uri}).exit, 0) << "a key of its own";
    }
    serving = std::make_unique<Serving>(root, Words{"--listen", uri});
    serving->process().send(SIGKILL);
    (void)serving->process().wait();
    serving.reset();
    const Serving open(root, {"--listen", uri, "--insecure"});
    const auto saved = run({"save", "--insecure", "--replace", file, uri});
    EXPECT_EQ(saved.exit, 0) << saved.err;
}

// Another user listens at the address of a former server of this user, and does not know its key.
TEST_F(UserProcess, AnotherUsersServerInItsPlaceIsNotTrusted) {
    if (!is_root()) GTEST_SKIP() << "becoming another user needs root";
    auto serving = std::make_unique<Serving>(root, Words{"--listen", "tcp://127.0.0.1:0"});
    const auto uri = serving->uri();
    serving->process().send(SIGKILL);
    (void)serving->process().wait();
    serving.reset();
    const auto theirs = folder.at("theirs");
    fs::create_directory(theirs);
    ASSERT_EQ(::chown(theirs.c_str(), nobody, nobody), 0);
    const Serving impostor(theirs, {"--listen", uri, "--insecure"}, {.user = nobody});
    const auto saved = run({"save", file, uri});
    EXPECT_EQ(saved.exit, 4) << saved.err;
    EXPECT_FALSE(fs::exists(fs::path(theirs) / "file"));
}

TEST_F(UserProcess, AServerWithNoFolderForItsKeySaysSo) {
    if (!is_root()) GTEST_SKIP() << "becoming a user without a home needs root";
    const auto theirs = folder.at("theirs");
    fs::create_directory(theirs);
    ASSERT_EQ(::chown(theirs.c_str(), nobody, nobody), 0);
    const auto serve = run({"serve", "--root", theirs, "--listen", "tcp://127.0.0.1:0"}, {.user = nobody});
    EXPECT_EQ(serve.exit, 10) << serve.err;
    EXPECT_NE(serve.err.find("give --key-file, or --insecure"), std::string::npos) << serve.err;
}

}  // namespace
}  // namespace cinnabar::tools
