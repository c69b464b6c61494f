// SPDX-License-Identifier: BSD-3-Clause
// Saving over an older version of a file: only the changed blocks are sent, in every direction.
#include "file/blocks.hpp"
#include "file/journal.hpp"
#include "handmade_server.hpp"
#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr std::uint64_t one_block = compared_block_bytes;
constexpr std::uint64_t changed_window = 4 * one_block;

TEST(Blocks, EqualBlocksAreNotSent) {
    const auto old = pattern(4 * one_block);
    auto changed = old;
    changed[0] ^= 1;
    changed[2 * one_block] ^= 1;
    changed[3 * one_block + 5] ^= 1;
    const auto mine = block_checksums(as_bytes(old), 4 * one_block);
    const auto theirs = block_checksums(as_bytes(changed), 4 * one_block);
    ASSERT_EQ(mine.size(), 4u);
    EXPECT_EQ(changed_ranges(mine, mine, 4 * one_block), std::vector<ByteRange>());
    const std::vector<ByteRange> wanted{{0, one_block}, {2 * one_block, 2 * one_block}};
    EXPECT_EQ(changed_ranges(mine, theirs, 4 * one_block), wanted);
    EXPECT_EQ(bytes_of(wanted), 3 * one_block);
    EXPECT_EQ(changed_ranges({}, theirs, 4 * one_block), (std::vector<ByteRange>{{0, 4 * one_block}}));
}

TEST(Blocks, AnIncompleteBlockHasNoChecksum) {
    const auto text = pattern(2 * one_block + 7);
    const auto all = block_checksums(as_bytes(text), text.size());
    ASSERT_EQ(all.size(), 3u) << "the last one_block of a changed_window is as short as it is";
    const auto less = block_checksums(as_bytes(text).first(2 * one_block + 6), text.size());
    EXPECT_EQ(less.size(), 2u);
    EXPECT_EQ(changed_ranges(all, less, text.size()), (std::vector<ByteRange>{{2 * one_block, 7}}));
    const auto longer = pattern(2 * one_block + 100);
    EXPECT_EQ(block_checksums(as_bytes(longer), text.size()), all) << "an older version that was longer";
    EXPECT_EQ(blocks_in(text.size()), 3u);
    EXPECT_EQ(blocks_in(0), 0u);
    EXPECT_TRUE(block_checksums({}, 0).empty());
}

enum class How : std::uint8_t { pull, push, fetch, copy };
std::ostream& operator<<(std::ostream& out, How how) {
    constexpr const char* names[] = {"pull", "push", "fetch", "copy"};
    return out << names[static_cast<std::size_t>(how)];
}

// The new version is `new/a` and the old one is `old/a`, each below the root of the side that has it.
struct ChangeTest : testing::TestWithParam<How> {
    Folder folder;
    ServerOptions options;
    ServerHooks hooks;  // of the server with the old version
    std::unique_ptr<Server> server;
    std::unique_ptr<Server> other;  // for a copy: has the new version
    std::optional<hl::Node> there;
    std::optional<hl::Node> there_too;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::optional<Client> from;
    const std::string name = "a";
    const std::string old = pattern(200 * one_block + 77);

