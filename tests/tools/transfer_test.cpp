// SPDX-License-Identifier: BSD-3-Clause
// Errands over sessions that end: what is tried again, and what is waited for. The errands return what the test says.
#include "commands/transfer.hpp"

#include "commands/server_errands.hpp"
#include "support/folder.hpp"

#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
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
    std::map<unsigned, Errc> not_opened;  // by the number of the session, from 1: why it cannot be opened

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
    ExitCode move(Errand only) {
        std::vector<Errand> errands;
        errands.push_back(std::move(only));
        Plan plan;
        plan.push_back(std::move(errands));
        return move(std::move(plan));
    }
    ExitCode move(Plan plan) {
        const Planner planner = [&plan](files::Client&, LeftOut&) -> hl::Task<Result<Plan>> {
            co_return std::move(plan);
        };
        const Opening open = [this](const SessionWork& work) -> Ended {
            ++sessions;
            if (const auto why = not_opened.find(sessions); why != not_opened.end())
                return {Error{why->second}, "server"};
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

TEST_F(TransferTest, ATakenNameIsNoErrorIfTheFileIsTheSame) {
    const auto taken = [this](const std::string& name, Result<bool> same) {
        auto result = errand(name, {Errc::exists});
        result.is_same = [same](files::Client&) -> hl::Task<Result<bool>> { co_return same; };
        return result;
    };
    std::vector<Errand> errands;
    errands.push_back(taken("a", true));
    errands.push_back(taken("b", Errc::peer_lost));
    Plan plan;
    plan.push_back(std::move(errands));
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok);
    EXPECT_EQ(tried, (Names{"a", "b", "b"})) << "the session was lost when it was asked";
    std::vector<Errand> others;
    others.push_back(taken("c", false));
    others.push_back(taken("d", Errc::permission));
    Plan another;
    another.push_back(std::move(others));
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(std::move(another)), ExitCode::exists);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("d: exists"), std::string::npos);
}

// What may answer at the address of a lost server until that is back: nobody, the server while it starts, or another
// program.
struct RedialTest : TransferTest, testing::WithParamInterface<Errc> {};
INSTANTIATE_TEST_SUITE_P(Meets, RedialTest,
                         testing::Values(Errc::refused, Errc::timed_out, Errc::peer_lost, Errc::no_such_rpc,
                                         Errc::permission, Errc::protocol, Errc::overloaded),
                         [](const auto& each) { return std::string(code_word(each.param)); });

TEST_P(RedialTest, ALostServerIsWaitedForWhateverAnswersMeanwhile) {
    not_opened[2] = GetParam();
    EXPECT_EQ(move(errand("a", {Errc::peer_lost})), ExitCode::ok);
    EXPECT_EQ(tried, (Names{"a", "a"}));
    EXPECT_EQ(sessions, 3u);
}

TEST_F(TransferTest, AServerThatListensAndDoesNotServeYetIsWaitedFor) {
    not_opened[1] = Errc::no_such_rpc;
    EXPECT_EQ(move(errand("a")), ExitCode::ok);
    EXPECT_EQ(sessions, 2u);
}

TEST_F(TransferTest, AServerThatRefusesTheKeyAtFirstIsNotWaitedFor) {
    not_opened[1] = Errc::permission;
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(errand("a")), ExitCode::permission);
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(sessions, 1u);
}

TEST_F(TransferTest, ASessionThatFailsOfItselfIsNotTakenForAServerThatStarts) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(errand("a", {Errc::peer_lost, Errc::protocol})), ExitCode::protocol);
    (void)testing::internal::GetCapturedStderr();
    EXPECT_EQ(sessions, 2u);
}

TEST_F(TransferTest, AServerThatEndsIsLostAndNothingWasInterrupted) {
    EXPECT_EQ(move(errand("a", {Errc::canceled})), ExitCode::ok);
    EXPECT_EQ(sessions, 2u);
}

TEST_F(TransferTest, AServerThatEndsIsToldAsSuch) {
    options.wait_seconds = 0;
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(errand("b", {Errc::canceled})), ExitCode::interrupted);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("b: shutting down: the server ended"), std::string::npos) << told;
}

TEST_F(TransferTest, WhoGivesUpTellsHowEachSessionEnded) {
    not_opened[2] = Errc::refused;
    not_opened[3] = Errc::refused;
    not_opened[4] = Errc::unsupported;
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(errand("a", {Errc::peer_lost})), ExitCode::peer_lost);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("a: " + Error{Errc::peer_lost}.message()), std::string::npos) << "of the file: " << told;
    EXPECT_NE(told.find("given up after 4 sessions:\n       1  server: " + Error{Errc::peer_lost}.message() +
                        "\n       2  server: " + Error{Errc::refused}.message() +
                        "\n       1  server: " + Error{Errc::unsupported}.message() + "\n"),
              std::string::npos)
        << told;
}

