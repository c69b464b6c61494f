// SPDX-License-Identifier: BSD-3-Clause
// Many small files are copied from server to server in one call to each: each one has a result of its own.
#include "session/protocol.hpp"
#include "support/content.hpp"
#include "wiretap.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

Key pack_key() { return Key::from("a key of at least 16 bytes").value(); }

// One of the two servers, with a root of its own.
struct PackParty {
    fs::path root;
    ServerOptions options;
    ServerHooks hooks;
    bool keyed = true;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> node;

    explicit PackParty(fs::path at) : root(std::move(at)) { fs::create_directories(root / "d"); }
    void begin(const std::string& listen) {
        std::optional<Key> wanted;
        if (keyed) wanted.emplace(pack_key());
        server = Server::make(Root::serve(root.string()).value(), std::move(wanted), options, hooks).value();
        node = hl::Node::listen(listen).value();
        ASSERT_TRUE(server->serve_on(*node).ok());
    }
    ~PackParty() {
        node.reset();
        server.reset();
    }
};

struct CopyPackTest : testing::TestWithParam<std::string> {
    // A window of less than 2 KiB travels inside the calls, so that nobody connects to its owner.
    const std::string not_inline = pattern(8 << 10);
    Folder folder;
    PackParty a{folder.path() / "a"};
    PackParty b{folder.path() / "b"};
    const Key key = pack_key();
    std::optional<hl::Node> here;
    std::optional<Client> from;
    std::optional<Client> to;

    void begin() {
        a.begin(GetParam());
        b.begin(GetParam());
        log_in(a.node->endpoints().front(), b.node->endpoints().front());
    }
    void log_in(const std::string& at_a, const std::string& at_b) {
        here = hl::Node::open({"tcp://", "shm://"}, {.progress_thread = false}).value();
        from.emplace(*here, here->lookup(at_a).value(), a.keyed ? &key : nullptr);
        to.emplace(*here, here->lookup(at_b).value(), b.keyed ? &key : nullptr);
        ASSERT_TRUE(hl::sync_wait(from->open()).ok());
        ASSERT_TRUE(hl::sync_wait(to->open()).ok());
    }
    void log_out() {
        for (auto* const client : {&from, &to}) {
            if (*client) {
                EXPECT_TRUE(hl::sync_wait((*client)->close()).ok());
            }
            client->reset();
        }
        here.reset();
    }
    void TearDown() override { log_out(); }
    // A file of the source server, as a listing has it.
    CopiedFile listed(const std::string& name, const std::string& content) const {
        (void)folder.put("a/" + name, content);
        return {name, name, content.size()};
    }
    std::vector<Result<Moved>> copy_all(const std::vector<CopiedFile>& files, CopyMode mode = {}) {
        return hl::sync_wait(copy_small(*from, files, *to, mode)).value();
    }
    [[nodiscard]] std::uint64_t calls(const std::string& rpc) const {
        std::uint64_t calls = 0;
        for (const auto& counts : here->stats()) {
            if (counts.name == rpc) calls += counts.calls;
        }
        return calls;
    }
    [[nodiscard]] struct stat status_of(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::stat(folder.at(name).c_str(), &status), 0) << name;
        return status;
    }
    [[nodiscard]] bool nothing_is_staged() const { return fs::is_empty(b.root / ".cinnabar-staging"); }
};
INSTANTIATE_TEST_SUITE_P(By, CopyPackTest, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& each) { return each.param.substr(0, 3); });

TEST_P(CopyPackTest, ManyFilesOfEverySizeArriveWhole) {
    begin();
    for (const auto sync : {Sync::each, Sync::batch, Sync::none}) {
        std::vector<CopiedFile> files;
        for (unsigned i = 0; i < small_files_max; ++i) {
            const auto name = (i % 2 ? "d/" : "") + std::to_string(i) + "-" + std::to_string(static_cast<int>(sync));
            files.push_back(listed(name, pattern(i * 251, i + 1)));
        }
        ASSERT_EQ(::chmod(folder.at("a/" + files[1].name).c_str(), 0604), 0);
        const auto copied = copy_all(files, {.exact = true, .sync = sync});
        ASSERT_EQ(copied.size(), files.size());
        for (std::size_t i = 0; i < copied.size(); ++i) {
            ASSERT_TRUE(copied[i].ok()) << files[i].name << ": " << copied[i].error().message();
            EXPECT_EQ(copied[i]->bytes, files[i].bytes);
            EXPECT_EQ(copied[i]->sent_bytes, files[i].bytes);
            EXPECT_EQ(copied[i]->checksum, hl::sync_wait(to->verify(files[i].as)).value().checksum);
            EXPECT_EQ(folder.get("b/" + files[i].as), folder.get("a/" + files[i].name)) << files[i].name;
        }
        const auto had = status_of("a/" + files[1].name);
        const auto got = status_of("b/" + files[1].name);
        EXPECT_EQ(got.st_mode, had.st_mode);
        EXPECT_EQ(got.st_mtim.tv_sec, had.st_mtim.tv_sec);
        EXPECT_EQ(got.st_mtim.tv_nsec, had.st_mtim.tv_nsec);
    }
    EXPECT_EQ(calls("cinnabar.save.lend_pack"), 3u);
    EXPECT_EQ(calls("cinnabar.save.pack"), 3u);
    EXPECT_EQ(calls("cinnabar.save.ask"), 0u);
    EXPECT_TRUE(nothing_is_staged());
}