    void begin(const std::string& fresh) {
        fs::create_directories(folder.at("new"));
        fs::create_directories(folder.at("old"));
        (void)folder.put("old/a", old);
        (void)folder.put("new/a", fresh);
        options.window_bytes = changed_window;
        options.windows_max = 4;
        options.journal_interval = std::chrono::milliseconds(0);
        const bool fetches = GetParam() == How::fetch;
        serve(server, there, fetches ? "new" : "old", hooks);
        if (GetParam() == How::copy) serve(other, there_too, "new", {});
        log_in();
    }
    void serve(std::unique_ptr<Server>& at, std::optional<hl::Node>& node, const std::string& root,
               const ServerHooks& with) {
        at = Server::make(Root::serve(folder.at(root)).value(), std::nullopt, options, with).value();
        node = hl::Node::listen("shm://").value();  // over shm the same user may make the server connect to another one
        ASSERT_TRUE(at->serve_on(*node).ok());
    }
    void log_in() {
        here = hl::Node::open("shm://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
        if (!there_too) return;
        from.emplace(*here, here->lookup(there_too->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(from->open()).ok());
    }
    void log_out() {
        if (from) {
            EXPECT_TRUE(hl::sync_wait(from->close()).ok());
        }
        if (client) {
            EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        }
        from.reset();
        client.reset();
        here.reset();
    }
    void TearDown() override {
        log_out();
        there.reset();
        there_too.reset();
    }
    hl::Task<Result<Moved>> moving(bool whole, BytesMoved progress = {}) {
        if (GetParam() == How::copy)
            return copy(*from, name, *client, name, {.existing = Existing::replace, .whole = whole},
                        std::move(progress));
        if (GetParam() == How::fetch) {
            into.emplace(Root::open(folder.at("old")).value());
            return client->fetch(name, *into, {.existing = Existing::replace, .whole = whole}, std::move(progress));
        }
        const SaveMode mode{.existing = Existing::replace, .push = GetParam() == How::push, .whole = whole};
        return client->save(fresh_path, name, mode, std::move(progress));
    }
    Result<Moved> move(bool whole = false) { return hl::sync_wait(moving(whole)); }
    void expect_moved(const Result<Moved>& moved, std::uint64_t sent) {
        ASSERT_TRUE(moved.ok()) << moved.error().message();
        const auto fresh = folder.get("new/a");
        EXPECT_TRUE(folder.get("old/a") == fresh);
        EXPECT_EQ(moved->bytes, fresh.size());
        EXPECT_EQ(moved->sent_bytes, sent);
        EXPECT_EQ(moved->had_bytes, fresh.size() - sent);
        EXPECT_EQ(moved->checksum, block_checksum(as_bytes(fresh)));
    }
    std::optional<Root> into;
    const std::string fresh_path = folder.at("new/a");
};
INSTANTIATE_TEST_SUITE_P(By, ChangeTest, testing::Values(How::pull, How::push, How::fetch, How::copy),
                         testing::PrintToStringParamName());

TEST_P(ChangeTest, OnlyTheBlocksThatChangedAreSent) {
    auto fresh = old;
    for (const std::uint64_t at : {3 * one_block + 5, 50 * one_block, 51 * one_block, 199 * one_block + 1})
        fresh[at] ^= 1;
    begin(fresh);
    expect_moved(move(), 4 * one_block);
}

TEST_P(ChangeTest, NothingIsSentOfAnEqualFile) {
    begin(old);
    expect_moved(move(), 0);
}

TEST_P(ChangeTest, AFileThatGrewSendsItsEnd) {
    begin(old + pattern(10 * one_block, 2));
    // From the block in which the old file ended.
    expect_moved(move(), folder.get("new/a").size() - 200 * one_block);
}

TEST_P(ChangeTest, AFileThatWasCutSendsNothing) {
    begin(old.substr(0, 150 * one_block + 5));
    expect_moved(move(), 0);
}

TEST_P(ChangeTest, ADifferentFileIsSentWhole) {
    begin(pattern(120 * one_block + 3, 5));
    expect_moved(move(), 120 * one_block + 3);
}

TEST_P(ChangeTest, AWholeFileIsSentWhenThatIsWanted) {
    begin(old);
    expect_moved(move(true), old.size());
}

TEST_P(ChangeTest, HolesAreNeitherSentNorTakenFromTheOldOne) {
    begin("");
    fs::resize_file(folder.at("new/a"), 200 * one_block);
    std::fstream(folder.at("new/a"), std::ios::in | std::ios::out | std::ios::binary) << old.substr(0, 8 * one_block);
    const auto moved = move();
    ASSERT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_TRUE(folder.get("old/a") == folder.get("new/a"));
    EXPECT_EQ(moved->sent_bytes, 0u);
    struct stat status {};
    ASSERT_EQ(::stat(folder.at("old/a").c_str(), &status), 0);
    EXPECT_LT(static_cast<std::uint64_t>(status.st_blocks) * 512, 20 * one_block);
}

// The bytes that were written before the interruption are in the staged file, not in the older version.
TEST_P(ChangeTest, AnInterruptedSaveLeavesTheOldFileAndContinues) {
    auto fresh = old;
    for (std::uint64_t at = 0; at < fresh.size(); at += 10 * one_block) fresh[at] ^= 1;
    begin(fresh);
    std::stop_source stop;
    std::uint64_t moved = 0;
    const auto interrupted = hl::sync_wait(moving(false,
                                                  [&](std::uint64_t more) {
                                                      if ((moved += more) >= 100 * one_block) stop.request_stop();
                                                  }),
                                           stop.get_token());
    ASSERT_EQ(interrupted.code(), Errc::canceled);
    EXPECT_TRUE(folder.get("old/a") == old);
    log_out();
    log_in();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (GetParam() != How::fetch && hl::sync_wait(client->list_remains())->empty() &&
           std::chrono::steady_clock::now() < end) {
    }
    const auto again = move();
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_TRUE(folder.get("old/a") == fresh);
    EXPECT_LE(again->sent_bytes, 13 * one_block) << "of the 21 that changed";
    EXPECT_EQ(again->had_bytes + again->sent_bytes, fresh.size());
}

// Another process writes to the older version meanwhile: the file gets the bytes that were compared.
TEST_P(ChangeTest, AnOlderVersionThatChangesMeanwhileDoesNoHarm) {
    auto fresh = old;
    fresh[5 * one_block] ^= 1;
    begin(fresh);
    const auto moved = hl::sync_wait(moving(false, [&](std::uint64_t) {
        std::fstream(folder.at("old/a"), std::ios::in | std::ios::out | std::ios::binary)
            .seekp(static_cast<std::streamoff>(150 * one_block))
            .write("meanwhile", 9);
    }));
    ASSERT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_TRUE(folder.get("old/a") == fresh);
}

// Not for a fetch, in which the client has the old version.
struct ChangeOnAServer : ChangeTest {};

TEST_P(ChangeOnAServer, AClientThatMayNotFetchTheOldFileSendsAll) {
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.kind != AccessRequest::Kind::fetch) return {};
        return Error{Errc::permission, "not yours"};
    };
    begin(old);
    expect_moved(move(), old.size());
}

