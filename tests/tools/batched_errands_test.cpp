// SPDX-License-Identifier: BSD-3-Clause
// Errands that go together in one call, over a session with a server.
#include "commands/batched_errands.hpp"

#include "commands/listings.hpp"
#include "commands/server_errands.hpp"
#include "group_files/server_folders.hpp"
#include "support/folder.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;

struct TogetherTest : testing::Test {
    support::Folder folder;
    std::unique_ptr<files::Server> server =
        files::Server::make(files::Root::serve(folder.path().string()).value(), std::nullopt).value();
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    hl::Node here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    std::unique_ptr<files::Client> client;
    TransferOptions options;
    ProgressBar bar;
    Report report{Report::Style::quiet, "saved", bar};
    const Interrupt interrupt;

    void SetUp() override {
        ASSERT_TRUE(server->serve_on(there).ok());
        client = std::make_unique<files::Client>(here, here.lookup(there.endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
    }
    void TearDown() override { EXPECT_TRUE(hl::sync_wait(client->close()).ok()); }
    ExitCode move(Plan plan) {
        const Planner planner = [&plan](files::Client&, LeftOut&) -> hl::Task<Result<Plan>> {
            co_return std::move(plan);
        };
        const Opening open = [this](const SessionWork& work) -> Ended {
            return {hl::sync_wait(work(*client)), "server"};
        };
        move_over(open, options, planner, report, bar, interrupt);
        return report.finish();
    }
    static files::Entry entry(const std::string& name, std::string target = {}) {
        files::Entry result;
        result.name = name;
        result.target = std::move(target);
        result.attributes.mode = 0750;
        return result;
    }
    static Report::File file(const std::string& name, Report::Kind kind = Report::Kind::folder) {
        Report::File made;
        made.name = name;
        made.path = name;
        made.kind = kind;
        return made;
    }
    // Fails if it is done by itself.
    static Errand removal(const std::string& name, const std::string& given) {
        Errand errand{file(name), [](files::Client&, bool) -> hl::Task<Result<files::Moved>> { co_return Errc::io; }};
        errand.file.extraneous = true;
        errand.removed = {name, given};
        return errand;
    }
    [[nodiscard]] std::uint64_t calls(const std::string& rpc) const {
        for (const auto& counts : here.stats()) {
            if (counts.name == rpc) return counts.calls;
        }
        return 0;
    }
};

TEST_F(TogetherTest, FoldersAndLinksNeedOneCallEach) {
    constexpr int all = 20;
    options.jobs = 4;
    Plan plan(3);
    for (int i = 0; i < all; ++i) {
        const auto name = "d" + std::to_string(i);
        plan[0].push_back(make_folder_there(file(name), entry(name)));
        plan[1].push_back(make_link_there(file(name + "/link", Report::Kind::link), entry(name + "/link", "to"),
                                          files::Existing::keep));
        plan[2].push_back(finish_folder_there(file(name, Report::Kind::hidden), entry(name)));
    }
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok);
    EXPECT_EQ(calls("cinnabar.save.make_many"), 3u);
    EXPECT_EQ(calls("cinnabar.save.make"), 0u);
    EXPECT_EQ(fs::status(folder.at("d7")).permissions(), fs::perms{0750});
}

TEST_F(TogetherTest, RemovalsOfOneFolderNeedOneCall) {
    Plan plan(1);
    for (const auto* name : {"a", "b", "c"}) {
        (void)folder.put(name, "x");
        plan[0].push_back(removal(name, ""));
    }
    plan[0].push_back(removal("gone", ""));
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok) << "what is gone need not be removed";
    EXPECT_EQ(calls("cinnabar.save.remove_many"), 1u);
    EXPECT_EQ(support::Folder::list_of(folder.path()), std::vector<std::string>{".cinnabar-staging"});
}

TEST_F(TogetherTest, WhatIsInAFolderThatHasFailedIsNotTried) {
    Plan plan(3);
    for (const auto* name : {"a", "none/x", "b"}) {
        const std::string below = std::string(name) + "/link";
        plan[0].push_back(make_folder_there(file(name), entry(name)));
        plan[1].push_back(make_link_there(file(below, Report::Kind::link), entry(below, "to"), files::Existing::keep));
        plan[2].push_back(finish_folder_there(file(name, Report::Kind::hidden), entry(name)));
    }
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(std::move(plan)), ExitCode::not_found);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("none/x"), std::string::npos) << told;
    EXPECT_NE(told.find("the folder that it is in has failed"), std::string::npos) << told;
    EXPECT_EQ(fs::read_symlink(folder.at("b/link")), "to");
    EXPECT_EQ(fs::status(folder.at("b")).permissions(), fs::perms{0750});
}

