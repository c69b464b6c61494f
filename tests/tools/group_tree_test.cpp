// SPDX-License-Identifier: BSD-3-Clause
// Trees that a group's servers list: what a hostile server may list, and in which order the entries are made here.
#include "group_files/group_tree.hpp"

#include "group_files/fetched_tree.hpp"
#include "session/protocol.hpp"
#include "support/folder.hpp"

#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/serve.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <stop_token>

namespace cinnabar::tools::group_files {
namespace {

namespace fs = std::filesystem;
using files::EntryKind;

// Lists one folder in each folder.
hl::Node serve_folders_without_end() {
    auto node = hl::Node::listen("tcp://127.0.0.1:0").value();
    const auto hello = [](const files::HelloIn&) {
        files::HelloOut out;
        out.version = files::protocol_version;
        return out;
    };
    const auto login = [](const files::LoginIn&) {
        files::LoginOut out;
        out.window_bytes = 1u << 20;
        out.windows_max = 8;
        return out;
    };
    const auto hold = [](hl::Request<files::HoldIn> request) -> hl::Task<Result<void>> {
        co_return co_await request.node().sleep_for(std::chrono::hours(1));
    };
    const auto list = [](const files::ListIn&) {
        files::Listing listing;
        files::Entry folder;
        folder.kind = EntryKind::folder;
        folder.name.assign(255, 'a');
        listing.entries.push_back(std::move(folder));
        return listing;
    };
    EXPECT_TRUE(node.serve(files::hello_rpc, hello).ok());
    EXPECT_TRUE(node.serve(files::login_rpc, login).ok());
    EXPECT_TRUE(node.serve(files::hold_rpc, hold).ok());
    EXPECT_TRUE(node.serve(files::list_rpc, list).ok());
    return node;
}

struct GroupTreeTest : testing::Test {
    support::Folder folder;
    FetchOptions options;
    ProgressBar bar;
    Report report{Report::Style::people, "fetched", bar};
    GroupTree tree{{"tree", "tree", "tree/", folder.at("tree")}};

    static files::Entry entry(const std::string& name, EntryKind kind) {
        files::Entry made;
        made.name = name;
        made.kind = kind;
        made.attributes.mode = 0755;
        return made;
    }
};

TEST_F(GroupTreeTest, FoldersWithoutEndAreNotFollowed) {
    const auto node = serve_folders_without_end();
    options.insecure = true;
    std::vector<GroupTree> trees{tree};
    const Interrupt interrupt;
    const auto asked =
        walk_at_every_server(trees, {{"a", node.endpoints().front(), false}}, options, interrupt, report);
    EXPECT_FALSE(asked.lost) << asked.lost->message();
    EXPECT_EQ(trees.front().entries.by_name().size(), 16u) << "the last one's name is over 4095 bytes";
}

// Otherwise a file could be written where a link leads.
TEST_F(GroupTreeTest, LinksAreMadeWhenTheFilesAreThere) {
    const auto into = files::Root::open(folder.path().string()).value();
    FetchedTree here(options, &into, report);
    auto link = entry("link", EntryKind::link);
    link.target = "../elsewhere";
    tree.entries.add(link, 1);
    EXPECT_TRUE(here.make(tree).empty());
    EXPECT_FALSE(fs::is_symlink(folder.at("tree/link")));
    here.finish();
    EXPECT_TRUE(fs::is_symlink(folder.at("tree/link")));
}

TEST_F(GroupTreeTest, NothingMoreIsMadeAfterAnInterrupt) {
    const auto into = files::Root::open(folder.path().string()).value();
    std::stop_source interrupt;
    FetchedTree here(options, &into, report, interrupt.get_token());
    auto link = entry("link", EntryKind::link);
    link.target = "file";
    tree.entries.add(link, 1);
    EXPECT_TRUE(here.make(tree).empty());
    interrupt.request_stop();
    here.finish();
    EXPECT_FALSE(fs::is_symlink(folder.at("tree/link")));
    tree.entries.add(entry("d", EntryKind::folder), 1);
    tree.entries.add(entry("file", EntryKind::file), 1);
    EXPECT_TRUE(here.make(tree).empty());
    EXPECT_FALSE(fs::exists(folder.at("tree/d")));
    EXPECT_EQ(report.finish(), ExitCode::interrupted);
}

TEST_F(GroupTreeTest, NothingIsMadeInAFolderWhoseNameALinkHas) {
    fs::create_directories(folder.at("elsewhere"));
    fs::create_directory(folder.at("tree"));
    fs::create_symlink("../elsewhere", folder.at("tree/d"));
    const auto into = files::Root::open(folder.path().string()).value();
    FetchedTree here(options, &into, report);
    tree.entries.add(entry("d", EntryKind::folder), 1);
    tree.entries.add(entry("d/file", EntryKind::file), 1);
    tree.entries.add(entry("d/inner", EntryKind::folder), 1);
    EXPECT_TRUE(here.make(tree).empty());
    EXPECT_TRUE(fs::is_empty(folder.at("elsewhere")));
    EXPECT_EQ(report.finish(), ExitCode::exists);
}

TEST_F(GroupTreeTest, TwoTreesHaveFoldersInCommonAndNothingElse) {
    const auto into = files::Root::open(folder.path().string()).value();
    FetchedTree here(options, &into, report);
    for (const auto& [name, kind] : {std::pair("d", EntryKind::folder), std::pair("d/file", EntryKind::file)})
        tree.entries.add(entry(name, kind), 1);
    EXPECT_EQ(here.make(tree).size(), 1u);
    EXPECT_EQ(here.make(tree).size(), 0u) << "the second tree has the same file";
    EXPECT_EQ(report.finish(), ExitCode::unsuitable);
}

}  // namespace
}  // namespace cinnabar::tools::group_files
