// SPDX-License-Identifier: BSD-3-Clause
// What is planned of a tree, what is left out of it, and how much the progress bar is told of.
#include "commands/tree_plan.hpp"

#include "support/content.hpp"

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
    ProgressBar bar{-1, false, 0, 0};
    Report report{Report::Style::quiet, "saved", bar};
    TreePlan plan;
    SaveOptions options;

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
        report));
    EXPECT_EQ(names(plan.take(bar)).size(), 4u) << "a folder, a file, a link, and another name of the file";
    EXPECT_EQ(bar.facts().files_total, 1u);
    EXPECT_EQ(bar.facts().bytes_total, 7u);
    EXPECT_EQ(bar.facts().files_done, 0u) << "neither what is the same there nor the pipe was to be moved";
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
        report));
    const auto left = names(plan.take(bar));
    EXPECT_NE(std::ranges::find(left, "tree/d"), left.end());
    EXPECT_EQ(std::ranges::find(left, "tree"), left.end()) << "that one is there";
}

TEST(Report, StepsThatNobodySeesAreNotCountedAsLeft) {
    ProgressBar bar(-1, false, 0, 0);
    Report report(Report::Style::people, "saved", bar);
    testing::internal::CaptureStderr();
    report.skipped({"a", "a"}, Errc::peer_lost);
    report.skipped({.name = "d", .path = "d", .kind = Report::Kind::hidden}, Errc::peer_lost);
    EXPECT_EQ(report.finish(), ExitCode::peer_lost);
    EXPECT_NE(testing::internal::GetCapturedStderr().find(" 1 more were"), std::string::npos);
}

}  // namespace
}  // namespace cinnabar::tools
