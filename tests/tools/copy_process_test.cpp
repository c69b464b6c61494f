// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar copy` as a process: files and trees are copied from server to server, and the loss of a server is reported.
#include "process.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

struct CopyProcess : testing::Test {
    Folder folder{support::memory_folder()};
    std::string root_a = folder.at("a");
    std::string root_b = folder.at("b");
    CopyProcess() {
        fs::create_directory(root_a);
        fs::create_directory(root_b);
    }
    // Zeros, but not holes, so that all of them are transferred.
    void put_large() {
        const auto bytes = std::min(std::uintmax_t{1} << 30, fs::space(folder.path()).available / 8);
        const int fd = ::open((root_a + "/large").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_GE(fd, 0);
        EXPECT_EQ(::posix_fallocate(fd, 0, static_cast<off_t>(bytes)), 0);
        ::close(fd);
    }
    // Waits until the receiving server has written something.
    bool under_way() {
        return eventually([&] {
            std::error_code ignored;
            for (const auto& entry : fs::directory_iterator(root_b + "/.cinnabar-staging", ignored)) {
                if (entry.path().extension() == ".part" && entry.file_size(ignored) > 0) return true;
            }
            return false;
        });
    }
};

TEST_F(CopyProcess, AFileGetsItsNewNameOrGoesIntoAFolder) {
    const auto content = pattern((5u << 20) + 17);
    (void)folder.put("a/x", content);
    fs::create_directory(root_b + "/into");
    Serving a(root_a);
    Serving b(root_b);
    const auto named = run({"copy", "--json", a.uri() + "/x", b.uri() + "/y"});
    EXPECT_EQ(named.exit, 0) << named.err;
    EXPECT_TRUE(folder.get("b/y") == content);
    EXPECT_NE(named.out.find("\"name\": \"y\""), std::string::npos) << named.out;
    EXPECT_NE(named.out.find("\"checksum\": \"xxh3:"), std::string::npos) << named.out;
    EXPECT_NE(named.out.find("\"event\": \"summary\", \"files\": 1, \"done\": 1"), std::string::npos) << named.out;
    const auto into = run({"copy", "--quiet", a.uri() + "/x", b.uri() + "/into/"});
    EXPECT_EQ(into.exit, 0) << into.err;
    EXPECT_EQ(into.out, "");
    EXPECT_TRUE(folder.get("b/into/x") == content);
    const auto plain = run({"copy", a.uri() + "/x", b.uri()});
    EXPECT_EQ(plain.exit, 0) << plain.err;
    EXPECT_TRUE(plain.out.starts_with("copied 1 file, ")) << plain.out;
    EXPECT_TRUE(folder.get("b/x") == content);
}

TEST_F(CopyProcess, WhatIsThereIsKeptOrReplaced) {
    (void)folder.put("a/x", "new");
    (void)folder.put("b/y", "old");
    Serving a(root_a);
    Serving b(root_b);
    EXPECT_EQ(run({"copy", a.uri() + "/x", b.uri() + "/y"}).exit, 3);
    EXPECT_EQ(folder.get("b/y"), "old");
    EXPECT_EQ(run({"copy", "--replace", a.uri() + "/x", b.uri() + "/y"}).exit, 0);
    EXPECT_EQ(folder.get("b/y"), "new");
    const auto missing = run({"copy", a.uri() + "/missing", b.uri() + "/z"});
    EXPECT_EQ(missing.exit, 10) << missing.err;
    EXPECT_NE(missing.err.find("the source server"), std::string::npos) << missing.err;
}

TEST_F(CopyProcess, ATreeIsCopiedAsItIsAndAgainOnlyWhatChanged) {
    fs::create_directories(root_a + "/t/d/empty folder");
    (void)folder.put("a/t/small", pattern(4097));
    (void)folder.put("a/t/d/large", pattern((3u << 20) + 17));
    (void)folder.put("a/t/d/\xff\n", "any bytes");
    fs::create_hard_link(root_a + "/t/small", root_a + "/t/d/again");
    fs::create_symlink("../small", root_a + "/t/d/link");
    Serving a(root_a);
    Serving b(root_b);
    const auto copied = run({"copy", a.uri() + "/t", b.uri() + "/u"});
    ASSERT_EQ(copied.exit, 0) << copied.err;
    EXPECT_EQ(Folder::list_of(root_b + "/u"), Folder::list_of(root_a + "/t"));
    for (const auto* name : {"/small", "/d/large", "/d/\xff\n"})
        EXPECT_TRUE(folder.get(std::string("b/u") + name) == folder.get(std::string("a/t") + name)) << name;
    EXPECT_EQ(fs::hard_link_count(root_b + "/u/small"), 2u);
    EXPECT_EQ(fs::read_symlink(root_b + "/u/d/link"), "../small");
    EXPECT_EQ(fs::last_write_time(root_b + "/u/d"), fs::last_write_time(root_a + "/t/d"));
    (void)folder.put("a/t/new", "new");
    const auto again = run({"copy", "--json", a.uri() + "/t", b.uri() + "/u"});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_NE(again.out.find("\"files\": 1, \"done\": 1"), std::string::npos) << again.out;
    const auto contents = run({"copy", "--exclude", "d/", a.uri() + "/t/", b.uri()});
    EXPECT_EQ(contents.exit, 0) << contents.err;
    EXPECT_EQ(folder.get("b/new"), "new");
    EXPECT_FALSE(fs::exists(root_b + "/d"));
}

TEST_F(CopyProcess, ATreeOfManySmallEntriesIsCopiedWhole) {
    for (int i = 0; i < 70; ++i) {
        const auto name = "t/d" + std::to_string(i);
        fs::create_directories(root_a + "/" + name);
        (void)folder.put("a/" + name + "/one", pattern(static_cast<std::size_t>(i) * 97, static_cast<unsigned>(i)));
        (void)folder.put("a/" + name + "/two", "content");
        fs::create_symlink("one", root_a + "/" + name + "/link");
    }
    (void)folder.put("a/t/large", pattern((1u << 20) + 17));
    Serving a(root_a);
    Serving b(root_b, {"--json"});
    const auto copied = run({"copy", a.uri() + "/t", b.uri() + "/t"});
    ASSERT_EQ(copied.exit, 0) << copied.err;
    EXPECT_EQ(Folder::list_of(root_b + "/t"), Folder::list_of(root_a + "/t"));
    for (int i = 0; i < 70; ++i) {
        const auto name = "t/d" + std::to_string(i);
        EXPECT_TRUE(folder.get("b/" + name + "/one") == folder.get("a/" + name + "/one")) << name;
        EXPECT_EQ(fs::last_write_time(root_b + "/" + name), fs::last_write_time(root_a + "/" + name)) << name;
    }
    EXPECT_TRUE(eventually([&] { return b.process().out().find("\"name\": \"t/d69/two\"") != std::string::npos; }));
    const auto again = run({"copy", "--json", a.uri() + "/t", b.uri() + "/t"});
    EXPECT_NE(again.out.find("\"done\": 0"), std::string::npos) << again.out;
}

TEST_F(CopyProcess, WhatIsWrongOnTheCommandLineIsUsage) {
    EXPECT_EQ(run({"copy", "tcp://127.0.0.1:1/x"}).exit, 1);
    EXPECT_EQ(run({"copy", "tcp://127.0.0.1:1/x", "y"}).exit, 1);
    EXPECT_EQ(run({"copy", "x", "tcp://127.0.0.1:1/y"}).exit, 1);
    EXPECT_EQ(run({"copy", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1/y"}).exit, 1);
    EXPECT_EQ(run({"copy", "tcp://127.0.0.1:1/d/x", "tcp://127.0.0.1:1/x", "tcp://127.0.0.1:1/y/"}).exit, 1);
}

TEST_F(CopyProcess, AServerThatIsNotThereIsNamed) {
    (void)folder.put("a/x", "content");
    Serving a(root_a);
    auto b = std::make_unique<Serving>(root_b);
    const auto uri = b->uri();
    b->process().send(SIGTERM);
    ASSERT_EQ(b->process().wait(), 0);
    const auto to = run({"copy", a.uri() + "/x", uri + "/y"});
    EXPECT_NE(to.exit, 0);
    EXPECT_NE(to.err.find("cinnabar: " + uri + ": "), std::string::npos) << to.err;
    const auto from = run({"copy", uri + "/x", a.uri() + "/y"});
    EXPECT_NE(from.exit, 0);
    EXPECT_NE(from.err.find("cinnabar: " + uri + ": "), std::string::npos) << from.err;
    EXPECT_FALSE(fs::exists(root_a + "/y"));
}

TEST_F(CopyProcess, AKilledSourceEndsTheCopy) {
    put_large();
    Serving a(root_a);
    Serving b(root_b);
    Process client({"copy", a.uri() + "/large", b.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    a.process().send(SIGKILL);
    EXPECT_EQ(client.wait(std::chrono::seconds(20)), 7) << client.err();
    // The error names the server whose call ends first.
    EXPECT_TRUE(client.err().find("the source server") != std::string::npos ||
                client.err().find("the destination server") != std::string::npos)
        << client.err();
    EXPECT_FALSE(fs::exists(root_b + "/large"));
    EXPECT_EQ(run({"save", folder.put("small", "x"), b.uri()}).exit, 0) << "the other one goes on";
}

TEST_F(CopyProcess, AKilledTargetEndsTheCopy) {
    put_large();
    Serving a(root_a);
    Serving b(root_b);
    Process client({"copy", a.uri() + "/large", b.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    b.process().send(SIGKILL);
    EXPECT_EQ(client.wait(std::chrono::seconds(20)), 7) << client.err();
    EXPECT_NE(client.err().find("the destination server"), std::string::npos) << client.err();
    EXPECT_FALSE(fs::exists(root_b + "/large"));
    EXPECT_EQ(run({"fetch", a.uri() + "/large", "-o", folder.at("back")}).exit, 0) << "the other one goes on";
}

TEST_F(CopyProcess, ASilentServerDoesNotHoldAnInterruptUp) {
    put_large();
    Serving a(root_a);
    Serving b(root_b);
    for (auto* silent : {&a, &b}) {
        Process client({"copy", a.uri() + "/large", b.uri()});
        ASSERT_TRUE(under_way()) << client.err();
        silent->process().send(SIGSTOP);
        client.send(SIGINT);
        EXPECT_EQ(client.wait(std::chrono::seconds(15)), 9) << client.err();
        silent->process().send(SIGCONT);
        ASSERT_EQ(run({"list", "--clean", b.uri()}).exit, 0);
    }
}

TEST_F(CopyProcess, ACopyWaitsForAServerThatWasKilledAndGoesOn) {
    put_large();
    Serving a(root_a);
    auto b = std::make_unique<Serving>(root_b);
    const auto uri = b->uri();
    Process client({"copy", "--json", "--wait", "60", a.uri() + "/large", uri});
    ASSERT_TRUE(under_way()) << client.err();
    b->process().send(SIGKILL);
    ASSERT_EQ(b->process().wait(), 128 + SIGKILL);
    b = std::make_unique<Serving>(root_b, Words{"--listen", uri});
    EXPECT_EQ(client.wait(), 0) << client.err();
    EXPECT_NE(client.out().find("\"waiting\""), std::string::npos) << client.out();
    EXPECT_EQ(fs::file_size(root_b + "/large"), fs::file_size(root_a + "/large"));
}

TEST_F(CopyProcess, EachServerWantsItsOwnKey) {
    const auto key_of = [&](const std::string& name) {
        const auto path = folder.put(name, "a key of " + name + " that is long enough");
        fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
        return path;
    };
    const auto key_a = key_of("key a");
    const auto key_b = key_of("key b");
    (void)folder.put("a/x", "content");
    Serving a(root_a, {"--key-file", key_a});
    Serving b(root_b, {"--key-file", key_b});
    EXPECT_EQ(run({"copy", "--key-file", key_b, a.uri() + "/x", b.uri() + "/y"}).exit, 4);
    EXPECT_EQ(run({"copy", "--key-file", key_a, a.uri() + "/x", b.uri() + "/y"}).exit, 4);
    EXPECT_FALSE(fs::exists(root_b + "/y"));
    const auto copied = run({"copy", "--key-file", key_b, "--from-key-file", key_a, a.uri() + "/x", b.uri() + "/y"});
    EXPECT_EQ(copied.exit, 0) << copied.err;
    EXPECT_EQ(folder.get("b/y"), "content");
}

}  // namespace
}  // namespace cinnabar::tools
