// SPDX-License-Identifier: BSD-3-Clause
// Trees at both ends: what is found in one here, and what is made of one below a root.
#include "support/content.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/files/root.hpp>
#include <cinnabar/files/source_tree.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

struct stat status_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::lstat(path.c_str(), &status), 0) << path;
    return status;
}

struct SourceTreeTest : testing::Test {
    Folder folder;
    Filter filter;
    Scan scan(std::string_view prefix = {}) const {
        return SourceTree::open(folder.path().string()).value().scan(filter, prefix, {});
    }
    static std::vector<std::string> names(const Scan& scan) {
        std::vector<std::string> result;
        for (const auto& entry : scan.entries) result.push_back(entry.name);
        std::ranges::sort(result);
        return result;
    }
    static std::map<std::string, Errc> problems(const Scan& scan) {
        std::map<std::string, Errc> result;
        for (const auto& problem : scan.problems) result[problem.path] = problem.error.code;
        return result;
    }
};

TEST_F(SourceTreeTest, FindsEverythingAndSaysWhatCannotBeMoved) {
    fs::create_directories(folder.path() / "d/e");
    (void)folder.put("d/e/file", "12345");
    (void)folder.put("\xff\n", "");
    fs::create_symlink("/nowhere", folder.path() / "dangling");
    fs::create_symlink(".", folder.path() / "d/loop");
    fs::create_hard_link(folder.path() / "d/e/file", folder.path() / "again");
    ASSERT_EQ(::mkfifo(folder.at("pipe").c_str(), 0600), 0);
    const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (void)folder.at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    (void)::close(listener);
    const auto found = scan();
    EXPECT_EQ(names(found),
              (std::vector<std::string>{"again", "d", "d/e", "d/e/file", "d/loop", "dangling", "\xff\n"}));
    EXPECT_EQ(problems(found),
              (std::map<std::string, Errc>{{"pipe", Errc::invalid_argument}, {"socket", Errc::invalid_argument}}));
    const auto of = [&](std::string_view name) { return *std::ranges::find(found.entries, name, &Entry::name); };
    EXPECT_EQ(of("d/e/file").bytes, 5u);
    EXPECT_NE(of("again").inode, 0u);
    EXPECT_EQ(of("again").inode, of("d/e/file").inode);
    EXPECT_EQ(of("\xff\n").inode, 0u);
    EXPECT_EQ(of("d/loop").target, ".");
    const auto at = [&](std::string_view name) { return std::ranges::find(found.entries, name, &Entry::name); };
    EXPECT_LT(at("d"), at("d/e")) << "a folder comes before what is in it";
}

TEST_F(SourceTreeTest, WhatIsLeftOutIsNotLookedInto) {
    fs::create_directories(folder.path() / "out/deep");
    (void)folder.put("out/deep/file", "");
    (void)folder.put("in", "");
    ASSERT_TRUE(filter.add(Filter::Verdict::exclude, "/top/out/").ok());
    EXPECT_EQ(names(scan("top/")), (std::vector<std::string>{"in"}));
    EXPECT_EQ(scan("other/").entries.size(), 4u);
}

TEST_F(SourceTreeTest, AServersUnfinishedFilesAreLeftOut) {
    fs::create_directories(folder.path() / "root/.cinnabar-staging");
    (void)folder.put("root/.cinnabar-staging/.cinnabar-0.part", "half");
    const auto found = scan();
    EXPECT_EQ(names(found), (std::vector<std::string>{"root"}));
    EXPECT_EQ(problems(found).at("root/.cinnabar-staging"), Errc::invalid_argument);
}

// A killed fetch leaves them in the folder that it fetches into.
TEST_F(SourceTreeTest, AFetchsUnfinishedFilesAreLeftOut) {
    fs::create_directories(folder.path() / "d/.cinnabar-0123456789abcdef.part");
    for (const std::string name : {".cinnabar-0123456789abcdef.part", ".cinnabar-0123456789abcdef.journal",
                                   "d/.cinnabar-00000000ffffffff.part", "d/.cinnabar-mine.part"})
        (void)folder.put(name, "half");
    const auto found = scan();
    EXPECT_EQ(names(found),
              (std::vector<std::string>{"d", "d/.cinnabar-0123456789abcdef.part", "d/.cinnabar-mine.part"}));
    EXPECT_TRUE(found.problems.empty());
    EXPECT_EQ(found.filtered, 3u);
}

