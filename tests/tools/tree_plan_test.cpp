// SPDX-License-Identifier: BSD-3-Clause
// The plan for a tree: what it contains, what is left out, and what the progress bar is told.
#include "commands/tree_plan.hpp"

#include "support/content.hpp"

#include <cinnabar/files/file_error.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;

struct TreePlanTest : testing::Test {
    support::Folder folder;
    ProgressBar bar;
    Report report{Report::Style::quiet, "saved", bar};
    TreePlan plan;
    SaveOptions options;
    SameAttributes exact{[] { return files::AttributePrecision(); }};

    void SetUp() override {
        fs::create_directories(folder.at("tree/d"));
        (void)folder.put("tree/same", "12345");
        (void)folder.put("tree/d/file", "1234567");
        fs::create_hard_link(folder.at("tree/d/file"), folder.at("tree/again"));
        fs::create_symlink("same", folder.at("tree/link"));
        ASSERT_EQ(::mkfifo(folder.at("tree/pipe").c_str(), 0600), 0);
        ASSERT_TRUE(plan_save({folder.at("tree"), "tree", "tree/"}, options, plan, report, bar).ok());
    }
    static std::vector<std::string> names(const Plan& phases) {
        std::vector<std::string> result;
        for (const auto& phase : phases) {
            for (const auto& errand : phase) {
                if (errand.file.kind != Report::Kind::hidden) result.push_back(errand.file.name);
            }
        }
        return result;
    }
};

TEST_F(TreePlanTest, TheBarIsToldOfWhatIsMoved) {
    const auto listed = files::Root::open(folder.at("tree")).value().list("", 0, {}).value();
    (void)hl::sync_wait(plan.leave_out_unchanged(
        [&listed](const std::string& name) -> hl::Task<Result<files::Listing>> {
            if (name != "tree") co_return Errc::not_found;
            auto there = listed;
            std::erase_if(there.entries, [](const files::Entry& entry) { return entry.name != "same"; });
            co_return there;
        },
        exact, report));
    EXPECT_EQ(names(plan.take(bar)).size(), 4u) << "a folder, a file, a link, and another name of the file";
    EXPECT_EQ(bar.facts().files_total, 1u);
    EXPECT_EQ(bar.facts().bytes_total, 7u);
    EXPECT_EQ(bar.facts().files_done, 0u) << "neither what is the same there nor the pipe was to be moved";
}

// The step that makes a folder opens one that is there.
TEST_F(TreePlanTest, AClosedFolderIsOpenedIfSomethingIsMadeInIt) {
    const auto left_of = [this](std::uint32_t mode, bool all_there) {
        TreePlan another;
        EXPECT_TRUE(plan_save({folder.at("tree"), "tree", "tree/"}, options, another, report, bar).ok());
        const auto lister = [&](const std::string& name) -> hl::Task<Result<files::Listing>> {
            const auto root = files::Root::open(folder.path().string()).value();
            auto there = root.list(name, 0, {}).value();
            if (name == "tree/d") there.attributes.mode = mode;
            if (name == "tree/d" && !all_there) there.entries.clear();
            co_return there;
        };
        (void)hl::sync_wait(another.leave_out_unchanged(lister, exact, report));
        std::vector<Report::Kind> kinds;  // of the steps for that folder, the last of which finishes it
        for (const auto& phase : another.take(bar)) {
            for (const auto& errand : phase) {
                if (errand.result && errand.result->name == "tree/d") kinds.push_back(errand.file.kind);
            }
        }
        return kinds;
    };
    const auto hidden = Report::Kind::hidden;
    EXPECT_EQ(left_of(0555, false), (std::vector{hidden, hidden}));
    EXPECT_EQ(left_of(0755, false), std::vector{hidden}) << "it is open";
    EXPECT_EQ(left_of(0555, true), std::vector{hidden}) << "nothing is made in it, but its mode differs";
}

TEST_F(TreePlanTest, AFileInAFoldersPlaceIsNotThatFolder) {
    (void)hl::sync_wait(plan.leave_out_unchanged(
        [this](const std::string& name) -> hl::Task<Result<files::Listing>> {
            if (name != "tree") co_return Errc::not_found;
            auto there = files::Root::open(folder.at("tree")).value().list("", 0, {}).value();
            for (auto& entry : there.entries) {
                if (entry.name == "d") entry.kind = files::EntryKind::file;
            }
            co_return there;
        },
        exact, report));
    const auto left = names(plan.take(bar));
    EXPECT_NE(std::ranges::find(left, "tree/d"), left.end());
    EXPECT_EQ(std::ranges::find(left, "tree"), left.end()) << "that one is there";
}

