// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar save` and `fetch` of whole trees, as processes.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// Everything about a tree except its owners and its location, one line per name.
std::map<std::string, std::string> describe(const fs::path& tree) {
    std::map<std::string, std::string> result;
    std::map<ino_t, std::string> first;
    const auto add = [&](const std::string& name, const fs::path& path) {
        struct stat status {};
        ASSERT_EQ(::lstat(path.c_str(), &status), 0) << path;
        std::string line = std::to_string(status.st_mode) + " " + std::to_string(status.st_mtim.tv_sec) + "." +
                           std::to_string(status.st_mtim.tv_nsec);
        if (S_ISLNK(status.st_mode)) line += " -> " + fs::read_symlink(path).string();
        if (S_ISREG(status.st_mode)) {
            std::ifstream file(path, std::ios::binary);
            const std::string content{std::istreambuf_iterator<char>(file), {}};
            line += " " + std::to_string(content.size()) + " " + std::to_string(std::hash<std::string>{}(content)) +
                    " names " + std::to_string(status.st_nlink);
        }
        result[name] = line;
    };
    add(".", tree);
    for (const auto& entry : fs::recursive_directory_iterator(tree))
        add(entry.path().lexically_relative(tree).string(), entry.path());
    return result;
}

void set_time(const std::string& path, std::int64_t seconds, long nanoseconds) {
    const timespec times[2] = {{0, UTIME_OMIT}, {seconds, nanoseconds}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << path;
}

struct TreeProcess : testing::Test {
    Folder folder;
    std::string root = folder.at("root");
    std::string tree = folder.at("tree");
    TreeProcess() {
        fs::create_directory(root);
        fs::create_directories(tree + "/d/deep/er");
        fs::create_directory(tree + "/empty folder");
        (void)folder.put("tree/empty", "");
        (void)folder.put("tree/d/small", pattern(4097));
        (void)folder.put("tree/d/deep/large", pattern((3u << 20) + 17));
        (void)folder.put("tree/d/\xff\xfe\nname", "any bytes");
        fs::create_hard_link(tree + "/d/small", tree + "/d/deep/er/again");
        fs::create_symlink("../d/small", tree + "/d/relative");
        fs::create_symlink("/nowhere/at/all", tree + "/absolute");
        fs::create_symlink("itself", tree + "/itself");
        (void)folder.put("tree/sparse", "");
        EXPECT_EQ(::truncate((tree + "/sparse").c_str(), 40 << 20), 0);
        std::fstream(tree + "/sparse", std::ios::in | std::ios::out | std::ios::binary).seekp(17'000'000) << "content";
        EXPECT_EQ(::chmod((tree + "/d/small").c_str(), 0604), 0);
        EXPECT_EQ(::chmod((tree + "/empty folder").c_str(), 0555), 0);
        set_time(tree + "/d/small", 981'173'106, 123'456'789);
        set_time(tree + "/absolute", 1'000'000'000, 1);
        set_time(tree + "/empty folder", -1, 999'999'999);
        set_time(tree + "/d/deep", 5, 5);
        set_time(tree, 77, 7);
    }
    [[nodiscard]] std::size_t disk_bytes(const std::string& path) const {
        struct stat status {};
        EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
        return static_cast<std::size_t>(status.st_blocks) * 512;
    }
};

TEST_F(TreeProcess, ATreeGoesThereAndBackAsItIs) {
    Serving serving(root);
    for (const bool push : {false, true}) {
        const std::string name = push ? "/pushed" : "/pulled";
        fs::create_directory(root + name);
        Words save{"save", tree, serving.uri() + name};
        if (push) save.push_back("--push");
        const auto saved = run(save);
        EXPECT_EQ(saved.exit, 0) << saved.err;
        EXPECT_EQ(describe(root + name + "/tree"), describe(tree));
        EXPECT_LT(disk_bytes(root + name + "/tree/sparse"), 256u << 10);
        const auto fetched = run({"fetch", serving.uri() + name + "/tree", "-o", folder.at("back") + name});
        EXPECT_EQ(fetched.exit, 0) << fetched.err;
        EXPECT_EQ(describe(folder.at("back") + name + "/tree"), describe(tree));
        EXPECT_LT(disk_bytes(folder.at("back") + name + "/tree/sparse"), 256u << 10);
    }
}

TEST_F(TreeProcess, TheSameCommandMovesOnlyWhatChanged) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    const auto again = run({"save", "--json", tree, serving.uri()});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_NE(again.out.find("\"files\": 0"), std::string::npos) << again.out;
    (void)folder.put("tree/d/new", "new");
    (void)folder.put("tree/empty", "no more");
    const auto kept = run({"save", tree, serving.uri()});
    EXPECT_EQ(kept.exit, 3) << "what is there and differs is kept: " << kept.err;
    EXPECT_EQ(folder.get("root/tree/d/new"), "new");
    EXPECT_EQ(folder.get("root/tree/empty"), "");
    EXPECT_EQ(run({"save", "--replace", tree, serving.uri()}).exit, 0);
    EXPECT_EQ(describe(root + "/tree"), describe(tree));
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 0);
    (void)folder.put("tree/d/newer", "newer");
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    const auto newer = run({"fetch", "--json", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_NE(newer.out.find("\"done\": 1"), std::string::npos) << newer.out;
    EXPECT_EQ(describe(folder.at("back") + "/tree"), describe(tree));
}

TEST_F(TreeProcess, WhatCannotBeMovedIsToldAndTheRestIsMoved) {
    ASSERT_EQ(::mkfifo((tree + "/pipe").c_str(), 0600), 0);
    fs::create_directory(root + "/tree");
    fs::create_directory(root + "/tree/empty");
    (void)folder.put("root/tree/d", "a file where the folder should be");
    Serving serving(root);
    const auto saved = run({"save", "--replace", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 11) << saved.err;
    for (const auto* name : {"tree/pipe", "tree/empty", "tree/d", "tree/d/small", "tree/d/deep"}) {
        const auto told = saved.err.find(folder.at(name) + ": ");
        EXPECT_NE(told, std::string::npos) << name << " in " << saved.err;
        EXPECT_EQ(saved.err.find(folder.at(name) + ": ", told + 1), std::string::npos) << name << " in " << saved.err;
    }
    EXPECT_EQ(folder.get("root/tree/sparse"), folder.get("tree/sparse"));
    EXPECT_EQ(folder.get("root/tree/d"), "a file where the folder should be");
}

TEST_F(TreeProcess, PatternsSafeLinksAndADryRun) {
    Serving serving(root);
    const auto dry = run({"save", "-n", tree, serving.uri()});
    EXPECT_EQ(dry.exit, 0) << dry.err;
    EXPECT_NE(dry.out.find("tree/d/deep/large\n"), std::string::npos) << dry.out;
    EXPECT_FALSE(fs::exists(root + "/tree"));
    const auto some = run({"save", "--include=*/", "--include", "small", "--include=absolute", "--exclude=*",
                           "--safe-links", tree + "/", serving.uri() + "/some"});
    EXPECT_EQ(some.exit, 11) << some.err;
    EXPECT_NE(some.err.find("leads out"), std::string::npos) << some.err;
    EXPECT_EQ(Folder::list_of(root + "/some"),
              (std::vector<std::string>{"d", "d/deep", "d/deep/er", "d/small", "empty folder"}));
    EXPECT_EQ(run({"save", "--exclude=", tree, serving.uri()}).exit, 1);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    const auto back =
        run({"fetch", "--exclude", "/tree/d/", "--exclude=sparse", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(back.exit, 0) << back.err;
    EXPECT_EQ(Folder::list_of(folder.at("back")),
              (std::vector<std::string>{"tree", "tree/absolute", "tree/empty", "tree/empty folder", "tree/itself"}));
}

TEST_F(TreeProcess, PatternsAreReadFromFiles) {
    Serving serving(root);
    const auto out = folder.put("out", "# what goes\n; and why\n\n+ small\n**/d/*\nsparse\n");
    const auto some = run({"save", "--exclude=absolute", "--exclude-from", out, "--include-from", folder.put("in", "*"),
                           "--exclude=*", tree + "/", serving.uri()});
    EXPECT_EQ(some.exit, 0) << some.err;
    EXPECT_EQ(Folder::list_of(root), (Words{".cinnabar-staging", "d", "d/small", "empty", "empty folder", "itself"}));
    const auto bad = run({"save", "--exclude-from", folder.put("bad", "a\n/\n"), tree, serving.uri()});
    EXPECT_EQ(bad.exit, 1);
    EXPECT_NE(bad.err.find(folder.at("bad") + ":2"), std::string::npos) << bad.err;
    EXPECT_EQ(run({"save", "--include-from", folder.at("none"), tree, serving.uri()}).exit, 1);
}

TEST_F(TreeProcess, ANamedFileBesideATreeLeavesTheTreeItsAttributes) {
    const auto named = folder.put("a named file", "content");
    set_time(named, 5, 5);
    Serving serving(root);
    const auto saved = run({"save", named, tree, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(describe(root + "/tree"), describe(tree));
    struct stat status {};
    ASSERT_EQ(::stat((root + "/a named file").c_str(), &status), 0);
    EXPECT_GT(status.st_mtim.tv_sec, 5) << "a named file gets a new time without -p";
}

// It would be another name of whatever has the first name.
TEST_F(TreeProcess, AFurtherNameIsNotMadeWhenTheFirstOneFailed) {
    fs::create_directories(root + "/tree/d");
    (void)folder.put("root/tree/d/small", "something else");
    Serving serving(root);
    const auto saved = run({"save", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 3) << saved.err;
    EXPECT_NE(saved.err.find(folder.at("tree/d/deep/er/again") + ": "), std::string::npos) << saved.err;
    EXPECT_FALSE(fs::exists(root + "/tree/d/deep/er/again"));
    fs::remove(root + "/tree/d/small");
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    fs::create_directories(folder.at("back/tree/d"));
    (void)folder.put("back/tree/d/small", "something else");
    const auto fetched = run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 3) << fetched.err;
    EXPECT_FALSE(fs::exists(folder.at("back/tree/d/deep/er/again"))) << fetched.err;
}

TEST_F(TreeProcess, ADryRunOfAFetchMakesNothing) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    const auto dry =
        run({"fetch", "-n", serving.uri() + "/tree", serving.uri() + "/tree/empty", "-o", folder.at("back")});
    EXPECT_EQ(dry.exit, 0) << dry.err;
    EXPECT_NE(dry.out.find("tree/d/deep/large\n"), std::string::npos) << dry.out;
    EXPECT_FALSE(fs::exists(folder.at("back")));
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 0);
    const auto again = run({"fetch", "-n", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_EQ(again.out.find("large"), std::string::npos) << "what is the same is left out: " << again.out;
    EXPECT_EQ(run({"fetch", "-n", serving.uri() + "/tree", "-o", tree + "/empty"}).exit, 11) << "a file is no folder";
}

// A server in this process that refuses to list a folder of the test's choice.
TEST_F(TreeProcess, AListingThatFailsIsToldAndIsNoFile) {
    fs::create_directories(root + "/good/d");
    (void)folder.put("root/good/d/file", "content");
    (void)folder.put("root/file", "content");
    std::mutex mutex;
    std::string refused;
    Errc code = Errc::ok;
    files::ServerHooks hooks;
    hooks.may_access = [&](const files::AccessRequest& access) -> Result<void> {
        const std::lock_guard lock(mutex);
        if (access.kind == files::AccessRequest::Kind::list && access.name == refused) return code;
        return {};
    };
    const auto server = files::Server::make(files::Root::serve(root).value(), {}, {}, hooks).value();
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server->serve_on(node).ok());
    const auto fetch = [&](const std::string& name, const std::string& without, Errc why, const std::string& to) {
        {
            const std::lock_guard lock(mutex);
            refused = without;
            code = why;
        }
        return run({"fetch", "--insecure", node.endpoints().front() + name, "-o", folder.at(to)});
    };
    EXPECT_EQ(fetch("/file", "file", Errc::permission, "may").exit, 0) << "it may be a file, and is one";
    const auto busy = fetch("/file", "file", Errc::busy, "busy");
    EXPECT_EQ(busy.exit, 3) << busy.err;
    EXPECT_FALSE(fs::exists(folder.at("busy/file")));
    EXPECT_EQ(fetch("/good", "good/d", Errc::busy, "part").exit, 3);
    EXPECT_TRUE(fs::exists(folder.at("part/good/d")));
    const auto ended = fetch("/good", "good/d", Errc::shutting_down, "ended");
    EXPECT_EQ(ended.exit, fetch("/good", "good", Errc::shutting_down, "ended").exit) << ended.err;
    EXPECT_FALSE(fs::exists(folder.at("ended/good"))) << "nothing is moved after that";
}

// Otherwise a server could list few bytes and send as many as the disk holds.
TEST_F(TreeProcess, AFileThatIsLargerThanItWasListedIsNotTaken) {
    fs::create_directory(root + "/t");
    (void)folder.put("root/t/file", "0123456789");
    (void)folder.put("root/t/other", "content");
    files::ServerHooks hooks;
    hooks.may_access = [&](const files::AccessRequest& access) -> Result<void> {
        if (access.kind == files::AccessRequest::Kind::fetch && access.name == "t/file")
            std::ofstream(root + "/t/file", std::ios::app) << "more";
        return {};
    };
    const auto server = files::Server::make(files::Root::serve(root).value(), {}, {}, hooks).value();
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server->serve_on(node).ok());
    const auto fetched = run({"fetch", "--insecure", node.endpoints().front() + "/t", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 6) << fetched.err;
    EXPECT_NE(fetched.err.find("more bytes than it listed"), std::string::npos) << fetched.err;
    EXPECT_EQ(Folder::list_of(folder.at("back")), (Words{"t", "t/other"}));
}

TEST_F(TreeProcess, SmallFilesAreFetchedInPacks) {
    constexpr unsigned all = 300;
    fs::create_directories(root + "/many/d");
    for (unsigned i = 0; i < all; ++i)
        (void)folder.put((i % 2 ? "root/many/d/" : "root/many/") + std::to_string(i), pattern(i, i));
    const auto server = files::Server::make(files::Root::serve(root).value(), {}, {}, {}).value();
    const auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(server->serve_on(node).ok());
    const auto requests = [&](const std::string& rpc) {
        std::uint64_t count = 0;
        for (const auto& counts : node.stats()) count += counts.name == rpc ? counts.requests : 0;
        return count;
    };
    std::uint64_t packs = 0;
    for (const auto* sync : {"each", "batch", "none"}) {
        const auto back = folder.at(std::string("back-") + sync);
        const auto fetched = run({"fetch", "--insecure", "--json", std::string("--sync=") + sync,
                                  node.endpoints().front() + "/many", "-o", back});
        EXPECT_EQ(fetched.exit, 0) << fetched.err;
        EXPECT_NE(fetched.out.find("\"done\": 300"), std::string::npos) << fetched.out;
        EXPECT_EQ(describe(back + "/many"), describe(root + "/many"));
        packs += 5;
        EXPECT_EQ(requests("cinnabar.save.read_pack"), packs);
    }
    EXPECT_EQ(requests("cinnabar.save.ask"), 0u);
    const auto again =
        run({"fetch", "--insecure", "--json", "-c", node.endpoints().front() + "/many", "-o", folder.at("back-none")});
    EXPECT_NE(again.out.find("\"files\": 0"), std::string::npos) << "all are the same: " << again.out;
    EXPECT_EQ(requests("cinnabar.save.read_pack"), packs);
}

TEST_F(TreeProcess, ATreeThatHasTheServersRootInItEnds) {
    const std::string inside = tree + "/served";
    fs::create_directory(inside);
    Serving serving(inside);
    const auto saved = run({"save", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 11) << "the unfinished files are told: " << saved.err;
    EXPECT_EQ(folder.get("tree/served/tree/d/small"), folder.get("tree/d/small"));
    EXPECT_TRUE(fs::is_empty(inside + "/tree/served"));
}

// When a tree is fetched, its links lead no file outside, in whatever order they arrive.
TEST_F(TreeProcess, NothingIsFetchedThroughALink) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    fs::create_directories(folder.at("outside"));
    fs::create_directories(folder.at("back/tree"));
    fs::create_symlink(folder.at("outside"), folder.at("back/tree/d"));
    const auto fetched = run({"fetch", "--replace", serving.uri() + "/tree", "-o", folder.at("back")});
    EXPECT_NE(fetched.exit, 0);
    EXPECT_TRUE(fs::is_empty(folder.at("outside"))) << fetched.err;
    EXPECT_EQ(folder.get("back/tree/sparse"), folder.get("tree/sparse"));
}

// Also where the link stays inside.
TEST_F(TreeProcess, NothingIsMadeInAFolderWhoseNameALinkHas) {
    Serving serving(root);
    for (const std::string& side : {root, folder.at("back")}) {
        fs::create_directories(side + "/tree");
        fs::create_directory(side + "/inside");
        fs::create_symlink("../inside", side + "/tree/d");
    }
    EXPECT_EQ(run({"save", "--replace", tree, serving.uri()}).exit, 3);
    EXPECT_TRUE(fs::is_empty(root + "/inside"));
    fs::remove_all(root + "/tree");
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    EXPECT_EQ(run({"fetch", "--replace", serving.uri() + "/tree", "-o", folder.at("back")}).exit, 3);
    EXPECT_TRUE(fs::is_empty(folder.at("back/inside")));
    EXPECT_EQ(folder.get("back/tree/sparse"), folder.get("tree/sparse"));
}

TEST_F(TreeProcess, TwoTreesHaveFoldersInCommonAndNothingElse) {
    Serving serving(root);
    for (const char* name : {"one", "two"}) {
        fs::create_directories(folder.path() / name / "both");
        (void)folder.put(std::string(name) + "/both/" + name, name);
    }
    const std::string one = folder.at("one/");
    const std::string two = folder.at("two/");
    EXPECT_EQ(run({"save", one, two, serving.uri()}).exit, 0);
    EXPECT_EQ(folder.get("root/both/one") + folder.get("root/both/two"), "onetwo");
    (void)folder.put("two/both/one", "another");
    const auto twice = run({"save", "--replace", one, two, serving.uri()});
    EXPECT_EQ(twice.exit, 1) << twice.err;
    EXPECT_NE(twice.err.find("would both become both/one"), std::string::npos) << twice.err;
    EXPECT_EQ(folder.get("root/both/one"), "one") << "nothing was saved";
    fs::create_directory(root + "/other");
    (void)folder.put("root/other/one", "another");
    const auto fetched = run({"fetch", serving.uri() + "/both/", serving.uri() + "/other/", "-o", folder.at("back")});
    EXPECT_EQ(fetched.exit, 11) << fetched.err;
    EXPECT_NE(fetched.err.find("would both become"), std::string::npos) << fetched.err;
}

TEST_F(TreeProcess, WhatAKilledFetchLeftIsRemovedByTheNextOneAndNeverSaved) {
    Serving serving(root);
    (void)folder.put("root/a", "x");
    const auto left = folder.put("tree/.cinnabar-0123456789abcdef.part", "half a file");
    const auto fetched = run({"fetch", "--dry-run", serving.uri() + "/a", "-o", tree});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_TRUE(fs::exists(left)) << "a dry run changes nothing";
    const auto saved = run({"save", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_TRUE(fs::exists(root + "/tree/d/small"));
    EXPECT_FALSE(fs::exists(root + "/tree/.cinnabar-0123456789abcdef.part"));
    EXPECT_EQ(run({"fetch", serving.uri() + "/a", "-o", tree}).exit, 0);
    EXPECT_FALSE(fs::exists(left));
}

}  // namespace
}  // namespace cinnabar::tools