TEST_F(SourceTreeTest, AFolderThatBecomesALinkIsNoWayOut) {
    const Folder outside;
    (void)outside.put("file", "secret");
    fs::create_directory(folder.path() / "d");
    (void)folder.put("d/file", "ours");
    const auto tree = SourceTree::open(folder.path().string()).value();
    EXPECT_TRUE(tree.open_file("d/file").ok());
    fs::remove_all(folder.path() / "d");
    fs::create_symlink(outside.path(), folder.path() / "d");
    EXPECT_EQ(tree.open_file("d/file").code(), Errc::permission);
    fs::remove(folder.path() / "d");
    EXPECT_EQ(tree.open_file("d/file").code(), Errc::not_found) << "one that vanished";
}

TEST_F(SourceTreeTest, PathsOverTheLimitAreTold) {
    const std::string part(200, 'x');
    int at = ::open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);
    std::size_t bytes = 0;
    while (bytes < 4300) {
        ASSERT_EQ(::mkdirat(at, part.c_str(), 0700), 0);
        const int next = ::openat(at, part.c_str(), O_RDONLY | O_DIRECTORY);
        (void)::close(at);
        at = next;
        bytes += part.size() + 1;
    }
    (void)::close(at);
    const auto found = scan();
    EXPECT_EQ(found.entries.size(), 20u);  // 4,019 bytes
    ASSERT_EQ(found.problems.size(), 1u);
    EXPECT_EQ(found.problems[0].error.code, Errc::too_large);
}

struct TreeRootTest : testing::Test {
    Folder folder;
    std::optional<Root> root;
    TreeRootTest() {
        fs::create_directory(folder.at("r"));
        root.emplace(Root::serve(folder.at("r")).value());
    }
    static Attributes attributes(std::uint32_t mode = 0751) {
        Attributes result;
        result.mode = mode;
        result.modified_s = -5;
        result.modified_ns = 123'456'789;
        return result;
    }
    Result<void> save(const std::string& name, const std::string& content) const {
        CINNABAR_TRY(auto file, root->create(name, content.size(), 0600, Existing::keep));
        CINNABAR_TRY_VOID(file.write(0, as_bytes(content)));
        return file.commit();
    }
    bool staging_is_empty() const { return fs::is_empty(folder.at("r/.cinnabar-staging")); }
};

TEST_F(TreeRootTest, AFolderIsItsOwnersUntilItIsFinished) {
    ASSERT_TRUE(root->make_folder("d").ok());
    ASSERT_TRUE(root->make_folder("d").ok()) << "one that is there is none to make";
    EXPECT_EQ(status_of(folder.at("r/d")).st_mode & 07777, 0700u);
    ASSERT_TRUE(root->finish_folder("d", attributes(04751)).ok());
    const auto status = status_of(folder.at("r/d"));
    EXPECT_EQ(status.st_mode & 07777, 0751u) << "and no set-user-id";
    EXPECT_EQ(status.st_mtim.tv_sec, -5);
    EXPECT_EQ(status.st_mtim.tv_nsec, 123'456'789);
    Attributes no_time;
    no_time.modified_ns = 1'000'000'000;
    EXPECT_EQ(root->finish_folder("d", no_time).code(), Errc::invalid_argument);
    EXPECT_EQ(root->finish_folder("e", attributes()).code(), Errc::not_found);
    EXPECT_EQ(root->make_folder("e/f").code(), Errc::not_found);
    (void)folder.put("r/file", "");
    EXPECT_EQ(root->make_folder("file").code(), Errc::exists);
    EXPECT_EQ(root->finish_folder("file", attributes()).code(), Errc::invalid_argument);
}

