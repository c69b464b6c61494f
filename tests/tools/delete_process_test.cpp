// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save --delete` and `fetch --delete`, as processes.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using Kind = files::AccessRequest::Kind;

constexpr int exit_usage = 1;
constexpr int exit_exists = 3;
constexpr int exit_permission = 4;
constexpr int exit_unsuitable = 11;
constexpr int exit_not_deleted = 16;

struct DeleteProcess : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    std::string tree = folder.at("tree");
    DeleteProcess() {
        fs::create_directory(root);
        fs::create_directories(tree + "/d");
        (void)folder.put("tree/a", "a");
        (void)folder.put("tree/d/b", "b");
    }
    // Puts what a tree does not have into its copy.
    void add_extraneous(const std::string& copy) const {
        fs::create_directories(folder.at(copy + "/gone/deep"));
        for (const char* name : {"/x", "/d/y", "/gone/z", "/gone/deep/file"}) (void)folder.put(copy + name, "more");
        fs::create_symlink("../beside", folder.at(copy + "/link"));
        (void)folder.put(copy + "/../beside.txt", "of others");
        fs::create_directories(folder.at(copy + "/../beside"));
        (void)folder.put(copy + "/../beside/file", "of others");
    }
    static constexpr unsigned extraneous_all = 7;
    [[nodiscard]] bool exists(const std::string& name) const { return fs::exists(fs::symlink_status(folder.at(name))); }
    void expect_clean(const std::string& copy) const {
        EXPECT_EQ(Folder::list_of(folder.at(copy)), (Words{"a", "d", "d/b"}));
        EXPECT_EQ(folder.get(copy + "/../beside/file"), "of others") << "no link is followed";
        EXPECT_EQ(folder.get(copy + "/../beside.txt"), "of others") << "only the tree is cleaned";
    }
    [[nodiscard]] timespec time_of(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::stat(folder.at(name).c_str(), &status), 0) << name;
        return status.st_mtim;
    }
};

TEST_F(DeleteProcess, ASaveRemovesWhatTheTreeDoesNotHave) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    add_extraneous("root/tree");
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    EXPECT_TRUE(exists("root/tree/gone/deep/file")) << "only when asked to";
    const auto deleted = run({"save", "--json", "--delete", tree, serving.uri()});
    EXPECT_EQ(deleted.exit, 0) << deleted.err;
    expect_clean("root/tree");
    EXPECT_NE(deleted.out.find(R"({"event": "delete", "ok": true, "name": "tree/x"})"), std::string::npos);
    EXPECT_NE(deleted.out.find(R"({"event": "delete", "ok": true, "name": "tree/link", "kind": "link"})"),
              std::string::npos);
    EXPECT_NE(deleted.out.find(R"("name": "tree/gone", "kind": "folder"})"), std::string::npos);
    EXPECT_NE(deleted.out.find("\"deleted\": " + std::to_string(extraneous_all) + ","), std::string::npos)
        << deleted.out;
    for (const std::string name : {"tree", "tree/d"}) {
        EXPECT_EQ(time_of("root/" + name).tv_sec, time_of(name).tv_sec) << "as if nothing had been there";
        EXPECT_EQ(time_of("root/" + name).tv_nsec, time_of(name).tv_nsec) << name;
    }
    (void)folder.put("root/tree/x", "again");
    const auto told = run({"save", "--delete", tree, serving.uri()});
    EXPECT_TRUE(told.out.ends_with("; deleted 1\n")) << told.out;
    EXPECT_EQ(run({"save", "--delete", tree, serving.uri()}).out.find("deleted"), std::string::npos);
}

TEST_F(DeleteProcess, AFetchRemovesWhatTheServersTreeDoesNotHave) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    const Words fetch{"fetch", "--delete", "--json", serving.uri() + "/tree", "-o", folder.at("back")};
    ASSERT_EQ(run(fetch).exit, 0);
    add_extraneous("back/tree");
    const auto deleted = run(fetch);
    EXPECT_EQ(deleted.exit, 0) << deleted.err;
    expect_clean("back/tree");
    EXPECT_NE(deleted.out.find(R"({"event": "delete", "ok": true, "path": ")" + folder.at("back/tree/x") + "\"}"),
              std::string::npos)
        << deleted.out;
    EXPECT_NE(deleted.out.find("\"deleted\": " + std::to_string(extraneous_all) + ","), std::string::npos);
    EXPECT_EQ(time_of("back/tree").tv_nsec, time_of("tree").tv_nsec);
    EXPECT_EQ(time_of("back/tree/d").tv_nsec, time_of("tree/d").tv_nsec);
    const auto contents = run({"fetch", "--delete", serving.uri() + "/tree/", "-o", folder.at("back")});
    EXPECT_EQ(contents.exit, 0) << contents.err;
    EXPECT_EQ(Folder::list_of(folder.at("back")), (Words{"a", "d", "d/b"})) << "that folder itself is given";
}

