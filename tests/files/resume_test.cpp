// SPDX-License-Identifier: BSD-3-Clause
// Interrupted saves and fetches: repeating one moves only what is missing, in either direction.
#include "file/staging.hpp"
#include "session/remote_error.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// A small window, so that a file has many.
constexpr std::uint64_t window = 16 << 10;

struct ResumeTest : testing::TestWithParam<bool> {
    Folder folder;
    ServerOptions options;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    const std::string content = pattern(200 * window + 33);
    fs::path staging;

    void SetUp() override {
        fs::create_directory(folder.at("root"));
        fs::create_directory(folder.at("back"));
        staging = fs::path(folder.at("root")) / staging_folder;
        (void)folder.put("a", content);
        options.window_bytes = window;
        options.windows_max = 2;
        options.journal_interval = std::chrono::milliseconds(0);
        begin();
    }
    void begin() {
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options, hooks).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        log_in();
    }
    void log_in() {
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void log_out() {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
    }
    void end() {
        if (client) log_out();
        there.reset();
        server.reset();
    }
    void TearDown() override { end(); }

    // Saves until so many bytes have arrived; then the client disappears without a message.
    void save_until(std::uint64_t bytes) {
        std::stop_source stop;
        std::uint64_t moved = 0;
        const auto saved = hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam()},
                                                      [&](std::uint64_t more) {
                                                          if ((moved += more) >= bytes) stop.request_stop();
                                                      }),
                                         stop.get_token());
        ASSERT_EQ(saved.code(), Errc::canceled);
        log_out();
        log_in();
    }
    void fetch_until(std::uint64_t bytes) {
        std::stop_source stop;
        std::uint64_t moved = 0;
        const auto into = Root::open(folder.at("back")).value();
        const auto fetched = hl::sync_wait(client->fetch(name, into, {},
                                                         [&](std::uint64_t more) {
                                                             if ((moved += more) >= bytes) stop.request_stop();
                                                         }),
                                           stop.get_token());
        ASSERT_EQ(fetched.code(), Errc::canceled);
        log_out();
        log_in();
    }
    Result<Moved> save() { return hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam()})); }
    Result<Moved> fetch() {
        const auto into = Root::open(folder.at("back")).value();
        return hl::sync_wait(client->fetch(name, into));
    }
    // How many bytes the next save of the file may reuse. Waits until the file has been parked.
    std::uint64_t kept() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        for (;;) {
            const auto remains = hl::sync_wait(client->list_remains()).value();
            if (!remains.empty() || std::chrono::steady_clock::now() > end)
                return remains.empty() ? 0 : remains.front().kept_bytes;
        }
    }
    static void damage(const fs::path& path, std::uint64_t offset) {
        const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::pwrite(file.get(), "damage", 6, static_cast<off_t>(offset)), 6);
    }
    const std::string name = "a";
};
INSTANTIATE_TEST_SUITE_P(By, ResumeTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "push" : "pull"; });

TEST_P(ResumeTest, ASaveThatWasInterruptedGoesOn) {
    save_until(100 * window);
    const auto there_is = kept();
    EXPECT_GE(there_is, 90 * window);
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, there_is);
    EXPECT_EQ(folder.get("root/a"), content);
    EXPECT_TRUE(fs::is_empty(staging));
}

// How many bytes this process, which is both sides, has read from files and sockets.
std::optional<std::uint64_t> bytes_read() {
    std::ifstream io("/proc/self/io");
    std::string what;
    std::uint64_t bytes = 0;
    while (io >> what >> bytes) {
        if (what == "rchar:") return bytes;
    }
    return std::nullopt;
}

TEST_P(ResumeTest, WhatIsThereIsReadOnceByEachSide) {
    save_until(180 * window);
    const auto there_is = kept();
    EXPECT_GE(there_is, 170 * window);
    const auto before = bytes_read();
    if (!before) GTEST_SKIP() << "the kernel does not count what a process reads";
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, there_is);
    const auto sent = content.size() - there_is;
    EXPECT_LE(*bytes_read() - *before, content.size() + there_is + sent + 64 * window);
}