TEST_F(TreeRootTest, AFolderForReadingOnlyIsOpenedForTheWhile) {
    fs::permissions(folder.path(), fs::perms::all);
    const support::AsNobody nobody;
    fs::create_directory(folder.at("own"));
    const auto own = Root::open(folder.at("own")).value();
    const auto mode_of = [&](const std::string& name) { return status_of(folder.at(name)).st_mode & 07777u; };
    ASSERT_TRUE(own.make_folder("d").ok());
    ASSERT_TRUE(own.finish_folder("d", attributes(0555)).ok());
    EXPECT_EQ(own.create("d/a", 1, 0600, Existing::keep).code(), Errc::permission);
    ASSERT_TRUE(own.make_folder("d").ok());
    EXPECT_EQ(mode_of("own/d"), 0755u) << "for its owner, and no one else";
    {
        auto file = own.create("d/a", 1, 0600, Existing::keep);
        ASSERT_TRUE(file.ok()) << file.error().message();
        EXPECT_TRUE(file->commit().ok());
    }
    ASSERT_TRUE(own.finish_folder("d", attributes(0555)).ok());
    EXPECT_EQ(mode_of("own/d"), 0555u);
    fs::create_symlink("d", folder.at("own/link"));
    EXPECT_EQ(own.make_folder("link").code(), Errc::exists);
    EXPECT_EQ(mode_of("own/d"), 0555u) << "not through a link";
    fs::permissions(folder.at("own/d"), fs::perms::owner_all);
}

TEST_F(TreeRootTest, AFolderOfSomebodyElseStaysClosed) {
    if (::geteuid() != 0) GTEST_SKIP() << "giving a folder away needs root";
    fs::create_directory(folder.at("r/d"));
    ASSERT_EQ(::chown(folder.at("r/d").c_str(), 65534, 65534), 0);
    fs::permissions(folder.at("r/d"), fs::perms(0555));
    ASSERT_TRUE(root->make_folder("d").ok());
    EXPECT_EQ(status_of(folder.at("r/d")).st_mode & 07777u, 0555u);
}

TEST_F(TreeRootTest, NothingIsMadeOutside) {
    const Folder outside;
    (void)folder.put("r/a", "");
    fs::create_symlink(outside.path(), folder.path() / "r/out");
    fs::create_symlink("../..", folder.path() / "r/up");
    for (const std::string name : {"out/x", "up/x", "../x", "/x"}) {
        EXPECT_EQ(root->make_folder(name).code(), Errc::permission) << name;
        EXPECT_EQ(root->make_link(name, "t", attributes(), Existing::replace).code(), Errc::permission) << name;
        EXPECT_EQ(root->finish_folder(name, attributes()).code(), Errc::permission) << name;
        EXPECT_EQ(root->make_hard_link("b", name, Existing::keep).code(), Errc::permission) << name;
        EXPECT_EQ(root->make_hard_link(name, "a", Existing::keep).code(), Errc::permission) << name;
        EXPECT_EQ(root->list(name, 0, {}).code(), Errc::permission) << name;
    }
    EXPECT_NE(root->finish_folder("out", attributes()).code(), Errc::ok) << "a link is no folder";
    EXPECT_NE(root->list("out", 0, {}).code(), Errc::ok);
    EXPECT_EQ(root->make_folder("out").code(), Errc::exists);
    EXPECT_TRUE(outside.list().empty());
    EXPECT_EQ(root->make_folder(".cinnabar-staging/x").code(), Errc::permission);
    EXPECT_EQ(root->list(".cinnabar-staging", 0, {}).code(), Errc::permission);
}

