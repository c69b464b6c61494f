// SPDX-License-Identifier: BSD-3-Clause
// The command and a server made up by the test, which may lie, or end a session at a chosen moment.
#include "process.hpp"
#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::tools {
namespace {

using files::Entry;
using files::EntryKind;
using files::Listing;

constexpr int exit_interrupted = 9;
constexpr int exit_unsuitable = 11;
constexpr int exit_protocol = 14;

std::size_t count_of(const std::string& part, const std::string& text) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

Entry entry_of(EntryKind kind, std::string name) {
    Entry entry;
    entry.kind = kind;
    entry.name = std::move(name);
    if (kind == EntryKind::link) entry.target = "anywhere";
    entry.attributes.mode = 0755;
    return entry;
}

// Admits anybody, and lists what the test says. Change it only while no command runs.
struct OddServer : testing::Test {
    support::Folder folder;
    std::mutex mutex;                         // of the two below
    std::map<std::string, Listing> listings;  // by folder
    unsigned ends_at_list = 0;                // the session ends with that listing; 0: never
    std::atomic<unsigned> lists = 0;
    std::atomic<unsigned> lists_in_progress = 0;
    std::atomic<unsigned> lists_at_once = 0;  // the most so far
    // Folders other than the tree are listed when so many listings are in progress, or else after two seconds.
    std::atomic<unsigned> lists_together = 0;
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();