TEST_P(ResumeTest, ASaveGoesOnAtTheNextServer) {
    save_until(100 * window);
    const auto there_is = kept();
    end();
    begin();
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, there_is);
    EXPECT_EQ(folder.get("root/a"), content);
}

TEST_P(ResumeTest, OfWhatIsDamagedOnlyThatBlockIsSentAgain) {
    save_until(100 * window);
    const auto there_is = kept();
    damage(staging / staged_names_of(name).part, 7 * window + 5);
    damage(staging / staged_names_of(name).part, 30 * window);
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, there_is - 2 * window);
    EXPECT_EQ(folder.get("root/a"), content);
}

TEST_P(ResumeTest, AFetchThatIsInterruptedAtItsEndGoesOn) {
    (void)folder.put("root/a", content);
    fetch_until(content.size());
    const auto fetched = fetch();
    ASSERT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_GE(fetched->had_bytes, 190 * window);
    EXPECT_EQ(folder.get("back/a"), content);
}

TEST_P(ResumeTest, AFileThatChangedMeanwhileIsSavedAsItIsNow) {
    save_until(100 * window);
    (void)kept();
    auto changed = content;
    changed[20 * window + 1] = static_cast<char>(changed[20 * window + 1] ^ 1);
    (void)folder.put("a", changed);
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, 20 * window);
    EXPECT_EQ(folder.get("root/a"), changed);
}

TEST_P(ResumeTest, AFileOfAnotherSizeBeginsAnew) {
    save_until(100 * window);
    (void)kept();
    (void)folder.put("a", content + "more");
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, 0u);
    EXPECT_EQ(folder.get("root/a"), content + "more");
}

TEST_P(ResumeTest, WithoutChecksumsNothingIsKept) {
    std::stop_source stop;
    const auto saved = hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam(), .checked = false},
                                                  [&](std::uint64_t) { stop.request_stop(); }),
                                     stop.get_token());
    ASSERT_EQ(saved.code(), Errc::canceled);
    end();
    EXPECT_FALSE(fs::exists(staging)) << "a server removes its folder if nothing is in it";
    begin();
}

TEST_P(ResumeTest, ManyInterruptionsOneFile) {
    std::uint64_t before = 0;
    for (std::uint64_t i = 1; i < 6; ++i) {
        save_until(before + 30 * window);
        const auto now = kept();
        EXPECT_GE(now, before);
        before = now;
    }
    const auto saved = save();
    ASSERT_TRUE(saved.ok()) << saved.error().message();
    EXPECT_EQ(saved->had_bytes, before);
    EXPECT_EQ(folder.get("root/a"), content);
}

TEST_P(ResumeTest, RemainsAreListedAndRemoved) {
    save_until(50 * window);
    ASSERT_GT(kept(), 0u);
    const auto remains = hl::sync_wait(client->list_remains()).value();
    EXPECT_EQ(remains.at(0).name, "a");
    EXPECT_EQ(remains.at(0).bytes, content.size());
    EXPECT_EQ(hl::sync_wait(client->remove_remains("b")).value(), 0u);
    EXPECT_EQ(hl::sync_wait(client->remove_remains()).value(), 1u);
    EXPECT_TRUE(fs::is_empty(staging));
}

TEST_P(ResumeTest, APolicyForbidsToTellOrRemoveThem) {
    save_until(50 * window);
    ASSERT_GT(kept(), 0u);
    end();
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        const bool list = access.kind == AccessRequest::Kind::list_remains && access.name.empty();
        const bool remove = access.kind == AccessRequest::Kind::remove_remains && access.name == "a";
        return list || remove ? Result<void>(Errc::permission) : Result<void>();
    };
    begin();
    EXPECT_EQ(hl::sync_wait(client->list_remains()).code(), Errc::permission);
    EXPECT_EQ(hl::sync_wait(client->remove_remains("a")).code(), Errc::permission);
    EXPECT_FALSE(fs::is_empty(staging));
}