TEST_F(TreeRootTest, NoLinkIsFollowedBelowAFolderThatSaysSo) {
    fs::create_directories(folder.path() / "r/up/d/e");
    (void)folder.put("r/up/d/e/file", "");
    fs::create_symlink("up", folder.path() / "r/way");
    fs::create_symlink("d", folder.path() / "r/up/link");
    for (const std::string below : {"", "up", "up/d", "up/d/e"}) {
        const auto listed = root->list("up/d/e", 0, {}, below);
        ASSERT_TRUE(listed.ok()) << below << ": " << listed.error().message();
        EXPECT_EQ(listed->entries.size(), 1u);
    }
    EXPECT_TRUE(root->list("way/d/e", 0, {}, "way/d").ok()) << "before that folder, links are followed";
    EXPECT_TRUE(root->list("up/link/e", 0, {}).ok());
    EXPECT_EQ(root->list("up/link/e", 0, {}, "up").code(), Errc::permission);
    EXPECT_EQ(root->list("way/d/e", 0, {}, "").code(), Errc::permission);
    EXPECT_FALSE(root->list("way/d", 0, {}, "way").ok()) << "that folder is a link itself";
    EXPECT_FALSE(root->list("up/link", 0, {}, "up").ok());
    EXPECT_EQ(root->list("up/none", 0, {}, "up").code(), Errc::not_found);
    EXPECT_EQ(root->list("up/d/e/file", 0, {}, "up").code(), Errc::invalid_argument);
    EXPECT_EQ(root->remove("up/link/e/file", "up").code(), Errc::permission);
    EXPECT_TRUE(fs::exists(folder.at("r/up/d/e/file")));
    EXPECT_TRUE(root->remove("up/link", "up").ok()) << "the link itself is one to remove";
    EXPECT_TRUE(root->remove("way/d/e/file", "way/d").ok());
    EXPECT_TRUE(root->remove("up/d/e", "").ok());
    EXPECT_FALSE(fs::exists(folder.at("r/up/d/e")));
}

TEST_F(TreeRootTest, AFolderThatLinksEndAtContainsTheName) {
    fs::create_directories(folder.path() / "r/ab/c");
    fs::create_directories(folder.path() / "r/a");
    for (const std::string below : {"a", "ab/c/d", "ab/", "/", "..", "ab/../a", "."}) {
        EXPECT_EQ(root->list("ab/c", 0, {}, below).code(), Errc::invalid_argument) << below;
        EXPECT_EQ(root->remove("ab/c", below).code(), Errc::invalid_argument) << below;
    }
    EXPECT_EQ(root->remove("ab/c", "ab/c").code(), Errc::invalid_argument) << "it has to be in that folder";
    EXPECT_EQ(root->list("ab/../../x", 0, {}, "ab").code(), Errc::permission);
    EXPECT_EQ(root->list("..", 0, {}, "..").code(), Errc::permission);
    EXPECT_EQ(root->list(".cinnabar-staging", 0, {}, "").code(), Errc::permission);
    EXPECT_EQ(root->remove(".cinnabar-staging/x", "").code(), Errc::permission);
    EXPECT_TRUE(fs::exists(folder.at("r/ab/c")));
}

TEST_F(TreeRootTest, LinksAreMadeAsTheyAre) {
    ASSERT_TRUE(root->make_link("l", "/etc/nowhere", attributes(), Existing::keep).ok());
    EXPECT_EQ(fs::read_symlink(folder.at("r/l")), "/etc/nowhere");
    EXPECT_EQ(status_of(folder.at("r/l")).st_mtim.tv_nsec, 123'456'789);
    EXPECT_EQ(root->make_link("l", "other", attributes(), Existing::keep).code(), Errc::exists);
    EXPECT_EQ(fs::read_symlink(folder.at("r/l")), "/etc/nowhere");
    EXPECT_TRUE(root->make_link("l", "other", attributes(), Existing::replace).ok());
    EXPECT_EQ(fs::read_symlink(folder.at("r/l")), "other");
    EXPECT_EQ(root->make_link("m", "", attributes(), Existing::keep).code(), Errc::invalid_argument);
    EXPECT_EQ(root->make_link("m", std::string("a\0b", 3), attributes(), Existing::keep).code(),
              Errc::invalid_argument);
    EXPECT_EQ(root->make_link("m", std::string(4096, 'a'), attributes(), Existing::keep).code(), Errc::too_large);
    ASSERT_TRUE(root->make_folder("d").ok());
    EXPECT_EQ(root->make_link("d", "x", attributes(), Existing::replace).code(), Errc::invalid_argument);
    EXPECT_TRUE(staging_is_empty());
}