    void SetUp() override {
        const auto serves = [this](const auto& rpc, auto handler) {
            ASSERT_TRUE(there.serve(rpc, std::move(handler)).ok());
        };
        serves(files::hello_rpc, [](const files::HelloIn&) {
            return files::HelloOut{files::protocol_version, false, {}};
        });
        serves(files::login_rpc, [](const files::LoginIn&) { return files::LoginOut{{}, {}, 4096, 1}; });
        serves(files::hold_rpc, [](hl::Request<files::HoldIn> request) -> hl::Task<Result<void>> {
            co_return co_await request.node().sleep_for(std::chrono::hours(1));
        });
        serves(files::list_rpc, [this](hl::Request<files::ListIn> request) -> hl::Task<Result<Listing>> {
            lists_at_once = std::max(lists_at_once.load(), ++lists_in_progress);
            for (int i = 0; i < 2000 && request->name != "tree" && lists_at_once < lists_together; ++i)
                (void)co_await request.node().sleep_for(std::chrono::milliseconds(1));
            --lists_in_progress;
            co_return list(request->name);
        });
    }
    Result<Listing> list(const std::string& name) {
        const std::lock_guard lock(mutex);
        if (++lists == ends_at_list) return Errc::shutting_down;
        const auto listing = listings.find(name);
        if (listing == listings.end()) return Errc::not_found;
        return listing->second;
    }
    // Eight folders, each with a file and a folder in it.
    void list_folders_in_folders() {
        listings["tree"].attributes.mode = 0755;
        for (int i = 0; i < 8; ++i) {
            const auto name = "d" + std::to_string(i);
            listings["tree"].entries.push_back(entry_of(EntryKind::folder, name));
            auto& inner = listings["tree/" + name];
            inner.attributes.mode = 0755;
            inner.entries = {entry_of(EntryKind::folder, "inner"), entry_of(EntryKind::file, "file")};
            listings["tree/" + name + "/inner"].attributes.mode = 0755;
        }
    }
    // Orders what the test and the server do with the listings: only a command, another process, lies between.
    void take_turns() { const std::lock_guard lock(mutex); }
    Outcome run(const Words& words) {
        take_turns();
        auto outcome = tools::run(words);
        take_turns();
        return outcome;
    }
    [[nodiscard]] Words fetch(const Words& more) const {
        Words words{"fetch", "--insecure", "--json", "-o", folder.at("back"), there.endpoints().front() + "/tree"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    void list_a_socket_and_a_folder() {
        listings["tree"].attributes.mode = 0755;
        listings["tree"].entries = {entry_of(EntryKind::other, "socket"), entry_of(EntryKind::link, "skipped"),
                                    entry_of(EntryKind::folder, "d")};
        listings["tree/d"].attributes.mode = 0755;
    }
};

TEST_F(OddServer, WhatCannotBeFetchedIsToldOnceIfTheSessionIsLostMeanwhile) {
    list_a_socket_and_a_folder();
    ends_at_list = 2;
    const auto fetched = run(fetch({"--wait", "60", "--exclude", "skipped"}));
    EXPECT_EQ(fetched.exit, exit_unsuitable) << fetched.out;
    EXPECT_EQ(lists.load(), 4u) << "each folder twice";
    EXPECT_EQ(count_of("\"event\": \"waiting\"", fetched.out), 1u) << fetched.out;
    EXPECT_EQ(count_of("\"ok\": false", fetched.out), 1u) << fetched.out;
    EXPECT_EQ(count_of("\"failed\": 1,", fetched.out), 1u) << fetched.out;
    EXPECT_EQ(count_of("\"filtered\": 1,", fetched.out), 1u) << fetched.out;
    EXPECT_TRUE(std::filesystem::is_directory(folder.at("back/tree/d")));
}

TEST_F(OddServer, WhatCannotBeFetchedIsToldIfTheServerIsLostForGood) {
    list_a_socket_and_a_folder();
    ends_at_list = 2;
    const auto fetched = run(fetch({"--exclude", "skipped"}));
    EXPECT_EQ(fetched.exit, exit_unsuitable) << "of the first failure: " << fetched.out;
    EXPECT_EQ(count_of("\"event\": \"server\", \"ok\": false", fetched.out), 1u) << fetched.out;
    EXPECT_EQ(count_of("\"ok\": false", fetched.out), 2u) << fetched.out;
    EXPECT_EQ(count_of("\"filtered\": 1,", fetched.out), 1u) << fetched.out;
}

// The first file is answered last.
TEST_F(OddServer, FilesAreVerifiedAtOnceAndToldInOrder) {
    constexpr unsigned files_all = 6;
    for (unsigned i = files_all; i > 0; --i)
        listings["tree"].entries.push_back(entry_of(EntryKind::file, "file-" + std::to_string(i - 1)));
    std::atomic<unsigned> answered = 0;
    std::atomic<unsigned> in_progress = 0;
    std::atomic<unsigned> most = 0;
    const auto look = [](const files::LookIn& in) { return files::LookOut{entry_of(EntryKind::folder, in.name), {}}; };
    const auto sum = [&](hl::Request<files::SumIn> request) -> hl::Task<Result<files::SumOut>> {
        most = std::max(most.load(), ++in_progress);
        while (request->name == "tree/file-0" && answered < files_all - 1)
            (void)co_await request.node().sleep_for(Microseconds(100));
        ++answered;
        --in_progress;
        co_return files::SumOut{};
    };
    ASSERT_TRUE(there.serve(files::look_rpc, look).ok());
    ASSERT_TRUE(there.serve(files::sum_rpc, sum).ok());
    const auto verified = run({"verify", "--insecure", "--json", "-j", "2", there.endpoints().front() + "/tree"});
    EXPECT_EQ(verified.exit, 0) << verified.err;
    EXPECT_EQ(most.load(), 2u);
    EXPECT_EQ(in_progress.load(), 0u);
    std::size_t at = 0;
    for (unsigned i = 0; i < files_all; ++i) {
        at = verified.out.find("\"name\": \"tree/file-" + std::to_string(i) + "\"", at);
        EXPECT_NE(at, std::string::npos) << i << ": " << verified.out;
    }
    EXPECT_EQ(count_of("\"event\": \"verified\"", verified.out), files_all) << verified.out;
}

// The command blocks when its output fills the pipe, which is long before all links are made.
TEST_F(OddServer, AnInterruptEndsAFetchBetweenStepsOnThisHost) {
    constexpr std::size_t links = 3000;
    listings["tree"].attributes.mode = 0755;
    for (std::size_t i = 0; i < links; ++i)
        listings["tree"].entries.push_back(entry_of(EntryKind::link, "link-" + std::to_string(i)));
    take_turns();
    Process fetching(fetch({}));
    ASSERT_TRUE(eventually([&] { return std::filesystem::is_symlink(folder.at("back/tree/link-0")); }));
    fetching.send(SIGINT);
    EXPECT_EQ(fetching.wait(), exit_interrupted) << fetching.err();
    EXPECT_LT(support::Folder::list_of(folder.at("back/tree")).size(), links);
    EXPECT_GT(count_of("\"code\": \"canceled\"", fetching.out()), 0u);
}

TEST_F(OddServer, AListingThatBreaksOffDeletesNothing) {
    listings["tree"].attributes.mode = 0755;
    listings["tree"].entries = {entry_of(EntryKind::folder, "d")};
    listings["tree/d"].attributes.mode = 0755;
    ASSERT_EQ(run(fetch({})).exit, 0);
    (void)folder.put("back/tree/mine", "precious");
    (void)folder.put("back/tree/d/mine", "precious");
    const auto expect_kept = [&](const Outcome& fetched, const std::string& why) {
        EXPECT_NE(fetched.exit, 0) << why;
        EXPECT_EQ(support::Folder::list_of(folder.at("back/tree")), (Words{"d", "d/mine", "mine"})) << why;
    };
    listings["tree/d"].cursor = 7;
    expect_kept(run(fetch({"--delete"})), "a listing without an end");
    listings["tree/d"].cursor = 0;
    listings["tree/d"].entries = {entry_of(EntryKind::folder, "..")};
    expect_kept(run(fetch({"--delete"})), "a name that leads out");
    listings.erase("tree/d");
    expect_kept(run(fetch({"--delete"})), "a folder without a listing");
    lists = 0;
    ends_at_list = 2;
    expect_kept(run(fetch({"--delete"})), "the session ended");
    listings.erase("tree");
    ends_at_list = 0;
    expect_kept(run(fetch({"--delete"})), "no folder any more");
}

// The names that are removed come from this host's own listing of the given folder.
TEST_F(OddServer, NothingIsDeletedOutsideOfTheFolder) {
    std::filesystem::create_directories(folder.at("back/tree"));
    std::filesystem::create_directory(folder.at("outside"));
    (void)folder.put("outside/mine", "precious");
    (void)folder.put("back/mine", "precious");
    std::filesystem::create_symlink("../../outside", folder.at("back/tree/d"));
    listings["tree"].attributes.mode = 0755;
    listings["tree"].entries = {entry_of(EntryKind::folder, "d")};
    listings["tree/d"].attributes.mode = 0755;
    EXPECT_NE(run(fetch({"--delete"})).exit, 0) << "a link has the name of the folder";
    EXPECT_EQ(folder.get("outside/mine"), "precious");
    listings["tree"].entries.clear();
    EXPECT_EQ(run(fetch({"--delete"})).exit, 0);
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(folder.at("back/tree/d")))) << "the link";
    EXPECT_EQ(folder.get("outside/mine"), "precious");
    EXPECT_EQ(folder.get("back/mine"), "precious");
    listings["tree/.."] = listings["tree"];
    const auto up =
        run({"fetch", "--insecure", "--delete", "-o", folder.at("back/tree"), there.endpoints().front() + "/tree/.."});
    EXPECT_NE(up.exit, 0) << up.err;
    EXPECT_EQ(folder.get("back/mine"), "precious");
}

TEST_F(OddServer, AWalkListsSeveralFoldersAtOnce) {
    list_folders_in_folders();
    lists_together = 8;
    const auto planned = run(fetch({"--dry-run"}));
    EXPECT_EQ(planned.exit, 0) << planned.err;
    EXPECT_EQ(lists_at_once.load(), 8u);
    EXPECT_EQ(lists.load(), 17u);
    EXPECT_EQ(count_of("\"name\": \"tree/d", planned.out), 24u) << "8 folders, each with two entries: " << planned.out;
}

TEST_F(OddServer, ARemovalListsSeveralFoldersAtOnceAndRemovesWhatIsInAFolderFirst) {
    list_folders_in_folders();
    listings.erase("tree/d7/inner");
    lists_together = 8;
    Words removed;
    const auto look = [](const files::LookIn& in) { return files::LookOut{entry_of(EntryKind::folder, in.name), {}}; };
    const auto remove_many = [this, &removed](const files::RemoveManyIn& in) {
        const std::lock_guard lock(mutex);
        removed.insert(removed.end(), in.names.begin(), in.names.end());
        files::BatchOut out;
        out.outcomes.resize(in.names.size());
        return out;
    };
    ASSERT_TRUE(there.serve(files::look_rpc, look).ok());
    ASSERT_TRUE(there.serve(files::remove_many_rpc, remove_many).ok());
    ASSERT_TRUE(there.serve(files::remove_rpc, [](const files::RemoveIn&) { return Result<void>(); }).ok());
    const auto outcome = run({"remove", "-r", "--insecure", there.endpoints().front() + "/tree"});
    EXPECT_EQ(outcome.exit, 10) << outcome.err;
    EXPECT_NE(outcome.err.find("tree/d7/inner: "), std::string::npos) << outcome.err;
    EXPECT_EQ(lists_at_once.load(), 8u);
    const auto place_of = [&removed](const std::string& name) { return std::ranges::find(removed, name); };
    for (int i = 0; i < 8; ++i) {
        const auto name = "tree/d" + std::to_string(i);
        EXPECT_LT(place_of(name + "/file"), place_of(name)) << name;
        if (i == 7) continue;
        EXPECT_LT(place_of(name + "/inner"), place_of(name)) << name;
    }
    EXPECT_EQ(removed.size(), 23u) << "all but the folder that could not be listed";
}

TEST_F(OddServer, AnAclThatNobodyAskedForIsRefused) {
    listings["tree"].attributes.mode = 0755;
    listings["tree"].attributes.extended = {{"system.posix_acl_default", "whatever it grants"}};
    const auto fetched = run(fetch({"--xattrs"}));
    EXPECT_EQ(fetched.exit, exit_protocol) << fetched.out;
    EXPECT_FALSE(std::filesystem::exists(folder.at("back/tree")));
}

// A node listens before it serves: who dials a server that starts may come too early.
TEST(LateServer, ASaveWaitsUntilTheServerServes) {
    const support::Folder folder;
    std::filesystem::create_directory(folder.at("root"));
    const auto server = files::Server::make(files::Root::serve(folder.at("root")).value(), std::nullopt).value();
    const hl::Node node = hl::Node::listen("tcp://127.0.0.1:0").value();
    Process client(
        {"save", "--insecure", "--json", "--wait", "60", folder.put("file", "content"), node.endpoints().front()});
    ASSERT_TRUE(eventually([&] { return client.out().find("\"waiting\"") != std::string::npos; })) << client.out();
    EXPECT_NE(client.out().find("\"no_such_rpc\""), std::string::npos) << client.out();
    ASSERT_TRUE(server->serve_on(node).ok());
    EXPECT_EQ(client.wait(), 0) << client.out();
    EXPECT_EQ(folder.get("root/file"), "content");
}

// The contents are so small that they travel inside the calls: without a key, a server connects to no other one.
TEST(NamedFiles, SmallOnesAreCopiedInOneCall) {
    const support::Folder folder;
    std::filesystem::create_directory(folder.at("a"));
    std::filesystem::create_directories(folder.at("b/into"));
    const auto from = files::Server::make(files::Root::serve(folder.at("a")).value(), std::nullopt).value();
    const auto to = files::Server::make(files::Root::serve(folder.at("b")).value(), std::nullopt).value();
    const hl::Node a = hl::Node::listen("tcp://127.0.0.1:0").value();
    const hl::Node b = hl::Node::listen("tcp://127.0.0.1:0").value();
    ASSERT_TRUE(from->serve_on(a).ok());
    ASSERT_TRUE(to->serve_on(b).ok());
    Words words{"copy", "--insecure", "--json"};
    for (int i = 0; i < 10; ++i) {
        const auto name = "file-" + std::to_string(i);
        (void)folder.put("a/" + name, "content of " + name);
        words.push_back(a.endpoints().front() + "/" + name);
    }
    words.push_back(b.endpoints().front() + "/into/");
    const auto copied = run(words);
    EXPECT_EQ(copied.exit, 0) << copied.err << copied.out;
    for (int i = 0; i < 10; ++i) {
        const auto name = "file-" + std::to_string(i);
        EXPECT_EQ(folder.get("b/into/" + name), "content of " + name);
    }
    EXPECT_EQ(count_of("\"ok\": true", copied.out), 10u) << copied.out;
    const auto requests = [](const hl::Node& node, const std::string& rpc) {
        for (const auto& counts : node.stats()) {
            if (counts.name == rpc) return counts.requests;
        }
        return std::uint64_t{0};
    };
    EXPECT_TRUE(eventually([&] { return requests(a, "cinnabar.save.lend_pack") == 1; }));
    EXPECT_EQ(requests(b, "cinnabar.save.pack"), 1u);
    EXPECT_EQ(requests(a, "cinnabar.save.ask"), 0u) << "none is copied by itself";
    const auto missing = run({"copy", "--insecure", a.endpoints().front() + "/none", b.endpoints().front() + "/into/"});
    EXPECT_EQ(missing.exit, 10) << missing.err;
}

}  // namespace
}  // namespace cinnabar::tools
