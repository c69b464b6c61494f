// SPDX-License-Identifier: BSD-3-Clause
// Saving below a root: which files get their names, which are refused, and that no existing file is ever lost.
#include "root_fixture.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::AsNobody;
using support::FileSizeLimit;
using support::Folder;
using support::pattern;
using support::SmallDisk;

TEST_F(RootTest, AFileAppearsWholeAtTheCommitAndNotBefore) {
    const auto root = serve();
    auto file = root.create("a.bin", 6, 0640, Existing::keep).value();
    ASSERT_TRUE(file.write(3, as_bytes("def")).ok());
    ASSERT_TRUE(file.write(0, as_bytes("abc")).ok());
    EXPECT_FALSE(fs::exists(base / "a.bin"));
    ASSERT_TRUE(file.commit().ok());
    EXPECT_EQ(content_of("a.bin"), "abcdef");
    struct stat status {};
    ASSERT_EQ(::stat((base / "a.bin").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u & ~0640u, 0u);
    EXPECT_TRUE(fs::is_empty(base / staging_folder));
}

TEST_F(RootTest, AnEmptyFileIsAFile) {
    const auto root = serve();
    ASSERT_TRUE(save(root, "empty", "").ok());
    EXPECT_EQ(content_of("empty"), "");
}

TEST_F(RootTest, AFileGivenUpLeavesNothing) {
    {
        const auto root = serve();
        {
            auto file = root.create("a", 3, 0644, Existing::keep).value();
            ASSERT_TRUE(file.write(0, as_bytes("abc")).ok());
        }
        EXPECT_TRUE(fs::is_empty(base / staging_folder));
    }
    EXPECT_TRUE(fs::is_empty(base)) << "the staging folder goes with its server";
}

TEST_F(RootTest, WhatExistsIsKept) {
    const auto root = serve();
    folder.put("root/a", "old");
    EXPECT_EQ(save(root, "a", "new").code(), Errc::exists);
    EXPECT_EQ(content_of("a"), "old");
}

TEST_F(RootTest, WhatCameUpMeanwhileIsKept) {
    const auto root = serve();
    auto file = root.create("a", 3, 0644, Existing::keep).value();
    ASSERT_TRUE(file.write(0, as_bytes("new")).ok());
    folder.put("root/a", "old");
    EXPECT_EQ(file.commit().code(), Errc::exists);
    EXPECT_EQ(content_of("a"), "old");
    EXPECT_TRUE(fs::is_empty(base / staging_folder));
}

TEST_F(RootTest, ReplaceReplacesAtTheCommitAndNotBefore) {
    const auto root = serve();
    folder.put("root/a", "old");
    auto file = root.create("a", 3, 0644, Existing::replace).value();
    ASSERT_TRUE(file.write(0, as_bytes("new")).ok());
    EXPECT_EQ(content_of("a"), "old");
    ASSERT_TRUE(file.commit().ok());
    EXPECT_EQ(content_of("a"), "new");
}

TEST_F(RootTest, ReplacingALinkLeavesWhatItPointsTo) {
    const auto root = serve();
    folder.put("outside", "precious");
    fs::create_symlink("../outside", base / "link");
    EXPECT_EQ(save(root, "link", "new").code(), Errc::exists);
    ASSERT_TRUE(save(root, "link", "new", Existing::replace).ok());
    EXPECT_EQ(content_of("link"), "new");
    EXPECT_FALSE(fs::is_symlink(base / "link"));
    EXPECT_EQ(folder.get("outside"), "precious");
}

TEST_F(RootTest, ADirectoryInPlaceStays) {
    const auto root = serve();
    fs::create_directory(base / "d");
    folder.put("root/d/inside", "precious");
    for (const auto existing : {Existing::keep, Existing::replace})
        EXPECT_EQ(save(root, "d", "new", existing).code(), Errc::invalid_argument);
    EXPECT_EQ(content_of("d/inside"), "precious");
}

TEST_F(RootTest, ADirectoryThatCameUpMeanwhileStays) {
    const auto root = serve();
    auto file = root.create("d", 0, 0644, Existing::replace).value();
    fs::create_directory(base / "d");
    EXPECT_EQ(file.commit().code(), Errc::invalid_argument);
    EXPECT_TRUE(fs::is_directory(base / "d"));
    EXPECT_TRUE(fs::is_empty(base / staging_folder));
}

TEST_F(RootTest, APipeInPlaceIsNotReplaced) {
    const auto root = serve();
    ASSERT_EQ(::mkfifo((base / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(save(root, "pipe", "new", Existing::replace).code(), Errc::invalid_argument);
    EXPECT_TRUE(fs::is_fifo(base / "pipe"));
    EXPECT_EQ(root.open_source("pipe").code(), Errc::invalid_argument) << "and reading it does not block";
}

TEST_F(RootTest, APipeThatCameUpMeanwhileIsNotReplaced) {
    const auto root = serve();
    auto file = root.create("a", 3, 0644, Existing::replace).value();
    ASSERT_TRUE(file.write(0, as_bytes("abc")).ok());
    ASSERT_EQ(::mkfifo((base / "a").c_str(), 0600), 0);
    EXPECT_EQ(file.commit().code(), Errc::invalid_argument);
    EXPECT_TRUE(fs::is_fifo(base / "a"));
    EXPECT_TRUE(fs::is_empty(base / staging_folder));
}

TEST_F(RootTest, AFileDoesNotFollowItsDirectoryOut) {
    const auto root = serve();
    fs::create_directory(base / "sub");
    auto gone = root.create("sub/a", 3, 0644, Existing::keep).value();
    auto replaced = root.create("sub/b", 3, 0644, Existing::replace).value();
    fs::rename(base / "sub", folder.path() / "outside");
    EXPECT_EQ(gone.commit().code(), Errc::not_found);
    fs::create_directory(base / "sub");
    EXPECT_EQ(replaced.commit().code(), Errc::not_found);
    EXPECT_TRUE(fs::is_empty(folder.path() / "outside"));
    EXPECT_TRUE(fs::is_empty(base / "sub"));
    EXPECT_TRUE(fs::is_empty(base / staging_folder));
}

TEST_F(RootTest, FoldersBelowTheRootAreReachedAndMissingOnesNamed) {
    const auto root = serve();
    fs::create_directories(base / "x" / "y");
    ASSERT_TRUE(save(root, "x/y/z", "deep").ok());
    EXPECT_EQ(content_of("x/y/z"), "deep");
    const auto missing = save(root, "nowhere/z", "deep");
    EXPECT_EQ(missing.code(), Errc::not_found);
    EXPECT_EQ(save(root, "x/y/z/below-a-file", "deep").code(), Errc::invalid_argument);
}

TEST_F(RootTest, NoLinkLeadsOut) {
    const auto root = serve();
    fs::create_directory(folder.path() / "outside");
    folder.put("outside/secret", "precious");
    fs::create_symlink("../outside", base / "relative");
    fs::create_symlink(folder.path() / "outside", base / "absolute");
    fs::create_symlink("/proc/self/root", base / "magic");
    fs::create_symlink("../outside/secret", base / "file");
    fs::create_symlink("loop", base / "loop");
    for (const std::string name : {"relative/new", "absolute/new", "magic/new", "loop/new"})
        EXPECT_EQ(save(root, name, "x", Existing::replace).code(), Errc::permission) << name;
    for (const std::string name : {"relative/secret", "absolute/secret", "magic/etc/passwd", "file", "loop"})
        EXPECT_EQ(root.open_source(name).code(), Errc::permission) << name;
    EXPECT_EQ(Folder::list_of(folder.path() / "outside"), Names{"secret"});
    EXPECT_EQ(folder.get("outside/secret"), "precious");
}

TEST_F(RootTest, LinksThatStayInsideAreFollowed) {
    const auto root = serve();
    fs::create_directory(base / "real");
    fs::create_symlink("real", base / "alias");
    ASSERT_TRUE(save(root, "alias/a", "inside").ok());
    EXPECT_EQ(content_of("real/a"), "inside");
    EXPECT_TRUE(root.open_source("alias/a").ok());
}

TEST_F(RootTest, NoLinkLeadsToUnfinishedFiles) {
    const auto root = serve();
    fs::create_symlink(".cinnabar-staging", base / "alias");
    EXPECT_EQ(save(root, "alias/a", "x").code(), Errc::permission);
    EXPECT_EQ(Folder::list_of(base / ".cinnabar-staging"), Names{});
    const auto unfinished = root.create("a", 1, 0644, Existing::keep).value();
    const auto staged = ".cinnabar-staging/" + Folder::list_of(base / ".cinnabar-staging").at(0);
    fs::create_symlink(".", base / "here");
    fs::create_symlink(staged, base / "file");
    for (const auto& name : {"here/" + staged, "alias" + staged.substr(staged.find('/')), std::string("file")})
        EXPECT_EQ(root.open_source(name).code(), Errc::permission) << name;
    EXPECT_EQ(root.look("here/.cinnabar-staging", {}).code(), Errc::permission);
    EXPECT_EQ(root.remove("here/.cinnabar-staging").code(), Errc::permission);
}

TEST_F(RootTest, BadNamesTouchNothing) {
    const auto root = serve();
    for (const std::string name : {"../x", "/tmp/x", "a/../../x", "", "a/", ".cinnabar-staging/x"}) {
        EXPECT_FALSE(save(root, name, "x", Existing::replace).ok()) << name;
        EXPECT_FALSE(root.open_source(name).ok()) << name;
    }
    EXPECT_EQ(save(root, std::string(4096, 'n'), "x").code(), Errc::too_large);
    EXPECT_EQ(folder.list(), (Names{"root", "root/.cinnabar-staging"}));
}

TEST_F(RootTest, OddButLegalNames) {
    const auto root = serve();
    for (const std::string& name : {std::string("caf\xe9"), std::string(255, 'n'), std::string("-rf"),
                                    std::string("a\nb"), std::string("\x01")}) {
        ASSERT_TRUE(save(root, name, "x").ok()) << printable(name);
        EXPECT_TRUE(root.open_source(name).ok()) << printable(name);
    }
}

TEST_F(RootTest, TwoOfOneNameOneWins) {
    const auto root = serve();
    auto first = root.create("a", 1, 0644, Existing::keep).value();
    auto second = root.create("a", 1, 0644, Existing::keep).value();
    ASSERT_TRUE(first.write(0, as_bytes("1")).ok());
    ASSERT_TRUE(second.write(0, as_bytes("2")).ok());
    EXPECT_TRUE(second.commit().ok());
    EXPECT_EQ(first.commit().code(), Errc::exists);
    EXPECT_EQ(content_of("a"), "2");
}

TEST_F(RootTest, OneServerAtATime) {
    {
        const auto root = serve();
        EXPECT_EQ(Root::serve(base.string()).code(), Errc::busy);
    }
    EXPECT_TRUE(Root::serve(base.string()).ok());
}

// A user who may write to the folder could exchange a verified file before it gets its name.
TEST_F(RootTest, AFolderForUnfinishedFilesThatOthersMayWriteToIsRefused) {
    fs::create_directory(base / staging_folder);
    for (const auto perms : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(base / staging_folder, fs::perms::owner_all | perms);
        const auto refused = Root::serve(base.string());
        EXPECT_EQ(refused.code(), Errc::permission);
        EXPECT_NE(refused.error().message().find("chmod 700"), std::string::npos) << refused.error().message();
    }
    fs::permissions(base / staging_folder, fs::perms::owner_all);
    EXPECT_TRUE(Root::serve(base.string()).ok());
}

TEST_F(RootTest, AFolderForUnfinishedFilesOfSomebodyElseIsRefused) {
    if (::geteuid() != 0) GTEST_SKIP() << "giving a folder away needs root";
    fs::create_directory(base / staging_folder);
    fs::permissions(base / staging_folder, fs::perms::owner_all);
    ASSERT_EQ(::chown((base / staging_folder).c_str(), 65534, 65534), 0);
    EXPECT_EQ(Root::serve(base.string()).code(), Errc::permission);
    EXPECT_TRUE(fs::exists(base / staging_folder)) << "it is not ours to remove";
}

TEST_F(RootTest, AReadOnlyServerWritesNothing) {
    folder.put("root/a", "abc");
    const auto root = Root::serve_read_only(base.string()).value();
    EXPECT_EQ(save(root, "b", "x").code(), Errc::permission);
    EXPECT_TRUE(root.open_source("a").ok());
    EXPECT_EQ(folder.list(), (Names{"root", "root/a"}));
}

TEST_F(RootTest, AClientsFolderHasNoStagingFolder) {
    const auto root = Root::open(base.string()).value();
    ASSERT_TRUE(save(root, "a", "abc").ok());
    EXPECT_EQ(folder.list(), (Names{"root", "root/a"}));
}

TEST_F(RootTest, NotADirectory) {
    folder.put("file", "x");
    EXPECT_EQ(Root::serve(folder.at("file")).code(), Errc::invalid_argument);
    EXPECT_EQ(Root::serve(folder.at("missing")).code(), Errc::not_found);
}

TEST_F(RootTest, PermissionIsToldBeforeTheFirstByte) {
    fs::permissions(folder.path(), fs::perms::all);
    fs::permissions(base, fs::perms::all);
    const auto root = serve();
    fs::permissions(base / staging_folder, fs::perms::all);
    fs::create_directory(base / "closed");
    fs::permissions(base / "closed",
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    folder.put("root/secret", "x");
    fs::permissions(base / "secret", fs::perms::none);
    const AsNobody nobody;
    EXPECT_EQ(root.create("closed/a", 1, 0644, Existing::keep).code(), Errc::permission);
    EXPECT_EQ(root.open_source("secret").code(), Errc::permission);
}

TEST_F(RootTest, AFullDiskKeepsWhatWasThere) {
    const SmallDisk disk(base.string(), 256 << 10);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const auto root = serve();
    ASSERT_TRUE(save(root, "a", "old").ok());
    EXPECT_EQ(root.create("b", 1 << 20, 0644, Existing::keep).code(), Errc::no_space) << "told at once";
    // A file whose size was not announced fails when the disk is full.
    const auto full = save(root, "a", pattern(128 << 10), Existing::replace);
    ASSERT_TRUE(full.ok());
    auto file = root.create("a", 0, 0644, Existing::replace).value();
    EXPECT_EQ(file.write(0, as_bytes(pattern(512 << 10))).code(), Errc::no_space);
    file.discard();
    EXPECT_EQ(content_of("a"), pattern(128 << 10));
    EXPECT_TRUE(save(root, "c", pattern(64 << 10)).ok()) << "and the room of the failed file is free again";
}

TEST_F(RootTest, WhatIsKeptFreeIsToldAtOnceAndOnTheWay) {
    const SmallDisk disk(base.string(), 1 << 20);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const auto root = Root::serve(base.string(), {.bytes = 512 << 10, .files = 0}).value();
    const auto announced = root.create("a", 600 << 10, 0644, Existing::keep);
    EXPECT_EQ(announced.code(), Errc::no_space);
    EXPECT_NE(announced.error().message().find("--keep-free"), std::string::npos);
    auto file = root.create("a", 0, 0644, Existing::keep).value();
    EXPECT_TRUE(file.write(0, as_bytes(pattern(256 << 10))).ok());
    const auto beyond = file.write(256 << 10, as_bytes(pattern(300 << 10)));
    EXPECT_EQ(beyond.code(), Errc::no_space);
    EXPECT_NE(beyond.error().message().find("--keep-free"), std::string::npos);
    file.discard();
    EXPECT_TRUE(save(root, "a", pattern(300 << 10)).ok());
}

// Whoever sends a file says that it is sparse, and what it will take is known only at its end.
TEST_F(RootTest, ASparseFileThatMightNotFitFillsNoDiskOfAClient) {
    constexpr std::uint64_t disk_size = 4u << 20;
    constexpr std::size_t step = 4096;
    const SmallDisk disk(base.string(), disk_size);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const auto root = Root::open(base.string()).value();
    const auto bytes = pattern(step);
    const auto fill = [&](NewFile& file) {
        Result<void> written;
        std::uint64_t offset = 0;
        for (; written && offset < 2 * disk_size; offset += step) written = file.write(offset, as_bytes(bytes));
        EXPECT_EQ(written.code(), Errc::no_space);
        return fs::space(base).available;
    };
    Resumable sparse;
    sparse.sparse = true;
    {
        auto file = root.create("a", 64 * disk_size, 0644, Existing::keep, sparse).value();
        EXPECT_GE(fill(file), disk_size / 100);
    }
    auto honest = root.create("b", 64 * disk_size, 0644, Existing::keep, sparse).value();
    EXPECT_TRUE(honest.write(63 * disk_size, as_bytes(bytes)).ok()) << "its holes need no room";
    EXPECT_TRUE(honest.commit().ok());
}

TEST_F(RootTest, FilesAreKeptFreeToo) {
    const SmallDisk disk(base.string(), 1 << 20, 64);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    const auto root = Root::serve(base.string(), {.bytes = 0, .files = 32}).value();
    unsigned saved = 0;
    Result<void> outcome;
    for (; saved < 64 && (outcome = save(root, std::to_string(saved), "")); ++saved) {
    }
    EXPECT_EQ(outcome.code(), Errc::no_space);
    EXPECT_NE(outcome.error().message().find("--keep-files"), std::string::npos);
    EXPECT_GE(saved, 24u);
    EXPECT_LE(saved, 32u);
}

TEST_F(RootTest, ASizeLimitIsNoSpace) {
    const auto root = serve();
    auto file = root.create("a", 8192, 0644, Existing::keep).value();
    const FileSizeLimit limit(4096);
    EXPECT_EQ(file.write(0, as_bytes(pattern(8192))).code(), Errc::no_space);
}

TEST_F(RootTest, AnotherFileSystemBelowTheRootIsToldAtOnce) {
    const auto root = serve();
    fs::create_directory(base / "other");
    const SmallDisk disk((base / "other").string(), 64 << 10);
    if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs needs root";
    EXPECT_EQ(root.create("other/a", 1, 0644, Existing::keep).code(), Errc::permission);
    folder.put("root/other/b", "x");
    EXPECT_TRUE(root.open_source("other/b").ok()) << "what is only read needs no rename";
}

TEST(SourceFile, ReadsAnywhere) {
    const Folder folder;
    const auto content = pattern(10'000);
    const auto file = SourceFile::open(folder.put("a", content)).value();
    EXPECT_EQ(file.bytes(), content.size());
    std::string part(1000, '\0');
    ASSERT_TRUE(file.read(4321, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_EQ(part, content.substr(4321, 1000));
    EXPECT_TRUE(file.settled().ok());
}

TEST(SourceFile, AFileThatShrinksIsAnErrorAndNoSignal) {
    const Folder folder;
    const auto path = folder.put("a", pattern(10'000));
    const auto file = SourceFile::open(path).value();
    fs::resize_file(path, 5000);
    std::string part(1000, '\0');
    EXPECT_TRUE(file.read(4000, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_EQ(file.read(4001, std::as_writable_bytes(std::span(part))).code(), Errc::bad_checksum);
    EXPECT_EQ(file.settled().code(), Errc::bad_checksum);
}

TEST(SourceFile, AFileThatGrowsIsNotSettled) {
    const Folder folder;
    const auto path = folder.put("a", "abc");
    const auto file = SourceFile::open(path).value();
    std::ofstream(path, std::ios::app) << "d";
    EXPECT_EQ(file.settled().code(), Errc::bad_checksum);
}

TEST(SourceFile, AFileThatIsLongerThanItSaysIsNotSettled) {
    const auto file = SourceFile::open("/proc/self/status").value();
    EXPECT_EQ(file.bytes(), 0u);
    EXPECT_EQ(file.settled().code(), Errc::bad_checksum);
}

TEST(SourceFile, AChangeIsSeenAlsoWhenTheTimeIsSetBack) {
    const Folder folder;
    const auto path = folder.put("a", "abc");
    const auto before = fs::last_write_time(path);
    const auto file = SourceFile::open(path).value();
    // The kernel's clock for files is coarse: a change is visible only once that clock has advanced.
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    do {
        folder.put("a", "abd");
        fs::last_write_time(path, before);
    } while (file.settled().ok() && std::chrono::steady_clock::now() < limit);
    EXPECT_EQ(fs::last_write_time(path), before);
    EXPECT_EQ(file.settled().code(), Errc::bad_checksum);
}

TEST(SourceFile, WhatIsNotAFile) {
    const Folder folder;
    EXPECT_EQ(SourceFile::open(folder.path().string()).code(), Errc::invalid_argument);
    EXPECT_EQ(SourceFile::open("/dev/null").code(), Errc::invalid_argument);
    EXPECT_EQ(SourceFile::open(folder.at("missing")).code(), Errc::not_found);
}

// The holder of a lease (fcntl) has 45 seconds to give it up. No disk thread waits for that.
TEST_F(RootTest, AFileThatAnotherProgramHasALeaseOnIsBusy) {
    const auto root = serve();
    ASSERT_TRUE(save(root, "a", "leased").ok());
    const UniqueFd holder(::open((base / "a").c_str(), O_RDWR | O_CLOEXEC));
    auto* const before = ::signal(SIGIO, SIG_IGN);  // the signal to the holder
    if (::fcntl(holder.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "the file system has no leases";
    const auto opened = root.open_source("a");
    EXPECT_EQ(opened.code(), Errc::busy);
    if (!opened) {
        EXPECT_NE(opened.error().message().find("another program"), std::string::npos) << opened.error().message();
    }
    ASSERT_EQ(::fcntl(holder.get(), F_SETLEASE, F_UNLCK), 0);
    (void)::signal(SIGIO, before);
    EXPECT_TRUE(root.open_source("a").ok());
}

}  // namespace
}  // namespace cinnabar::files