TEST_F(TreeRootTest, AFileGetsAnotherName) {
    ASSERT_TRUE(save("a", "content").ok());
    ASSERT_TRUE(root->make_hard_link("b", "a", Existing::keep).ok());
    EXPECT_EQ(status_of(folder.at("r/a")).st_ino, status_of(folder.at("r/b")).st_ino);
    EXPECT_EQ(root->make_hard_link("b", "a", Existing::keep).code(), Errc::exists);
    EXPECT_TRUE(root->make_hard_link("b", "a", Existing::replace).ok()) << "it is the same file already";
    EXPECT_EQ(root->make_hard_link("c", "none", Existing::keep).code(), Errc::not_found);
    ASSERT_TRUE(root->make_folder("d").ok());
    ASSERT_TRUE(root->make_link("l", "a", attributes(), Existing::keep).ok());
    EXPECT_EQ(root->make_hard_link("c", "d", Existing::keep).code(), Errc::invalid_argument);
    EXPECT_EQ(root->make_hard_link("c", "l", Existing::keep).code(), Errc::invalid_argument) << "nor of a link";
    EXPECT_FALSE(fs::exists(folder.at("r/c")));
    EXPECT_TRUE(staging_is_empty());
}

TEST_F(TreeRootTest, AReadOnlyRootMakesNothing) {
    (void)folder.put("r/a", "");
    const auto given = Root::serve_read_only(folder.at("r")).value();
    EXPECT_EQ(given.make_folder("x").code(), Errc::permission);
    EXPECT_EQ(given.make_link("x", "t", attributes(), Existing::keep).code(), Errc::permission);
    EXPECT_EQ(given.make_hard_link("x", "a", Existing::keep).code(), Errc::permission);
    EXPECT_EQ(given.finish_folder("x", attributes()).code(), Errc::permission);
    EXPECT_TRUE(given.list("", 0, {}).ok());
}

TEST_F(TreeRootTest, AFolderIsListedInParts) {
    std::vector<std::string> made;
    for (int i = 0; i < 700; ++i) {
        made.push_back("f" + std::to_string(i));
        (void)folder.put("r/" + made.back(), std::string(static_cast<std::size_t>(i % 7), 'x'));
    }
    std::vector<std::string> listed;
    std::uint64_t cursor = 0;
    std::size_t parts = 0;
    do {
        const auto part = root->list("", cursor, {}).value();
        EXPECT_LE(part.entries.size(), listing_entries_max);
        for (const auto& entry : part.entries) listed.push_back(entry.name);
        cursor = part.cursor;
        ASSERT_LT(++parts, 10u);
    } while (cursor != 0);
    std::ranges::sort(made);
    std::ranges::sort(listed);
    EXPECT_EQ(listed, made) << "all of them, each once, and not the staging folder";
    EXPECT_EQ(parts, 3u);
    EXPECT_EQ(root->list("f0", 0, {}).code(), Errc::invalid_argument);
    EXPECT_EQ(root->list("none", 0, {}).code(), Errc::not_found);
}

TEST_F(TreeRootTest, UnfinishedFilesOfAServerBelowAreNotListed) {
    fs::create_directories(folder.path() / "r/d/.cinnabar-staging");
    fs::create_directories(folder.path() / "r/e");
    (void)folder.put("r/d/file", "");
    (void)folder.put("r/e/.cinnabar-staging", "a file of that name is one as any other");
    const auto listed = root->list("d", 0, {}).value().entries;
    ASSERT_EQ(listed.size(), 1u);
    EXPECT_EQ(listed[0].name, "file");
    EXPECT_EQ(root->list("e", 0, {}).value().entries.size(), 1u);
}

TEST_F(TreeRootTest, ASparseFileStaysSparseAndWhole) {
    constexpr std::size_t bytes = 8u << 20;
    std::string content(bytes, '\0');
    content.replace(1u << 20, 5000, pattern(5000));
    content.back() = 'e';
    auto file = root->create("s", 0, 0600, Existing::keep).value();
    ASSERT_TRUE(file.set_sparse(bytes).ok());
    ASSERT_TRUE(file.write(0, as_bytes(content).first(bytes / 2)).ok());
    ASSERT_TRUE(file.write(bytes / 2, as_bytes(content).subspan(bytes / 2)).ok());
    file.keep(attributes(0604));
    ASSERT_TRUE(file.commit().ok());
    EXPECT_EQ(folder.get("r/s"), content);
    const auto status = status_of(folder.at("r/s"));
    EXPECT_LT(status.st_blocks * 512, 64 << 10);
    EXPECT_EQ(status.st_mode & 07777, 0604u);
    EXPECT_EQ(status.st_mtim.tv_nsec, 123'456'789);
    const auto source = root->open_source("s").value();
    EXPECT_TRUE(source.sparse());
    EXPECT_TRUE(source.is_hole(2u << 20, 1u << 20));
    EXPECT_FALSE(source.is_hole(1u << 20, 1u << 20));
    EXPECT_FALSE(source.is_hole(7u << 20, 1u << 20));
}