TEST(LinksThatLeadOut, AreAbsoluteOrHaveTooManyDots) {
    for (const auto* inside : {"d", "./d", "d/up", "d//deep", ".", "d/..name"}) EXPECT_FALSE(leads_out("link", inside));
    EXPECT_FALSE(leads_out("d/up", ".."));
    EXPECT_FALSE(leads_out("d/deep/up", "../../other"));
    for (const auto* out : {"/etc", "..", "./..", "../d"}) EXPECT_TRUE(leads_out("link", out)) << out;
    EXPECT_TRUE(leads_out("d/deep/up", "../../.."));
}

// With d/up -> "..", which stays inside, d/up/.. is above the tree.
TEST(LinksThatLeadOut, AreThoseThatGoUpBehindAnotherName) {
    for (const auto* out : {"d/up/..", "d/up/../", "d/up/./..", "d//..", "d/../d"}) {
        EXPECT_TRUE(leads_out("link", out)) << out;
        EXPECT_TRUE(leads_out("a/b/c/link", out)) << out;
    }
    EXPECT_TRUE(leads_out("a/link", "../d/..")) << "d may be a link";
}

TEST(Report, StepsThatNobodySeesAreNotCountedAsLeft) {
    ProgressBar bar;
    Report report(Report::Style::people, "saved", bar);
    testing::internal::CaptureStderr();
    report.skipped({"a", "a"}, Errc::peer_lost);
    report.skipped({.name = "d", .path = "d", .kind = Report::Kind::hidden}, Errc::peer_lost);
    EXPECT_EQ(report.finish(), ExitCode::peer_lost);
    EXPECT_NE(testing::internal::GetCapturedStderr().find(" 1 more were"), std::string::npos);
}

struct ReportTest : testing::Test {
    ProgressBar bar;
    void fail_three(Report& report) {
        report.done({"fine", "fine", 10});
        report.failed({"a", "a"}, {Errc::exists, files::server_says, "the name is taken"});
        report.failed({"b", "b"}, {Errc::exists, files::server_says, "the name is taken"});
        report.failed({"c", "c"}, {Errc::invalid_argument, "a device, socket or pipe: left out", "c"});
        report.filtered(2);
    }
};

TEST_F(ReportTest, TheSummarySaysWhatWasNotDoneAndWhy) {
    Report report(Report::Style::people, "saved", bar);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    fail_three(report);
    EXPECT_EQ(report.finish(), ExitCode::exists);
    const auto summary = testing::internal::GetCapturedStdout();
    EXPECT_TRUE(summary.starts_with("saved 1 file (2 left out by patterns), 10 B in ")) << summary;
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(
        told.ends_with("\ncinnabar: not saved: 3\n"
                       "       2  exists: the server says (the name is taken)\n"
                       "       1  invalid argument: a device, socket or pipe: left out\n"))
        << told;
}

TEST_F(ReportTest, ALostServerIsReportedOnce) {
    Report report(Report::Style::people, "fetched", bar);
    testing::internal::CaptureStderr();
    for (const char* server : {"tcp://a", "tcp://b", "tcp://a"}) report.lost(server, Errc::peer_lost);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("tcp://b"), std::string::npos) << told;
    EXPECT_EQ(told.find("tcp://a"), told.rfind("tcp://a")) << told;
}

TEST_F(ReportTest, InJsonTheSummaryHasTheReasons) {
    Report report(Report::Style::json, "saved", bar);
    testing::internal::CaptureStdout();
    fail_three(report);
    EXPECT_EQ(report.finish(), ExitCode::exists);
    const auto lines = testing::internal::GetCapturedStdout();
    EXPECT_NE(lines.find(R"("filtered": 2, "failed": 3, )"), std::string::npos) << lines;
    EXPECT_NE(lines.find(R"json("text": "exists: the server says (the name is taken)", "count": 2})json"),
              std::string::npos)
        << lines;
    EXPECT_NE(lines.find(R"({"code": "invalid_argument", )"), std::string::npos) << lines;
}

