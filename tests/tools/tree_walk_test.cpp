// SPDX-License-Identifier: BSD-3-Clause
// The walk through a tree that a server lists without end.
#include "commands/tree_walk.hpp"

#include "session/protocol.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <utility>

namespace cinnabar::tools {
namespace {

files::Entry listed(files::EntryKind kind, std::string name) {
    files::Entry entry;
    entry.kind = kind;
    entry.name = std::move(name);
    return entry;
}

// The tree has eight folders, and each of these pages of 100 files without end.
TEST(TreeWalk, OfAServerThatListsWithoutEndAllIsCounted) {
    std::atomic<unsigned> pages = 0;
    const auto there = hl::Node::listen("tcp://127.0.0.1:0").value();
    const auto serves = [&there](const auto& rpc, auto handler) {
        ASSERT_TRUE(there.serve(rpc, std::move(handler)).ok());
    };
    serves(files::hello_rpc, [](const files::HelloIn&) { return files::HelloOut{files::protocol_version, false, {}}; });
    serves(files::login_rpc, [](const files::LoginIn&) { return files::LoginOut{{}, {}, 4096, 1}; });
    serves(files::hold_rpc, [](hl::Request<files::HoldIn> request) -> hl::Task<Result<void>> {
        co_return co_await request.node().sleep_for(std::chrono::hours(1));
    });
    serves(files::list_rpc, [&pages](const files::ListIn& in) {
        ++pages;
        files::Listing page;
        page.entries.assign(100, listed(files::EntryKind::file, "file"));
        page.cursor = in.cursor + 1;
        return page;
    });
    const auto here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    files::Client session(here, here.lookup(there.endpoints().front()).value(), nullptr);
    ASSERT_TRUE(hl::sync_wait(session.open()).ok());
    files::Listing first;
    for (int i = 0; i < 8; ++i) first.entries.push_back(listed(files::EntryKind::folder, "d" + std::to_string(i)));
    const files::Filter filter{};
    unsigned found = 0;
    unsigned failed = 0;
    const Walk walk{.name = "tree",
                    .prefix = {},
                    .filter = filter,
                    .extended = {},
                    .found = [&found](const files::Entry&) { return ++found > 0; },
                    .failed = [&failed](const std::string&, const Error&) { ++failed; },
                    .left_out = [] {},
                    .entries_max = 1000};
    const auto walked = hl::sync_wait(walk_tree(session, walk, std::move(first)));
    EXPECT_EQ(walked.code(), Errc::protocol);
    EXPECT_EQ(found, 8u) << "the folders";
    EXPECT_EQ(failed, 0u);
    EXPECT_EQ(pages.load(), 9u + 8u) << "nine that were taken, and one of each folder that was refused";
    EXPECT_TRUE(hl::sync_wait(session.close()).ok());
}

}  // namespace
}  // namespace cinnabar::tools
