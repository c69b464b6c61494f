// SPDX-License-Identifier: BSD-3-Clause
// The commands that look at what a server has, verify it against what was saved, and remove it.
#include "process.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;

struct ManageProcess : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    ManageProcess() {
        fs::create_directories(folder.at("tree/inner"));
        fs::create_directory(root);
        (void)folder.put("tree/a", "12345");
        (void)folder.put("tree/inner/b", "123");
        fs::create_symlink("a", folder.at("tree/link"));
    }
    void rot(const std::string& name) const {
        const auto path = folder.at("root/" + name);
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        ASSERT_EQ(::pwrite(file, "X", 1, 1), 1);
        const timespec times[2] = {{0, UTIME_OMIT}, status.st_mtim};
        ASSERT_EQ(::futimens(file, times), 0);
        ASSERT_EQ(::close(file), 0);
    }
};

TEST_F(ManageProcess, DamageIsFoundInATreeAndTold) {
    if (::setxattr(root.c_str(), "user.try", "x", 1, 0) != 0) GTEST_SKIP() << "no extended attributes here";
    Serving serving(root);
    ASSERT_EQ(run({"save", folder.at("tree"), serving.uri()}).exit, 0);
    const auto good = run({"verify", serving.uri() + "/tree"});
    EXPECT_EQ(good.exit, 0) << good.err;
    EXPECT_NE(good.out.find("tree/a: ok\n"), std::string::npos) << good.out;
    EXPECT_NE(good.out.find("tree/inner/b: ok\n"), std::string::npos) << good.out;
    EXPECT_EQ(run({"verify", "-q", serving.uri() + "/tree"}).out, "");
    rot("tree/inner/b");
    const auto bad = run({"verify", serving.uri() + "/tree"});
    EXPECT_EQ(bad.exit, 6);
    EXPECT_NE(bad.err.find("tree/inner/b: "), std::string::npos) << bad.err;
    EXPECT_NE(bad.err.find("differs from its stored checksum"), std::string::npos) << bad.err;
    EXPECT_NE(bad.out.find("tree/a: ok\n"), std::string::npos) << "the rest goes on: " << bad.out;
    const auto json = run({"verify", "--json", serving.uri() + "/tree/a"}).out;
    EXPECT_TRUE(json.starts_with("{\"event\": \"verified\", \"name\": \"tree/a\", \"bytes\": 5, \"checksum\": \"xxh3:"))
        << json;
    (void)folder.put("root/tree/a", "other");
    EXPECT_EQ(run({"verify", serving.uri() + "/tree/a"}).out, "tree/a: changed since it was saved\n");
    (void)folder.put("root/own", "x");
    EXPECT_EQ(run({"verify", serving.uri() + "/own"}).out, "own: saved without a checksum\n");
}

TEST_F(ManageProcess, NamesAreLookedAt) {
    Serving serving(root);
    ASSERT_EQ(run({"save", folder.at("tree"), serving.uri()}).exit, 0);
    const auto file = run({"stat", serving.uri() + "/tree/a"});
    EXPECT_EQ(file.exit, 0) << file.err;
    EXPECT_TRUE(file.out.starts_with("tree/a: file, rw-")) << file.out;
    EXPECT_NE(file.out.find(", 5 bytes"), std::string::npos) << file.out;
    EXPECT_NE(run({"stat", serving.uri() + "/tree/link"}).out.find("link, "), std::string::npos);
    EXPECT_NE(run({"stat", serving.uri() + "/tree/link"}).out.find(" -> a"), std::string::npos);
    const auto json = run({"stat", "--json", serving.uri() + "/tree/inner"}).out;
    EXPECT_TRUE(json.starts_with("{\"event\": \"stat\", \"name\": \"tree/inner\", \"kind\": \"folder\", ")) << json;
    const auto missing = run({"stat", serving.uri() + "/none", serving.uri() + "/tree"});
    EXPECT_EQ(missing.exit, 10);
    EXPECT_NE(missing.out.find("tree: folder"), std::string::npos) << "the rest goes on: " << missing.out;
    EXPECT_EQ(run({"stat", serving.uri()}).exit, 1) << "no name";
}