TEST_F(ReportTest, InJsonAServerThatIsGivenUpIsAnEvent) {
    Report report(Report::Style::json, "saved", bar);
    Endings endings;
    testing::internal::CaptureStdout();
    endings.add("tcp://a", Error{Errc::peer_lost});
    report.gave_up(endings);
    endings.add("tcp://a", Error{Errc::no_such_rpc});
    endings.add("tcp://a", Error{Errc::peer_lost});
    report.gave_up(endings);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              R"({"event": "gave_up", "sessions": 3, "errors": [)"
              R"({"server": "tcp://a", "code": "peer_lost", "text": "peer lost", "count": 2}, )"
              R"({"server": "tcp://a", "code": "no_such_rpc", "text": "no such rpc", "count": 1}]})"
              "\n");
}

TEST_F(ReportTest, WhatIsDeletedIsCountedByItself) {
    const auto summary_of = [this](Report::Style style, bool dry) {
        Report report(style, "saved", bar);
        testing::internal::CaptureStderr();
        testing::internal::CaptureStdout();
        const Report::File gone{.name = "d/gone", .path = {}, .kind = Report::Kind::folder, .extraneous = true};
        dry ? report.planned(gone) : report.done(gone);
        report.deletes_no_more(3);
        EXPECT_EQ(report.finish(), ExitCode::not_deleted);
        return testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
    };
    const auto told = summary_of(Report::Style::people, false);
    EXPECT_TRUE(told.starts_with("saved 0 files, 0 B in ")) << told;
    EXPECT_NE(told.find("; deleted 1\ncinnabar: --max-delete: 3 more would be deleted"), told.npos) << told;
    EXPECT_TRUE(summary_of(Report::Style::people, true)
                    .starts_with("deleting d/gone\nto be saved: 0 files, 0 B; to be deleted: 1\n"));
    const auto json = summary_of(Report::Style::json, false);
    EXPECT_TRUE(json.starts_with(R"({"event": "delete", "ok": true, "name": "d/gone", "kind": "folder"})")) << json;
    EXPECT_NE(json.find(R"("deleted": 1, "not_deleted": 3, "failed": 0, )"), json.npos) << json;
    EXPECT_EQ(summary_of(Report::Style::quiet, true).find("gone"), std::string::npos);
}

TEST_F(ReportTest, WhenNothingIsDeletedThatIsTold) {
    Report report(Report::Style::quiet, "saved", bar);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(report.has_failed());
    report.failed({"a", "a"}, Errc::io);
    EXPECT_TRUE(report.has_failed());
    report.deletes_nothing();
    EXPECT_EQ(report.finish(), ExitCode::io);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cinnabar: nothing is deleted"), std::string::npos);
}

TEST_F(ReportTest, ReasonsWithoutEndAreCounted) {
    Report report(Report::Style::people, "saved", bar);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 100; ++i)
        report.failed({"a", "a"}, {Errc::io, files::server_says, "made up " + std::to_string(i)});
    EXPECT_EQ(report.finish(), ExitCode::io);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(told.ends_with("      84  for other reasons\n")) << told;
}

TEST_F(ReportTest, QuietSaysWhatFailedAndNoSummary) {
    Report report(Report::Style::quiet, "saved", bar);
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    fail_three(report);
    EXPECT_EQ(report.finish(), ExitCode::exists);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("not saved"), std::string::npos);
}

TEST_F(ReportTest, InJsonProgressIsAnEventOfItsOwn) {
    const auto shown = Report::shown_in(Report::Style::json);
    testing::internal::CaptureStdout();
    ProgressFacts facts;
    facts.names = {"a\"", "b"};
    facts.files_total = 5;
    facts.bytes_done = 7;
    shown.tell(facts);
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              R"({"event": "progress", "files": 5, "files_done": 0, "bytes": 0, "bytes_done": 7, "bytes_per_second": )"
              R"(0, "under_way": ["a\"", "b"]})"
              "\n");
    EXPECT_FALSE(Report::shown_in(Report::Style::quiet).tell);
    EXPECT_EQ(Report::shown_in(Report::Style::quiet).fd, -1);
}

}  // namespace
}  // namespace cinnabar::tools