TEST_P(CopyPackTest, TheEndOfOneIsNotThatOfTheOthers) {
    a.hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.name == "secret") return Error{Errc::permission, "not yours"};
        return {};
    };
    b.hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.name == "forbidden") return Error{Errc::permission, "not here"};
        return {};
    };
    begin();
    std::vector<CopiedFile> files{listed("good", "1"),   listed("gone", "2"),      listed("grown", "33"),
                                  listed("secret", "4"), listed("forbidden", "5"), listed("there", "6"),
                                  listed("out", "7"),    listed("last", "8")};
    ASSERT_TRUE(fs::remove(a.root / "gone"));
    (void)folder.put("a/grown", "3333");
    (void)folder.put("b/there", "old");
    files[6].as = "../out";
    const auto copied = copy_all(files);
    const std::vector<Errc> expected{Errc::ok,         Errc::not_found, Errc::ok,         Errc::permission,
                                     Errc::permission, Errc::exists,    Errc::permission, Errc::ok};
    ASSERT_EQ(copied.size(), expected.size());
    for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(copied[i].code(), expected[i]) << files[i].name;
    const auto says = [&copied](std::size_t index, const std::string& text) {
        return copied[index].error().message().find(text) != std::string::npos;
    };
    EXPECT_TRUE(says(1, "the source server says")) << copied[1].error().message();
    EXPECT_TRUE(says(3, "not yours")) << copied[3].error().message();
    EXPECT_TRUE(says(4, "the destination server says")) << copied[4].error().message();
    EXPECT_TRUE(says(4, "not here")) << copied[4].error().message();
    EXPECT_EQ(folder.get("b/good"), "1");
    EXPECT_EQ(folder.get("b/grown"), "3333") << "as it is now";
    EXPECT_EQ(folder.get("b/last"), "8");
    EXPECT_EQ(folder.get("b/there"), "old");
    EXPECT_FALSE(fs::exists(folder.at("out")));
    EXPECT_TRUE(nothing_is_staged());
    EXPECT_TRUE(copy_all({files[0], files[5]}, {.existing = Existing::replace})[1].ok());
    EXPECT_EQ(folder.get("b/there"), "6");
}

TEST_P(CopyPackTest, OneNameTwiceIsAnErrorOfTheSecond) {
    begin();
    auto files = std::vector<CopiedFile>{listed("x", "1"), listed("y", "2")};
    files[1].as = "x";
    const auto copied = copy_all(files);
    EXPECT_TRUE(copied.at(0).ok());
    EXPECT_EQ(copied.at(1).code(), Errc::busy);
    EXPECT_EQ(folder.get("b/x"), "1");
}

TEST_P(CopyPackTest, TheOtherServersPolicyIsAskedForEachFileWhomItConnectsTo) {
    b.hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        const bool refused = access.kind == AccessRequest::Kind::follow && access.name != "free";
        return refused ? Result<void>(Error{Errc::permission, "not from there"}) : Result<void>();
    };
    begin();
    const auto some = copy_all({listed("free", not_inline), listed("kept", not_inline)});
    EXPECT_TRUE(some.at(0).ok()) << some[0].error().message();
    EXPECT_EQ(some.at(1).code(), Errc::permission);
    EXPECT_EQ(folder.get("b/free"), not_inline);
    for (const auto& copied : copy_all({listed("x", not_inline), listed("y", not_inline)}))
        EXPECT_EQ(copied.code(), Errc::permission);
    EXPECT_EQ(Folder::list_of(b.root), (std::vector<std::string>{".cinnabar-staging", "d", "free"}));
}

// Over shm the kernel tells the server which user the client is.
TEST_P(CopyPackTest, ForClientsWithoutAKeyAServerConnectsToNoOthers) {
    b.keyed = false;
    begin();
    const bool knows_user = GetParam() == "shm://";
    for (const auto& copied : copy_all({listed("x", not_inline), listed("y", not_inline)})) {
        EXPECT_EQ(copied.code(), knows_user ? Errc::ok : Errc::permission);
        if (copied) continue;
        EXPECT_NE(copied.error().message().find("--key-file"), std::string::npos) << copied.error().message();
    }
    EXPECT_EQ(fs::exists(b.root / "x"), knows_user);
}

TEST_P(CopyPackTest, ASparseFileIsCopiedByItself) {
    constexpr std::size_t bytes = 100 << 10;
    begin();
    auto sparse = listed("sparse", "content");
    ASSERT_EQ(::truncate(folder.at("a/sparse").c_str(), bytes), 0);
    sparse.bytes = bytes;
    for (const auto& copied : copy_all({listed("x", "1"), sparse, listed("y", "2")}))
        EXPECT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(folder.get("b/sparse"), folder.get("a/sparse"));
    EXPECT_EQ(folder.get("b/y"), "2") << "it moved up in the window";
    EXPECT_EQ(calls("cinnabar.save.ask"), status_of("a/sparse").st_blocks * 512 < (64 << 10) ? 1u : 0u);
}