INSTANTIATE_TEST_SUITE_P(By, ChangeOnAServer, testing::Values(How::pull, How::push, How::copy),
                         testing::PrintToStringParamName());

// A server that claims to have more blocks than it was offered.
struct LyingServer : HandmadeServer {
    const std::string name = "a";

    void SetUp() override { begin(changed_window, pattern(4 * changed_window)); }
};

TEST_F(LyingServer, ThatHasWhatItWasNotOfferedEndsTheSave) {
    std::uint64_t basis = 0;
    std::uint64_t had = 1;
    serve(open_rpc, [&basis](const OpenIn&) { return OpenOut{1, 0, basis}; });
    serve(window_rpc, [&had](hl::Request<WindowIn> request) {
        EXPECT_LE(request->blocks.size(), 4u);
        return WindowOut{had};
    });
    EXPECT_EQ(hl::sync_wait(client->save(folder.at("a"), name, {.existing = Existing::replace})).code(),
              Errc::protocol);
    basis = 4 * changed_window;
    had = changed_window + 1;
    EXPECT_EQ(hl::sync_wait(client->save(folder.at("a"), name, {.existing = Existing::replace})).code(),
              Errc::protocol);
    EXPECT_EQ(hl::sync_wait(client->save(folder.at("a"), name)).code(), Errc::protocol) << "nothing is compared";
}

TEST_F(LyingServer, ThatOffersMoreThanItListedFillsNoDisk) {
    unsigned read = 0;
    serve(ask_rpc, [](const AskIn&) { return AskOut{1, 4 * changed_window, {}, true}; });
    serve(read_rpc, [&read](hl::Request<ReadIn>) -> Result<ReadOut> { return ++read, Errc::io; });
    serve(finish_rpc, [](const FinishIn&) { return FinishOut{}; });
    const auto into = Root::open(folder.path().string()).value();
    const auto more = hl::sync_wait(client->fetch(name, into, {.as = "b", .listed_bytes = 4 * changed_window - 1}));
    EXPECT_EQ(more.code(), Errc::bad_checksum);
    EXPECT_NE(more.error().message().find("more bytes than it listed"), std::string::npos) << more.error().message();
    EXPECT_EQ(read, 0u);
    EXPECT_EQ(hl::sync_wait(client->fetch(name, into, {.as = "b", .listed_bytes = 4 * changed_window})).code(),
              Errc::io);
    EXPECT_GE(read, 1u);
}

TEST_F(LyingServer, ThatSaysAClientHasItAllEndsTheFetch) {
    serve(ask_rpc, [](const AskIn&) { return AskOut{1, 4 * changed_window, {}, false}; });
    serve(read_rpc, [](hl::Request<ReadIn>) { return ReadOut{false, changed_window}; });
    serve(finish_rpc, [](const FinishIn&) { return FinishOut{}; });
    const auto into = Root::open(folder.path().string()).value();
    EXPECT_EQ(hl::sync_wait(client->fetch(name, into, {.as = "b"})).code(), Errc::protocol);
    EXPECT_EQ(hl::sync_wait(client->fetch(name, into, {.existing = Existing::replace})).code(), Errc::bad_checksum)
        << "it was offered, and is not what the server has";
    EXPECT_TRUE(folder.get("a") == pattern(4 * changed_window));
}

}  // namespace
}  // namespace cinnabar::files