TEST_F(ManageProcess, TreesAreRemovedOnlyWhenAskedFor) {
    Serving serving(root, {"--json"});
    ASSERT_EQ(run({"save", folder.at("tree"), serving.uri()}).exit, 0);
    const auto refused = run({"remove", serving.uri() + "/tree"});
    EXPECT_EQ(refused.exit, 3);
    EXPECT_NE(refused.err.find("remove -r"), std::string::npos) << refused.err;
    EXPECT_EQ(run({"remove", serving.uri() + "/tree/link"}).exit, 0);
    const auto removed = run({"remove", "-r", "--json", serving.uri() + "/tree"});
    EXPECT_EQ(removed.exit, 0) << removed.err;
    EXPECT_NE(removed.out.find("{\"event\": \"removed\", \"name\": \"tree/inner/b\"}"), std::string::npos)
        << removed.out;
    EXPECT_TRUE(removed.out.ends_with("{\"event\": \"removed\", \"name\": \"tree\"}\n")) << removed.out;
    EXPECT_EQ(Folder::list_of(root), Words{".cinnabar-staging"});
    EXPECT_TRUE(fs::exists(folder.at("tree/a")));
    EXPECT_TRUE(eventually([&] { return serving.process().out().find("\"removed\"") != std::string::npos; }));
}

TEST_F(ManageProcess, ATreeOfManyEntriesIsRemovedInOrderAndNoLinkIsFollowed) {
    constexpr int files_each = 50;
    fs::create_directories(folder.at("root/precious"));
    (void)folder.put("root/precious/x", "x");
    Words names;
    for (const auto* inner : {"t/a", "t/a/b", "t/c"}) {
        fs::create_directories(folder.at(std::string("root/") + inner));
        names.emplace_back(inner);
        for (int i = 0; i < files_each; ++i) {
            names.push_back(std::string(inner) + "/" + std::to_string(i));
            (void)folder.put("root/" + names.back(), "x");
        }
    }
    fs::create_symlink("../../precious", folder.at("root/t/a/link"));
    names.emplace_back("t/a/link");
    Serving serving(root);
    const auto removed = run({"remove", "-r", "--json", serving.uri() + "/t"});
    EXPECT_EQ(removed.exit, 0) << removed.err;
    const auto place_of = [&removed](const std::string& name) {
        return removed.out.find("{\"event\": \"removed\", \"name\": \"" + name + "\"}");
    };
    for (const auto& name : names) EXPECT_NE(place_of(name), std::string::npos) << name;
    EXPECT_LT(place_of("t/a/b/7"), place_of("t/a/b"));
    EXPECT_LT(place_of("t/a/b"), place_of("t/a"));
    EXPECT_LT(place_of("t/a"), place_of("t"));
    EXPECT_EQ(Folder::list_of(root), (Words{".cinnabar-staging", "precious", "precious/x"}));
}

TEST_F(ManageProcess, WhatCannotBeRemovedOfATreeIsToldAndTheRestIsRemoved) {
    fs::create_directories(folder.at("root/t/d"));
    (void)folder.put("root/t/d/a", "x");
    (void)folder.put("root/t/b", "x");
    ASSERT_EQ(::mkfifo(folder.at("root/t/d/pipe").c_str(), 0600), 0);
    Serving serving(root);
    const auto removed = run({"remove", "-r", serving.uri() + "/t"});
    EXPECT_EQ(removed.exit, 11) << removed.err;
    EXPECT_NE(removed.err.find("t/d/pipe: "), std::string::npos) << removed.err;
    EXPECT_NE(removed.err.find("t/d: "), std::string::npos) << "it is not empty: " << removed.err;
    EXPECT_FALSE(fs::exists(folder.at("root/t/d/a")));
    EXPECT_FALSE(fs::exists(folder.at("root/t/b")));
}

}  // namespace
}  // namespace cinnabar::tools
