// SPDX-License-Identifier: BSD-3-Clause
// What becomes of files at the servers of a group when attempts fail. The servers are processes; the attempts do
// nothing and return what the test says.
#include "group_files/rounds.hpp"
#include "process.hpp"
#include "support/folder.hpp"

#include <cinnabar/hl/sync_wait.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace cinnabar::tools::group_files {
namespace {

class RoundsProcess : public testing::Test {
  protected:
    using Attempt = hl::Task<Result<void>>;

    RoundsProcess() {
        for (const char* root : {"a", "b"}) {
            std::filesystem::create_directories(folder_.at(root));
            serving_.push_back(
                std::make_unique<Serving>(folder_.at(root), Words{"--listen", "tcp://127.0.0.1:0", "--insecure"}));
            servers_.push_back({root, serving_.back()->uri()});
        }
        options_.insecure = true;
    }
    // Each file is tried at the servers in their order.
    std::vector<Placed> run(std::size_t count, const decltype(Rounds::attempt)& attempt,
                            const std::optional<Rounds::Together>& together = {}) {
        Placed placed;
        for (std::size_t i = 0; i < servers_.size(); ++i) placed.order.push_back(i);
        std::vector<Placed> files(count, placed);
        ProgressBar bar;
        Report report(Report::Style::people, "tried", bar);
        Sessions sessions(servers_, options_, interrupt_, report);
        const Rounds rounds{attempt, [](Errc code) { return code != Errc::exists; }, [this](std::size_t) { ++ended_; },
                            8, together};
        ran_ = run_rounds(rounds, sessions, files, interrupt_);
        (void)hl::sync_wait(sessions.close(), interrupt_.token());
        EXPECT_EQ(ended_, count) << "each is told once";
        return files;
    }