TEST_P(CopyPackTest, WhatDoesNotFitIsCopiedByItself) {
    a.options.window_bytes = 64 << 10;
    b.options.window_bytes = 64 << 10;
    begin();
    const std::vector<CopiedFile> files{listed("x", pattern(40 << 10)), listed("y", pattern(40 << 10, 2)),
                                        listed("z", "1"), listed("large", pattern(small_file_bytes_max + 1))};
    for (const auto& copied : copy_all(files)) EXPECT_TRUE(copied.ok()) << copied.error().message();
    for (const auto& file : files) EXPECT_EQ(folder.get("b/" + file.name), folder.get("a/" + file.name));
    EXPECT_EQ(calls("cinnabar.save.lend_pack"), 1u);
    EXPECT_EQ(calls("cinnabar.save.ask"), 2u);
}

TEST_P(CopyPackTest, AServerThatHandlesFewAtOnceIsAskedOneByOne) {
    for (auto* const party : {&a, &b}) {
        party->options.session_files_max = 4;
        begin();
        std::vector<CopiedFile> files;
        for (int i = 0; i < 10; ++i) files.push_back(listed(std::to_string(i), "x"));
        for (const auto& copied : copy_all(files, {.existing = Existing::replace}))
            EXPECT_TRUE(copied.ok()) << copied.error().message();
        EXPECT_EQ(folder.get("b/9"), "x");
        log_out();
        for (auto* const over : {&a, &b}) {
            over->node.reset();
            over->server.reset();
        }
        party->options = {};
    }
}

TEST_P(CopyPackTest, EmptyFilesNeedNoWindow) {
    begin();
    for (const auto& copied : copy_all({listed("x", ""), listed("y", "")}))
        EXPECT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(folder.get("b/y"), "");
    EXPECT_EQ(calls("cinnabar.save.pack"), 1u);
}

// As if the answer to the first attempt had been lost.
TEST_P(CopyPackTest, ASecondAttemptFindsThatTheFirstOneWasDone) {
    begin();
    const std::vector<CopiedFile> files{listed("x", "1"), listed("y", "2")};
    ASSERT_TRUE(copy_all(files).at(0).ok());
    (void)folder.put("a/y", "3");
    const auto again = copy_all(files, {.again = true});
    EXPECT_TRUE(again.at(0).ok()) << again[0].error().message();
    EXPECT_EQ(again.at(1).code(), Errc::exists);
}

// The destination server is still at work when the source server has done its part.
TEST_P(CopyPackTest, TheSourceLendsNoLongerThanTheBytesTake) {
    std::promise<void> lent;
    const auto over = lent.get_future().share();
    a.hooks.ended = [&lent, told = false](const ServerEvent& event) mutable {
        if (event.kind == ServerEvent::Kind::fetched && !std::exchange(told, true)) lent.set_value();
    };
    b.hooks.before_naming = [over](const StagedFile&) -> Result<void> {
        if (over.wait_for(std::chrono::seconds(20)) == std::future_status::ready) return {};
        return Error{Errc::timed_out, "it lends them still"};
    };
    begin();
    for (const auto& copied : copy_all({listed("x", not_inline), listed("y", not_inline)}))
        EXPECT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(over.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST_P(CopyPackTest, AServerThatIsEndingTakesPartInNoMore) {
    begin();
    const std::vector<CopiedFile> files{listed("x", "1"), listed("y", "2")};
    ASSERT_TRUE(b.server->drain(std::chrono::seconds(0)));
    for (const auto& copied : copy_all(files)) EXPECT_EQ(copied.code(), Errc::shutting_down);
    ASSERT_TRUE(a.server->drain(std::chrono::seconds(0)));
    for (const auto& copied : copy_all(files)) EXPECT_EQ(copied.code(), Errc::shutting_down);
}

using CopyPackTcp = CopyPackTest;
INSTANTIATE_TEST_SUITE_P(Over, CopyPackTcp, testing::Values("tcp://127.0.0.1:0"),
                         [](const auto& each) { return each.param.substr(0, 3); });

TEST_P(CopyPackTcp, TheBytesGoStraightFromServerToServer) {
    constexpr std::size_t bytes_each = 16 << 10;
    begin();
    log_out();
    const Wiretap at_a(a.node->endpoints().front());
    const Wiretap at_b(b.node->endpoints().front());
    log_in(at_a.endpoint(), at_b.endpoint());
    std::vector<CopiedFile> files;
    for (unsigned i = 0; i < 60; ++i) files.push_back(listed(std::to_string(i), pattern(bytes_each, i)));
    for (const auto& copied : copy_all(files)) ASSERT_TRUE(copied.ok()) << copied.error().message();
    EXPECT_EQ(folder.get("b/59"), folder.get("a/59"));
    EXPECT_LT(at_a.passed() + at_b.passed(), files.size() * bytes_each / 5);
    log_out();
}

}  // namespace
}  // namespace cinnabar::files
