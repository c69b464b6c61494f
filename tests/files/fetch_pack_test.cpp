// SPDX-License-Identifier: BSD-3-Clause
// Many small files are fetched in one call: each one has a result of its own.
#include "session/protocol.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
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

struct FetchPackTest : testing::Test {
    Folder folder;
    ServerOptions options;
    ServerHooks hooks;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::optional<Root> into;
    std::map<std::string, ServerEvent::Kind> events;

    void begin() {
        fs::create_directories(folder.at("root/d"));
        fs::create_directories(folder.at("back/d"));
        hooks.ended = [this](const ServerEvent& event) { events[event.name] = event.kind; };
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt, options, hooks).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
        into.emplace(Root::open(folder.at("back")).value());
    }
    void TearDown() override {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
        there.reset();
    }
    // A file of the server, as a listing has it.
    ListedFile listed(const std::string& name, const std::string& content) const {
        (void)folder.put("root/" + name, content);
        return {name, name, content.size()};
    }
    std::vector<Result<Moved>> fetch(const std::vector<ListedFile>& files, FetchMode mode = {}) {
        return hl::sync_wait(client->fetch_small(files, *into, mode)).value();
    }
    // Ended calls of the client; of all RPCs if `rpc` is empty.
    [[nodiscard]] std::uint64_t calls(const std::string& rpc = {}) const {
        std::uint64_t calls = 0;
        for (const auto& counts : here->stats()) {
            if (rpc.empty() || counts.name == rpc) calls += counts.calls;
        }
        return calls;
    }
    [[nodiscard]] struct stat status_of(const std::string& name) const {
        struct stat status {};
        EXPECT_EQ(::stat(folder.at(name).c_str(), &status), 0) << name;
        return status;
    }
};

TEST_F(FetchPackTest, ManyFilesOfEverySizeArriveWhole) {
    begin();
    for (const auto sync : {Sync::each, Sync::batch, Sync::none}) {
        std::map<std::string, std::string> contents;
        std::vector<ListedFile> files;
        for (unsigned i = 0; i < small_files_max; ++i) {
            const auto name = (i % 2 ? "d/" : "") + std::to_string(i) + "-" + std::to_string(static_cast<int>(sync));
            contents[name] = pattern(i * 251, i + 1);
            files.push_back(listed(name, contents[name]));
        }
        ASSERT_EQ(::chmod(folder.at("root/" + files[1].name).c_str(), 0604), 0);
        const auto fetched = fetch(files, {.exact = true, .sync = sync});
        ASSERT_EQ(fetched.size(), files.size());
        for (std::size_t i = 0; i < fetched.size(); ++i) {
            ASSERT_TRUE(fetched[i].ok()) << files[i].name << ": " << fetched[i].error().message();
            EXPECT_EQ(fetched[i]->bytes, files[i].bytes);
            EXPECT_EQ(fetched[i]->sent_bytes, files[i].bytes);
            EXPECT_EQ(fetched[i]->checksum, hl::sync_wait(client->verify(files[i].name)).value().checksum);
            EXPECT_EQ(folder.get("back/" + files[i].name), contents[files[i].name]) << files[i].name;
            EXPECT_EQ(events.at(files[i].name), ServerEvent::Kind::fetched);
        }
        const auto had = status_of("root/" + files[1].name);
        const auto got = status_of("back/" + files[1].name);
        EXPECT_EQ(got.st_mode, had.st_mode);
        EXPECT_EQ(got.st_mtim.tv_sec, had.st_mtim.tv_sec);
        EXPECT_EQ(got.st_mtim.tv_nsec, had.st_mtim.tv_nsec);
        const auto source = SourceFile::open(folder.at("back/" + files[1].name)).value();
        EXPECT_EQ(source.stored_checksum().state, StoredChecksum::State::none) << "only servers store them";
    }
    EXPECT_EQ(calls("cinnabar.save.read_pack"), 3u);
    EXPECT_EQ(calls("cinnabar.save.ask"), 0u);
    EXPECT_EQ(folder.list_of(folder.at("back")).size(), 3 * small_files_max + 1) << "and nothing unfinished";
}

TEST_F(FetchPackTest, TenThousandFilesNeedFewCalls) {
    constexpr std::size_t all = 10'000;
    constexpr std::size_t packs = (all + small_files_max - 1) / small_files_max;
    begin();
    std::size_t done = 0;
    for (std::size_t i = 0; i < all;) {
        std::vector<ListedFile> files;
        for (; i < all && files.size() < small_files_max; ++i) files.push_back(listed(std::to_string(i), "content"));
        for (const auto& fetched : fetch(files, {.sync = Sync::none})) done += fetched.ok() ? 1 : 0;
    }
    EXPECT_EQ(done, all);
    EXPECT_EQ(calls("cinnabar.save.read_pack"), packs);
    EXPECT_LE(calls(), packs + 3) << "a hello, a login and the packs";
}