TEST_F(TogetherTest, OnlyEqualErrandsGoTogether) {
    const auto folders = make_folder_there(file("a"), entry("a"));
    const auto one = removal("d/a", "d");
    EXPECT_TRUE(go_together(folders, make_folder_there(file("b"), entry("b"))));
    EXPECT_TRUE(go_together(one, removal("d/b", "d")));
    EXPECT_FALSE(go_together(one, removal("e/b", "e"))) << "links are followed elsewhere";
    EXPECT_FALSE(go_together(folders, one));
    Errand alone{file("a"), {}};
    EXPECT_FALSE(may_go_together(alone));
    EXPECT_FALSE(go_together(alone, alone));
    Errand copied{file("a"), {}};
    Errand other{file("b"), {}};
    files::Client* from = nullptr;
    copied.copied = {"a", "a", 1};
    copied.copied_from = &from;
    other.copied = {"b", "b", 1};
    EXPECT_FALSE(go_together(copied, other)) << "from another server";
    other.copied_from = &from;
    EXPECT_TRUE(go_together(copied, other));
    other.copy_mode.exact = true;
    EXPECT_FALSE(go_together(copied, other)) << "one is named on the command line, the other one is in a tree";
}

TEST_F(TogetherTest, FoldersOfAGroupsTreeNeedOneCallForEachDepth) {
    std::map<std::string, files::Attributes> folders;
    std::vector<std::string> names;
    for (int i = 0; i < 10; ++i) {
        const auto folder_name = "top/d" + std::to_string(i);
        folders.emplace(folder_name, files::Attributes{});
        names.push_back(folder_name + "/link");
        names.push_back(folder_name);
    }
    for (const auto* name : {"top", "top/d3/bad", "top/away", "top/away/inner"})
        folders.emplace(name, files::Attributes{});
    (void)fs::create_directories(folder.at("top/d3"));
    (void)fs::create_directories(folder.at("elsewhere"));
    (void)folder.put("top/d3/bad", "a file has the name of a folder");
    fs::create_directory_symlink("../elsewhere", folder.at("top/away"));
    const auto good = names.size();
    names.emplace_back("top/d3/bad/link");
    names.emplace_back("top/away/inner");
    group_files::ServerFolders server_folders(std::move(folders));
    const auto made = hl::sync_wait(server_folders.make_all(0, *client, names)).value();
    ASSERT_EQ(made.size(), names.size());
    for (std::size_t i = 0; i < made.size(); ++i) EXPECT_EQ(made[i].ok(), i < good) << names[i];
    EXPECT_TRUE(fs::is_directory(folder.at("top/d9")));
    EXPECT_FALSE(fs::exists(folder.at("elsewhere/inner"))) << "a link that has the name of a folder is not followed";
    EXPECT_EQ(calls("cinnabar.save.make_many"), 1u);
    EXPECT_EQ(calls("cinnabar.save.make"), 2u) << "the only ones of their depths";
    names.resize(good);
    EXPECT_EQ(hl::sync_wait(server_folders.make_all(0, *client, names)).value().size(), names.size());
    EXPECT_EQ(calls("cinnabar.save.make_many"), 1u) << "all of them are known";
}

TEST_F(TogetherTest, NamesAreLookedAtInOrder) {
    std::vector<std::string> names;
    for (int i = 0; i < 20; ++i) {
        names.push_back("f" + std::to_string(i));
        if (i != 7) (void)folder.put(names.back(), std::string(static_cast<std::size_t>(i), 'x'));
    }
    const auto seen = hl::sync_wait(look_each(*client, names)).value();
    ASSERT_EQ(seen.size(), names.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        if (i == 7) continue;
        ASSERT_TRUE(seen[i].ok()) << names[i];
        EXPECT_EQ(seen[i]->entry.name, names[i]);
        EXPECT_EQ(seen[i]->entry.bytes, i);
    }
    EXPECT_EQ(seen[7].code(), Errc::not_found);
}

}  // namespace
}  // namespace cinnabar::tools