TEST_P(ResumeTest, AFetchThatWasInterruptedGoesOn) {
    if (GetParam()) GTEST_SKIP() << "there is one way to fetch";
    (void)folder.put("root/a", content);
    fetch_until(100 * window);
    const auto part = fs::path(folder.at("back")) / staged_names_of(name).part;
    ASSERT_TRUE(fs::exists(part));
    damage(part, 9 * window);
    const auto fetched = fetch();
    ASSERT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_GE(fetched->had_bytes, 90 * window);
    EXPECT_EQ(fetched->had_bytes % window, 0u);
    EXPECT_EQ(folder.get("back/a"), content);
    EXPECT_EQ(Folder::list_of(folder.at("back")), (std::vector<std::string>{"a"}));
}

TEST_P(ResumeTest, WhatIsDamagedInRemainsIsWrittenAgainThoughTheOlderVersionHasIt) {
    if (GetParam()) GTEST_SKIP() << "there is one way to fetch";
    (void)folder.put("root/a", content);
    fetch_until(100 * window);
    damage(fs::path(folder.at("back")) / staged_names_of(name).part, 9 * window);
    (void)folder.put("back/a", content);
    const auto into = Root::open(folder.at("back")).value();
    const auto fetched = hl::sync_wait(client->fetch(name, into, {.existing = Existing::replace}));
    ASSERT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_EQ(folder.get("back/a"), content);
}

TEST_P(ResumeTest, AFileOfTheServerThatChangedIsFetchedAsItIsNow) {
    if (GetParam()) GTEST_SKIP() << "there is one way to fetch";
    (void)folder.put("root/a", content);
    fetch_until(100 * window);
    auto changed = content;
    for (const std::uint64_t at : {20, 21, 60, 150})
        changed[at * window + 1] = static_cast<char>(changed[at * window + 1] ^ 1);
    (void)folder.put("root/a", changed);
    const auto fetched = fetch();
    ASSERT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_EQ(folder.get("back/a"), changed);
}

TEST_P(ResumeTest, WhatWasSavedWithoutAnAnswerIsFoundAgain) {
    ASSERT_TRUE(save().ok());
    EXPECT_EQ(save().code(), Errc::exists);
    const auto again = hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam(), .again = true}));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->had_bytes, content.size());
    damage(folder.at("root/a"), 3);
    EXPECT_EQ(hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam(), .again = true})).code(),
              Errc::exists);
    EXPECT_EQ(hl::sync_wait(client->verify(name)).value().bytes, content.size());
    EXPECT_EQ(hl::sync_wait(client->verify("none")).code(), Errc::not_found);
}

// The connection broke while the server made the file appear, and that took longer than beginning anew.
TEST_P(ResumeTest, WhatAppearsWhileItIsSavedAgainIsFound) {
    for (const bool same : {true, false}) {
        fs::remove(folder.at("root/a"));
        bool appeared = false;
        const auto again =
            hl::sync_wait(client->save(folder.at("a"), name, {.push = GetParam(), .again = true}, [&](std::uint64_t) {
                if (std::exchange(appeared, true)) return;
                fs::copy_file(folder.at("a"), folder.at("root/a"));
                if (!same) damage(folder.at("root/a"), 3);
            }));
        if (same) {
            ASSERT_TRUE(again.ok()) << again.error().message();
            EXPECT_EQ(again->had_bytes, content.size());
        } else {
            EXPECT_EQ(again.code(), Errc::exists);
        }
    }
}

// A server that is too busy to look at the file has not said that it is another one.
TEST(LeavesUnknown, WhatAServerThatIsBusyOrLostSaysAndNothingElse) {
    for (const Errc code : {Errc::overloaded, Errc::peer_lost, Errc::timed_out, Errc::canceled, Errc::shutting_down})
        EXPECT_TRUE(leaves_unknown(code)) << to_string(code);
    for (const Errc code : {Errc::ok, Errc::not_found, Errc::permission, Errc::io, Errc::protocol})
        EXPECT_FALSE(leaves_unknown(code)) << to_string(code);
}

}  // namespace
}  // namespace cinnabar::files