TEST_F(FetchPackTest, TheEndOfOneIsNotThatOfTheOthers) {
    hooks.may_access = [](const AccessRequest& access) -> Result<void> {
        if (access.name == "forbidden") return Error{Errc::permission, "not yours"};
        return {};
    };
    begin();
    std::vector<ListedFile> files{listed("good", "1"),      listed("gone", "2"),      listed("grown", "33"),
                                  listed("shrunk", "4444"), {"../x", "outside", 1},   {"d", "folder", 1},
                                  listed("there", "7"),     listed("forbidden", "8"), listed("last", "9")};
    ASSERT_TRUE(fs::remove(folder.at("root/gone")));
    (void)folder.put("root/grown", "3333");
    (void)folder.put("root/shrunk", "4");
    (void)folder.put("back/there", "old");
    const auto fetched = fetch(files);
    const std::vector<Errc> expected{Errc::ok,     Errc::not_found,  Errc::bad_checksum,
                                     Errc::ok,     Errc::permission, Errc::invalid_argument,
                                     Errc::exists, Errc::permission, Errc::ok};
    ASSERT_EQ(fetched.size(), expected.size());
    for (std::size_t i = 0; i < files.size(); ++i) EXPECT_EQ(fetched[i].code(), expected[i]) << files[i].name;
    EXPECT_NE(fetched[2].error().message().find("more bytes than it listed"), std::string::npos);
    EXPECT_NE(fetched[7].error().message().find("not yours"), std::string::npos) << fetched[7].error().message();
    EXPECT_EQ(events.at("gone"), ServerEvent::Kind::failed);
    EXPECT_EQ(events.at("forbidden"), ServerEvent::Kind::failed);
    EXPECT_EQ(folder.list_of(folder.at("back")), (std::vector<std::string>{"d", "good", "last", "shrunk", "there"}));
    EXPECT_EQ(folder.get("back/shrunk"), "4") << "as it is now";
    EXPECT_EQ(folder.get("back/there"), "old");
    EXPECT_TRUE(fetch({files[0], files[6]}, {.existing = Existing::replace})[1].ok());
    EXPECT_EQ(folder.get("back/there"), "7");
}

TEST_F(FetchPackTest, WhatIsHereAlreadyIsNotSent) {
    begin();
    (void)folder.put("back/there", "old");
    const auto fetched = fetch({listed("there", "new"), listed("other", "x")});
    EXPECT_EQ(fetched[0].code(), Errc::exists);
    EXPECT_TRUE(fetched[1].ok());
    EXPECT_FALSE(events.contains("there")) << "the server has not given it";
    EXPECT_EQ(calls("cinnabar.save.read"), 0u);
    EXPECT_EQ(folder.get("back/there"), "old");
}

TEST_F(FetchPackTest, WhatDoesNotFitIsFetchedByItself) {
    options.window_bytes = 64 << 10;
    begin();
    const std::vector<ListedFile> files{listed("a", pattern(40 << 10)), listed("b", pattern(40 << 10, 2)),
                                        listed("c", "x"), listed("large", pattern(small_file_bytes_max + 1))};
    for (const auto& fetched : fetch(files)) EXPECT_TRUE(fetched.ok()) << fetched.error().message();
    for (const auto& file : files) EXPECT_EQ(folder.get("back/" + file.name), folder.get("root/" + file.name));
    EXPECT_EQ(calls("cinnabar.save.read_pack"), 1u);
    EXPECT_EQ(calls("cinnabar.save.ask"), 2u);
}

TEST_F(FetchPackTest, AServerThatGivesFewAtOnceIsAskedOneByOne) {
    options.session_files_max = 4;
    begin();
    std::vector<ListedFile> files;
    for (int i = 0; i < 10; ++i) files.push_back(listed(std::to_string(i), "x"));
    for (const auto& fetched : fetch(files)) EXPECT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_EQ(folder.get("back/9"), "x");
}

TEST_F(FetchPackTest, EmptyFilesNeedNoWindow) {
    begin();
    for (const auto& fetched : fetch({listed("a", ""), listed("b", "")}))
        EXPECT_TRUE(fetched.ok()) << fetched.error().message();
    EXPECT_EQ(folder.get("back/b"), "");
    EXPECT_EQ(calls("cinnabar.save.read_pack"), 1u);
}

TEST_F(FetchPackTest, HolesStayHoles) {
    constexpr std::size_t bytes = 100 << 10;
    begin();
    auto file = listed("sparse", "content");
    ASSERT_EQ(::truncate(folder.at("root/sparse").c_str(), bytes), 0);
    file.bytes = bytes;
    const auto fetched = fetch({file, listed("other", "x")});
    ASSERT_TRUE(fetched[0].ok()) << fetched[0].error().message();
    EXPECT_EQ(folder.get("back/sparse"), folder.get("root/sparse"));
    EXPECT_LT(status_of("back/sparse").st_blocks * 512, 64 << 10);
    EXPECT_EQ(calls("cinnabar.save.ask"), 0u);
}

TEST_F(FetchPackTest, AServerThatIsEndingGivesNoMore) {
    begin();
    const std::vector<ListedFile> files{listed("a", "x"), listed("b", "y")};
    ASSERT_TRUE(server->drain(std::chrono::seconds(0)));
    for (const auto& fetched : fetch(files)) EXPECT_EQ(fetched.code(), Errc::shutting_down);
}

}  // namespace
}  // namespace cinnabar::files