TEST_F(DeleteProcess, ADryRunTellsWhatWouldBeRemoved) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 0);
    add_extraneous("back/tree");
    const auto back = Folder::list_of(folder.at("back"));
    const auto here = run({"fetch", "-n", "--delete", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(here.exit, 0) << here.err;
    EXPECT_NE(here.out.find("deleting " + folder.at("back/tree/gone/deep/file") + "\n"), std::string::npos) << here.out;
    EXPECT_EQ(Folder::list_of(folder.at("back")), back);
    const auto nowhere = run({"fetch", "-n", "--delete", serving.uri() + "/tree", "-o", folder.at("none")});
    EXPECT_EQ(nowhere.exit, 0) << nowhere.err;
    add_extraneous("root/tree");
    const auto before = Folder::list_of(root);
    const auto there = run({"save", "-n", "--delete", tree, serving.uri()});
    EXPECT_EQ(there.exit, 0) << there.err;
    EXPECT_NE(there.out.find("deleting tree/gone/deep/file\n"), std::string::npos) << there.out;
    EXPECT_NE(there.out.find("; to be deleted: " + std::to_string(extraneous_all) + "\n"), std::string::npos)
        << there.out;
    const auto json = run({"save", "-n", "--json", "--delete", tree, serving.uri()});
    EXPECT_NE(json.out.find(R"("event": "delete", "ok": true, "name": "tree/x", "dry_run": true})"), std::string::npos)
        << json.out;
    EXPECT_EQ(Folder::list_of(root), before);
}

TEST_F(DeleteProcess, WhatPatternsExcludeAndUnfinishedFilesStay) {
    const std::string unfinished = "d/.cinnabar-0123456789abcdef.journal";
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 0);
    for (const std::string copy : {"root/tree", "back/tree"}) {
        add_extraneous(copy);
        for (const auto& name : {std::string("a.keep"), std::string("gone/deep/b.keep"), unfinished})
            (void)folder.put(copy + "/" + name, "kept");
    }
    const Words left{"a", "a.keep", "d", unfinished, "d/b", "gone", "gone/deep", "gone/deep/b.keep"};
    const auto saved = run({"save", "--delete", "--exclude=*.keep", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(Folder::list_of(root + "/tree"), left);
    fs::remove_all(root + "/tree/gone");
    fs::remove(root + "/tree/" + unfinished);
    const auto fetched =
        run({"fetch", "--delete", "--exclude=*.keep", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(Folder::list_of(folder.at("back/tree")), left);
}

TEST_F(DeleteProcess, NothingIsRemovedIfAnythingFailed) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    (void)folder.put("root/tree/x", "more");
    (void)folder.put("tree/a", "another");
    const auto differs = run({"save", "--delete", tree, serving.uri()});
    EXPECT_EQ(differs.exit, exit_exists) << differs.err;
    EXPECT_NE(differs.err.find("nothing is deleted"), std::string::npos) << differs.err;
    EXPECT_TRUE(exists("root/tree/x"));
    ASSERT_EQ(::mkfifo((tree + "/pipe").c_str(), 0600), 0);
    const auto unread = run({"save", "--replace", "--json", "--delete", tree, serving.uri()});
    EXPECT_EQ(unread.exit, exit_unsuitable) << unread.out;
    EXPECT_NE(unread.out.find(R"({"event": "not_deleted", "reason": "failed"})"), std::string::npos) << unread.out;
    EXPECT_TRUE(exists("root/tree/x"));
    EXPECT_EQ(run({"save", "-n", "--delete", tree, serving.uri()}).out.find("deleting"), std::string::npos);
    EXPECT_NE(run({"save", "--replace", "--delete", tree, folder.at("none"), serving.uri()}).exit, 0);
    EXPECT_TRUE(exists("root/tree/x")) << "a source is missing";
    fs::remove(tree + "/pipe");
    EXPECT_EQ(run({"save", "--replace", "--delete", tree, serving.uri()}).exit, 0);
    EXPECT_FALSE(exists("root/tree/x"));
}

TEST_F(DeleteProcess, NoMoreAreRemovedThanIsAllowed) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    for (const char* name : {"root/tree/x", "root/tree/y", "root/tree/z"}) (void)folder.put(name, "more");
    const Words save{"save", "--delete", tree, serving.uri(), "--max-delete"};
    const auto with = [&save](const std::string& count) {
        auto words = save;
        words.push_back(count);
        return run(words);
    };
    const auto none = with("0");
    EXPECT_EQ(none.exit, exit_not_deleted) << none.err;
    EXPECT_NE(none.err.find("3 more"), std::string::npos) << none.err;
    EXPECT_EQ(with("2").exit, exit_not_deleted);
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"a", "d", "d/b", "z"}));
    EXPECT_EQ(with("1").exit, 0);
    EXPECT_EQ(with("0").exit, 0) << "there is nothing to remove";
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"a", "d", "d/b"}));
    EXPECT_EQ(run({"save", "--max-delete", "1", tree, serving.uri()}).exit, exit_usage) << "without --delete";
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 0);
    (void)folder.put("back/tree/x", "more");
    const auto here =
        run({"fetch", "--json", "--delete", "--max-delete=0", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(here.exit, exit_not_deleted) << here.out;
    EXPECT_NE(here.out.find(R"({"event": "not_deleted", "reason": "max_delete", "count": 1})"), std::string::npos)
        << here.out;
    EXPECT_NE(here.out.find(R"("not_deleted": 1,)"), std::string::npos) << here.out;
    EXPECT_TRUE(exists("back/tree/x"));
}

TEST_F(DeleteProcess, SingleFilesRemoveNothing) {
    Serving serving(root);
    (void)folder.put("root/x", "more");
    const auto file = run({"save", "--delete", tree + "/a", serving.uri()});
    EXPECT_EQ(file.exit, 0) << file.err;
    EXPECT_TRUE(exists("root/x"));
    fs::create_directory(folder.at("back"));
    (void)folder.put("back/x", "more");
    EXPECT_EQ(run({"fetch", "--delete", serving.uri() + "/a", "-o", folder.at("back")}).exit, 0);
    EXPECT_TRUE(exists("back/x"));
    // A single file that comes into a given folder belongs to it.
    const auto both = run({"save", "--replace", "--delete", tree + "/d/", tree + "/a", serving.uri()});
    EXPECT_EQ(both.exit, 0) << both.err;
    EXPECT_EQ(Folder::list_of(root), (Words{".cinnabar-staging", "a", "b"}));
}

TEST_F(DeleteProcess, SourcesThatComeIntoOneFolderKeepEachOthersFiles) {
    fs::create_directory(folder.at("root2"));
    Serving one(root);
    Serving two(folder.at("root2"));
    fs::create_directory(folder.at("other"));
    (void)folder.put("other/c", "c");
    (void)folder.put("root/x", "more");
    const auto saved = run({"save", "--delete", tree + "/", folder.at("other/"), one.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(Folder::list_of(root), (Words{".cinnabar-staging", "a", "c", "d", "d/b"}));
    ASSERT_EQ(run({"save", folder.at("other"), two.uri()}).exit, 0);
    ASSERT_EQ(run({"save", tree, one.uri()}).exit, 0);
    fs::create_directory(folder.at("back"));
    (void)folder.put("back/x", "more");
    const auto fetched =
        run({"fetch", "--delete", one.uri() + "/tree/", two.uri() + "/other/", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(Folder::list_of(folder.at("back")), (Words{"a", "c", "d", "d/b"}));
}

TEST_F(DeleteProcess, AGroupIsRefused) {
    const auto refused = run({"save", "--delete", tree, "--group", "tcp://127.0.0.1:1"});
    EXPECT_EQ(refused.exit, exit_usage);
    EXPECT_NE(refused.err.find("works with a single server"), std::string::npos) << refused.err;
    EXPECT_EQ(run({"fetch", "--delete", "tree", "--group", "tcp://127.0.0.1:1"}).exit, exit_usage);
}

// A server in this process, which does what the test says when it is asked for something.
struct DeleteAtOddServer : DeleteProcess {
    std::mutex mutex;
    std::function<Result<void>(const files::AccessRequest& access)> asked;
    std::unique_ptr<files::Server> server;
    std::optional<hl::Node> node;

    void SetUp() override {
        files::ServerHooks hooks;
        hooks.may_access = [this](const files::AccessRequest& access) {
            const std::lock_guard lock(mutex);
            return asked ? asked(access) : Result<void>();
        };
        server = files::Server::make(files::Root::serve(root).value(), {}, {}, hooks).value();
        node = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*node).ok());
    }
    void TearDown() override {
        when_asked({});  // what it refers to is gone
        node.reset();
        server.reset();
    }
    [[nodiscard]] std::string uri() const { return node->endpoints().front(); }
    void when_asked(std::function<Result<void>(const files::AccessRequest& access)> what) {
        const std::lock_guard lock(mutex);
        asked = std::move(what);
    }
    [[nodiscard]] Outcome save() const { return run({"save", "--insecure", "--json", "--delete", tree, uri()}); }
    // "root/tree/gone" becomes a link to a folder with a file of the same name.
    void turn_into_a_link() const {
        fs::remove_all(root + "/tree/gone");
        fs::create_symlink("../precious", root + "/tree/gone");
    }
    void put_precious() const {
        fs::create_directory(root + "/precious");
        (void)folder.put("root/precious/z", "precious");
        fs::create_directory(root + "/tree/gone");
        (void)folder.put("root/tree/gone/z", "more");
    }
};

TEST_F(DeleteAtOddServer, WhoMayNotRemoveIsToldAndTheRestIsRemoved) {
    ASSERT_EQ(save().exit, 0);
    (void)folder.put("root/tree/x", "more");
    (void)folder.put("root/tree/y", "more");
    when_asked([](const files::AccessRequest& access) -> Result<void> {
        if (access.kind == Kind::remove && access.name == "tree/x") return Error{Errc::permission, "not yours"};
        return {};
    });
    const auto refused = save();
    EXPECT_EQ(refused.exit, exit_permission) << refused.out;
    EXPECT_NE(refused.out.find(R"({"event": "delete", "ok": false, "name": "tree/x", )"), std::string::npos)
        << refused.out;
    EXPECT_TRUE(exists("root/tree/x"));
    EXPECT_FALSE(exists("root/tree/y"));
}

TEST_F(DeleteAtOddServer, AFolderThatBecomesALinkIsNotEntered) {
    ASSERT_EQ(save().exit, 0);
    put_precious();
    when_asked([this](const files::AccessRequest& access) -> Result<void> {
        if (access.kind == Kind::list && access.name == "tree/gone") turn_into_a_link();
        return {};
    });
    const auto listed = save();
    EXPECT_NE(listed.exit, 0) << listed.out;
    EXPECT_NE(listed.out.find(R"("event": "not_deleted")"), std::string::npos) << listed.out;
    EXPECT_EQ(folder.get("root/precious/z"), "precious");
    EXPECT_TRUE(exists("root/tree/gone"));
    when_asked({});
    EXPECT_EQ(save().exit, 0);
    EXPECT_FALSE(exists("root/tree/gone")) << "the link";
    EXPECT_EQ(folder.get("root/precious/z"), "precious");
}

TEST_F(DeleteAtOddServer, NothingIsRemovedThroughAFolderThatBecomesALink) {
    ASSERT_EQ(save().exit, 0);
    put_precious();
    when_asked([this](const files::AccessRequest& access) -> Result<void> {
        if (access.kind == Kind::remove && access.name == "tree/gone/z") turn_into_a_link();
        return {};
    });
    const auto refused = save();
    EXPECT_EQ(refused.exit, exit_permission) << refused.out;
    EXPECT_EQ(folder.get("root/precious/z"), "precious");
}

TEST_F(DeleteAtOddServer, AListingThatFailsRemovesNothingHere) {
    ASSERT_EQ(save().exit, 0);
    const auto fetch = [this] {
        return run({"fetch", "--insecure", "--delete", uri() + "/tree", "-o", folder.at("back")});
    };
    ASSERT_EQ(fetch().exit, 0);
    (void)folder.put("back/tree/x", "more");
    for (const auto code : {Errc::busy, Errc::permission, Errc::io, Errc::shutting_down, Errc::not_found}) {
        when_asked([code](const files::AccessRequest& access) -> Result<void> {
            if (access.kind == Kind::list && access.name == "tree/d") return code;
            return {};
        });
        EXPECT_NE(fetch().exit, 0) << to_string(code);
        EXPECT_TRUE(exists("back/tree/x")) << to_string(code);
        EXPECT_TRUE(exists("back/tree/d/b")) << to_string(code);
    }
    when_asked({});
    EXPECT_EQ(fetch().exit, 0);
    EXPECT_FALSE(exists("back/tree/x"));
}

TEST_F(DeleteAtOddServer, ALostServerIsRedialledForTheRest) {
    ASSERT_EQ(save().exit, 0);
    for (int i = 0; i < 20; ++i) (void)folder.put("root/tree/x" + std::to_string(i), "more");
    unsigned removals = 0;
    when_asked([&removals](const files::AccessRequest& access) -> Result<void> {
        if (access.kind == Kind::remove && ++removals == 10) return Errc::shutting_down;
        return {};
    });
    const auto saved = run({"save", "--insecure", "--delete", "--wait", "60", tree, uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_TRUE(saved.out.ends_with("; deleted 20\n")) << saved.out;
    EXPECT_EQ(Folder::list_of(root + "/tree"), (Words{"a", "d", "d/b"}));
}

}  // namespace
}  // namespace cinnabar::tools