    support::Folder folder_;
    std::vector<std::unique_ptr<Serving>> serving_;
    std::vector<Server> servers_;
    SessionOptions options_;
    std::size_t ended_ = 0;
    bool ran_ = false;           // to the end
    const Interrupt interrupt_;  // after the processes, which inherit the signal mask
};

TEST_F(RoundsProcess, AServerThatCannotBeDialledFromHereIsLost) {
    servers_.front().address = "nosuch://x";
    const auto files = run(3, [](std::size_t, std::size_t, files::Client&) -> Attempt { co_return Result<void>(); });
    for (const auto& file : files) EXPECT_EQ(file.done, std::vector<std::size_t>{1});
    EXPECT_TRUE(ran_);
    servers_.pop_back();
    ended_ = 0;
    const auto none = run(1, [](std::size_t, std::size_t, files::Client&) -> Attempt { co_return Result<void>(); });
    EXPECT_TRUE(none.front().done.empty());
    ASSERT_TRUE(none.front().failed);
    EXPECT_EQ(none.front().failed->code, Errc::bad_address);
}

TEST_F(RoundsProcess, WhatAServerRefusedStaysRefusedIfAnotherFileLosesThatServer) {
    unsigned tries = 0;
    const auto files = run(2, [&](std::size_t file, std::size_t, files::Client& client) -> Attempt {
        if (file == 1) co_return Error{Errc::peer_lost};
        ++tries;
        const std::string root;
        const auto listing = co_await client.list(root);  // meanwhile the other one loses the server
        co_return listing ? Error{Errc::exists} : listing.error();
    });
    EXPECT_EQ(tries, 1u);
    EXPECT_TRUE(files[0].done.empty());
    ASSERT_TRUE(files[0].failed);
    EXPECT_EQ(files[0].failed->code, Errc::exists);
}

TEST_F(RoundsProcess, TheFailureThatEndsAFileIsTold) {
    unsigned tries = 0;
    const auto files = run(1, [&](std::size_t, std::size_t, files::Client&) -> Attempt {
        co_return Error{++tries == 1 ? Errc::peer_lost : Errc::exists};
    });
    ASSERT_TRUE(files[0].failed);
    EXPECT_EQ(files[0].failed->code, Errc::exists);
}

TEST_F(RoundsProcess, AServerThatSaysCanceledDoesNotEndTheCommand) {
    unsigned tries = 0;
    const auto files = run(1, [&](std::size_t, std::size_t, files::Client&) -> Attempt {
        if (++tries == 1) co_return Error{Errc::canceled};
        co_return Result<void>();
    });
    EXPECT_EQ(files[0].done, std::vector<std::size_t>{1});
}

TEST_F(RoundsProcess, AnInterruptEndsAllFiles) {
    unsigned tries = 0;
    const auto files = run(2, [&](std::size_t, std::size_t, files::Client&) -> Attempt {
        ++tries;
        if (!interrupt_.happened()) (void)::kill(::getpid(), SIGINT);
        EXPECT_TRUE(eventually([&] { return interrupt_.happened(); }));
        co_return Error{Errc::canceled};
    });
    EXPECT_LE(tries, 2u);
    for (const auto& file : files) EXPECT_TRUE(file.done.empty() && file.failed);
    EXPECT_FALSE(ran_);
}

TEST_F(RoundsProcess, FilesThatMayGoTogetherAreTriedInOneCallAndEndForThemselves) {
    using Indices = std::vector<std::size_t>;
    std::vector<Indices> packs;
    std::vector<std::pair<std::size_t, std::size_t>> alone;  // file, server
    std::vector<Errc> codes{Errc::ok, Errc::not_found, Errc::exists, Errc::ok, Errc::ok};
    Rounds::Together together;
    together.bytes_of = [](std::size_t file) {
        return file == 3 ? std::optional<std::uint64_t>() : std::optional<std::uint64_t>(10);
    };
    together.attempt = [&](const Indices& files, std::size_t, files::Client&) -> hl::Task<std::vector<Result<void>>> {
        packs.push_back(files);
        std::vector<Result<void>> results;
        for (const auto file : files) results.push_back(codes[file] == Errc::ok ? Result<void>() : codes[file]);
        co_return results;
    };
    const auto attempt = [&](std::size_t file, std::size_t server, files::Client&) -> Attempt {
        alone.emplace_back(file, server);
        co_return Result<void>();
    };
    const auto files = run(5, attempt, together);
    EXPECT_EQ(packs, (std::vector<Indices>{{0, 1, 2, 4}}));
    EXPECT_EQ(alone, (std::vector<std::pair<std::size_t, std::size_t>>{{3, 0}, {1, 1}}));
    EXPECT_EQ(files[0].done, Indices{0});
    EXPECT_EQ(files[1].done, Indices{1}) << "the next server had it";
    EXPECT_TRUE(files[2].done.empty());
    ASSERT_TRUE(files[2].failed);
    EXPECT_EQ(files[2].failed->code, Errc::exists);
    EXPECT_EQ(files[4].done, Indices{0});
}

TEST_F(RoundsProcess, FilesThatDoNotFitIntoAWindowGoInSeveralCalls) {
    std::vector<std::size_t> packs;
    Rounds::Together together;
    together.bytes_of = [](std::size_t) { return std::optional<std::uint64_t>(300u << 10); };
    together.attempt = [&](const std::vector<std::size_t>& files, std::size_t,
                           files::Client&) -> hl::Task<std::vector<Result<void>>> {
        packs.push_back(files.size());
        co_return std::vector<Result<void>>(files.size());
    };
    const auto attempt = [](std::size_t, std::size_t, files::Client&) -> Attempt { co_return Error{Errc::io}; };
    for (const auto& file : run(9, attempt, together)) EXPECT_EQ(file.done, std::vector<std::size_t>{0});
    EXPECT_EQ(packs, (std::vector<std::size_t>{3, 3, 3}));
}

TEST_F(RoundsProcess, AServerThatIsLostInACallIsSoForAllFilesOfIt) {
    unsigned packs = 0;
    Rounds::Together together;
    together.bytes_of = [](std::size_t) { return std::optional<std::uint64_t>(1); };
    together.attempt = [&](const std::vector<std::size_t>& files, std::size_t,
                           files::Client&) -> hl::Task<std::vector<Result<void>>> {
        if (++packs == 1) co_return std::vector<Result<void>>(files.size(), Errc::peer_lost);
        co_return std::vector<Result<void>>(files.size());
    };
    const auto attempt = [](std::size_t, std::size_t, files::Client&) -> Attempt { co_return Error{Errc::io}; };
    for (const auto& file : run(4, attempt, together)) EXPECT_EQ(file.done, std::vector<std::size_t>{1});
    EXPECT_EQ(packs, 2u);
}

TEST_F(RoundsProcess, AnExceptionFailsTheFilesThatAreNotDone) {
    const auto files = run(3, [](std::size_t file, std::size_t, files::Client&) -> Attempt {
        if (file == 1) throw std::runtime_error("no threads");
        co_return Result<void>();
    });
    EXPECT_EQ(files[0].done.size(), 1u);
    EXPECT_TRUE(files[1].done.empty());
    ASSERT_TRUE(files[1].failed);
    EXPECT_EQ(files[1].failed->code, Errc::handler_failed);
    EXPECT_EQ(files[2].done.size(), 1u);
}

}  // namespace
}  // namespace cinnabar::tools::group_files