// Not as root: another owner of a file needs write permission to set its extended attributes.
TEST_F(TreeRootTest, ExtendedAttributesOfWhatIsForReadingOnly) {
    (void)folder.put("r/file", "");
    fs::create_directory(folder.path() / "r/d");
    if (::setxattr(folder.at("r/file").c_str(), "user.x", "", 0, 0) != 0) GTEST_SKIP() << "no user.* attributes here";
    // u::r, u:65533:r, g::r, m::r, o::r
    const std::string acl(
        "\2\0\0\0\1\0\4\0\xff\xff\xff\xff\2\0\4\0\xfd\xff\0\0\4\0\4\0\xff\xff\xff\xff"
        "\20\0\4\0\xff\xff\xff\xff\40\0\4\0\xff\xff\xff\xff",
        44);
    const bool acls =
        ::setxattr(folder.at("r/file").c_str(), "system.posix_acl_access", acl.data(), acl.size(), 0) == 0;
    for (const std::string name : {"r/file", "r/d"}) {
        if (::geteuid() == 0) {
            ASSERT_EQ(::chown(folder.at(name).c_str(), 65534, 65534), 0);
        }
        ASSERT_EQ(::chmod(folder.at(name).c_str(), 0700), 0);
        const UniqueFd fd(::open(folder.at(name).c_str(), O_RDONLY));
        ASSERT_TRUE(fd);
        Attributes wanted = attributes(0444);
        if (acls) wanted.extended.push_back({"system.posix_acl_access", acl});
        wanted.extended.push_back({"user.y", "value"});
        const support::AsNobody somebody;
        const auto given = give_attributes(fd.get(), wanted, name);
        EXPECT_TRUE(given.ok()) << name << ": " << given.error().message();
        EXPECT_EQ(read_extended(fd.get(), {.user = true}, name).value().back().value, "value") << name;
        struct stat status {};
        ASSERT_EQ(::fstat(fd.get(), &status), 0);
        EXPECT_EQ(status.st_mode & 07777, 0444u) << name;
        EXPECT_EQ(status.st_mtim.tv_nsec, 123'456'789) << name;
    }
}

TEST_F(TreeRootTest, ExtendedAttributesThatGiveRightsAreRefused) {
    (void)folder.put("r/a", "");
    if (::setxattr(folder.at("r/a").c_str(), "user.x", "value", 5, 0) != 0) GTEST_SKIP() << "no user.* attributes here";
    const auto source = root->open_source("a").value();
    const auto read = source.attributes({.user = true}).value();
    ASSERT_EQ(read.extended.size(), 1u);
    EXPECT_EQ(read.extended[0].name, "user.x");
    EXPECT_EQ(read.extended[0].value, "value");
    EXPECT_TRUE(source.attributes({}).value().extended.empty());
    const auto commit = [&](const std::string& name, const ExtendedAttribute& attribute) {
        auto file = root->create(name, 0, 0600, Existing::keep).value();
        Attributes wanted = attributes();
        wanted.extended.push_back(attribute);
        file.keep(wanted);
        return file.commit();
    };
    EXPECT_TRUE(commit("b", read.extended[0]).ok());
    for (const auto* name : {"security.capability", "trusted.overlay.opaque", "system.other", ""}) {
        EXPECT_EQ(commit("c", {name, "x"}).code(), Errc::permission) << name;
    }
    EXPECT_FALSE(fs::exists(folder.at("r/c")));
    EXPECT_TRUE(staging_is_empty());
}

}  // namespace
}  // namespace cinnabar::files
