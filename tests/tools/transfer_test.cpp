// SPDX-License-Identifier: BSD-3-Clause
// Errands over sessions that end: what is tried again, and what is waited for. The errands return what the test says.
#include "commands/transfer.hpp"

#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

struct TransferTest : testing::Test {
    hl::Node node = hl::Node::open("tcp://", {.progress_thread = false}).value();
    files::Client session{node, {}, nullptr};
    TransferOptions options;
    ProgressBar bar;
    Report report{Report::Style::quiet, "saved", bar};
    const Interrupt interrupt;
    std::vector<std::string> tried;
    unsigned sessions = 0;

    TransferTest() {
        options.wait_seconds = 3600;
        options.jobs = 1;
    }
    // Ends with each of `codes` in turn, and then well.
    Errand errand(const std::string& name, std::vector<Errc> codes = {}) {
        const auto left = std::make_shared<std::vector<Errc>>(std::move(codes));
        return {Report::File{name, name}, [this, name, left](files::Client&, bool) -> hl::Task<Result<files::Moved>> {
                    tried.push_back(name);
                    if (left->empty()) co_return files::Moved{};
                    const Errc code = left->front();
                    left->erase(left->begin());
                    co_return Error{code};
                }};
    }
    ExitCode move(Plan plan) {
        const Planner planner = [&plan](files::Client&) -> hl::Task<Result<Plan>> { co_return std::move(plan); };
        const Opening open = [this](const SessionWork& work) -> Ended {
            ++sessions;
            return {hl::sync_wait(work(session)), "server"};
        };
        move_over(open, options, planner, report, bar, interrupt);
        return report.finish();
    }
};

using Names = std::vector<std::string>;

TEST_F(TransferTest, ALostErrandThatIsBusyIsWaitedFor) {
    std::vector<Errand> errands;
    errands.push_back(errand("a", {Errc::timed_out, Errc::busy, Errc::busy}));
    Plan plan;
    plan.push_back(std::move(errands));
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok);
    EXPECT_EQ(tried, (Names{"a", "a", "a", "a"}));
    EXPECT_EQ(sessions, 4u);
}

TEST_F(TransferTest, OtherErrandsGoOnMeanwhileAndLaterPhasesWait) {
    std::vector<Errand> errands;
    errands.push_back(errand("a", {Errc::peer_lost, Errc::busy}));
    errands.push_back(errand("b"));
    std::vector<Errand> after;
    after.push_back(errand("c"));
    Plan plan;
    plan.push_back(std::move(errands));
    plan.push_back(std::move(after));
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok);
    EXPECT_EQ(tried, (Names{"a", "a", "b", "a", "c"}));
}

TEST_F(TransferTest, AnErrandThatIsBusyAtFirstHasFailed) {
    std::vector<Errand> errands;
    errands.push_back(errand("a", {Errc::busy}));
    errands.push_back(errand("b"));
    Plan plan;
    plan.push_back(std::move(errands));
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(std::move(plan)), ExitCode::exists);
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(tried, (Names{"a", "b"}));
    EXPECT_EQ(sessions, 1u);
}

TEST_F(TransferTest, WhoStaysBusyHasFailedWhenTheTimeIsUp) {
    options.wait_seconds = 0.3;
    std::vector<Errand> errands;
    std::vector<Errc> codes(1000, Errc::busy);
    codes.front() = Errc::peer_lost;
    errands.push_back(errand("a", std::move(codes)));
    Plan plan;
    plan.push_back(std::move(errands));
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(std::move(plan)), ExitCode::exists);
    (void)testing::internal::GetCapturedStderr();
    EXPECT_GE(sessions, 2u);
}

}  // namespace
}  // namespace cinnabar::tools