TEST_F(TransferTest, WhoMeetsTheSameEachTimeTellsItOnce) {
    options.wait_seconds = 0.2;
    for (unsigned number = 1; number < 100; ++number) not_opened[number] = Errc::refused;
    testing::internal::CaptureStderr();
    EXPECT_EQ(move(errand("a")), ExitCode::unreachable);
    const auto told = testing::internal::GetCapturedStderr();
    EXPECT_EQ(told.find("given up"), std::string::npos) << told;
    EXPECT_GE(sessions, 2u);
}

TEST(EndingsTest, OnlySomeDifferentOnesAreKept) {
    Endings endings;
    for (int i = 0; i < 100; ++i) endings.add("server", Error{Errc::peer_lost, {}, std::to_string(i)});
    EXPECT_EQ(endings.sessions(), 100u);
    EXPECT_EQ(endings.kept().size(), Endings::kept_max);
    EXPECT_EQ(endings.others(), 100 - Endings::kept_max);
    endings.add("server", Error{Errc::peer_lost, {}, "0"});
    EXPECT_EQ(endings.kept().front().count, 2u);
}

TEST_F(TransferTest, AFileThatReplacesAnotherIsComparedFirst) {
    const auto compared = [this](const std::string& name, std::vector<Result<bool>> answers) {
        auto result = errand(name);
        result.ask_first = true;
        const auto left = std::make_shared<std::vector<Result<bool>>>(std::move(answers));
        result.is_same = [left](files::Client&) -> hl::Task<Result<bool>> {
            auto answer = left->front();
            left->erase(left->begin());
            co_return answer;
        };
        return result;
    };
    std::vector<Errand> errands;
    errands.push_back(compared("same", {true}));
    errands.push_back(compared("other", {false}));
    errands.push_back(compared("lost", {Errc::peer_lost, true}));
    errands.push_back(compared("unknown", {Errc::not_found}));
    Plan plan;
    plan.push_back(std::move(errands));
    EXPECT_EQ(move(std::move(plan)), ExitCode::ok);
    EXPECT_EQ(tried, (Names{"other", "unknown"}));
    EXPECT_EQ(sessions, 2u);
}

// Steps for a tree whose answers were lost with their session.
struct RepeatedStepTest : testing::Test {
    support::Folder folder;
    std::unique_ptr<files::Server> server =
        files::Server::make(files::Root::serve(folder.path().string()).value(), std::nullopt).value();
    hl::Node there = hl::Node::listen("tcp://127.0.0.1:0").value();
    hl::Node here = hl::Node::open("tcp://", {.progress_thread = false}).value();
    std::unique_ptr<files::Client> client;

    void SetUp() override {
        ASSERT_TRUE(server->serve_on(there).ok());
        client = std::make_unique<files::Client>(here, here.lookup(there.endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
        (void)folder.put("a", "x");
        (void)folder.put("b", "x");
    }
    void TearDown() override { EXPECT_TRUE(hl::sync_wait(client->close()).ok()); }
    Errc link(const std::string& name, const std::string& target, bool again) {
        return move(make_link_there({}, entry(name, target), files::Existing::keep), again);
    }
    Errc hard_link(const std::string& name, const std::string& first, bool again) {
        return move(make_hard_link_there({}, entry(name, first), files::Existing::keep), again);
    }
    static files::Entry entry(const std::string& name, const std::string& target) {
        files::Entry result;
        result.name = name;
        result.target = target;
        return result;
    }
    Errc move(const Errand& errand, bool again) { return hl::sync_wait(errand.move(*client, again)).code(); }
};

TEST_F(RepeatedStepTest, ALinkThatIsThereIsMade) {
    EXPECT_EQ(link("link", "a", false), Errc::ok);
    EXPECT_EQ(link("link", "a", true), Errc::ok);
    EXPECT_EQ(link("link", "a", false), Errc::exists) << "nobody has tried it before";
    EXPECT_EQ(link("link", "b", true), Errc::exists) << "another link";
    EXPECT_EQ(link("b", "a", true), Errc::exists) << "a file";
    EXPECT_EQ(std::filesystem::read_symlink(folder.at("link")), "a");
}

TEST_F(RepeatedStepTest, AHardLinkThatIsThereIsMade) {
    EXPECT_EQ(hard_link("other", "a", false), Errc::ok);
    EXPECT_EQ(hard_link("other", "a", true), Errc::ok);
    EXPECT_EQ(hard_link("other", "a", false), Errc::exists) << "nobody has tried it before";
    EXPECT_EQ(hard_link("other", "b", true), Errc::exists) << "another file";
    EXPECT_EQ(hard_link("b", "a", true), Errc::exists);
    std::filesystem::create_hard_link(folder.at("b"), folder.at("c"));
    EXPECT_EQ(hard_link("b", "a", true), Errc::exists) << "of other names";
}

}  // namespace
}  // namespace cinnabar::tools
