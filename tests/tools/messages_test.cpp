// SPDX-License-Identifier: BSD-3-Clause
// The messages of a server, which a reader that does not read cannot block, and what its clients make of its errors.
#include "commands/server_messages.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/hl/app_error.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>

namespace cinnabar::tools {
namespace {

struct HandClock : TimeSource {
    TimeUs now = 1'000'000;
    TimeUs now_us() noexcept override { return now; }
};

struct ServerMessagesTest : testing::Test {
    HandClock clock;
    ServeOptions options;
    static std::size_t count(const std::string& text, std::string_view part) {
        std::size_t found = 0;
        for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
        return found;
    }
    static files::ServerEvent refused() {
        return {files::ServerEvent::Kind::refused, {}, "tcp://a", 0, {}, Error{Errc::permission, "a wrong key"}};
    }
};

TEST_F(ServerMessagesTest, StrangersCannotFillTheLog) {
    testing::internal::CaptureStderr();
    {
        ServerMessages messages(options, clock);
        for (int i = 0; i < 1000; ++i) messages.tell(refused());
        clock.now += 1'000'000;
        messages.tell(refused());
    }
    const auto text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(count(text, "refused a session for tcp://a: permission: a wrong key\n"),
              ServerMessages::refusals_told_max + 1)
        << text;
    EXPECT_EQ(count(text, "refused 980 more sessions\n"), 1u) << text;
}

TEST_F(ServerMessagesTest, WarningsOfTheLibraryAreAmongThem) {
    options.json = true;
    testing::internal::CaptureStdout();
    {
        const ServerMessages messages(options, clock);
        log(LogLevel::warning, "app", "of %d", 7);
        log(LogLevel::warning, "app", {peer_field("tcp://a"), error_field(Errc::timed_out), bytes_field(9)}, "late");
        log(LogLevel::warning, "app", {LogField("event", 1u)}, "saved");
    }
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "{\"event\": \"log\", \"level\": \"warning\", \"module\": \"app\", \"text\": \"of 7\"}\n"
              "{\"event\": \"log\", \"level\": \"warning\", \"module\": \"app\", \"peer\": \"tcp://a\", "
              "\"error\": \"timed out\", \"bytes\": 9, \"text\": \"late\"}\n"
              "{\"event\": \"log\", \"level\": \"warning\", \"module\": \"app\", \"text\": \"saved\"}\n");
    options.json = false;
    testing::internal::CaptureStderr();
    {
        const ServerMessages messages(options, clock);
        log(LogLevel::warning, "app", "of \x1b[2J");
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "cinnabar: warning: app: of \\x1b[2J\n");
}

TEST_F(ServerMessagesTest, AWarningThatNobodyReadsStopsNobody) {
    (void)::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
    const int before = ::dup(STDERR_FILENO);
    ASSERT_GE(::dup2(pipe[1], STDERR_FILENO), 0);
    {
        const ServerMessages messages(options, clock);
        const std::string line(500, 'x');
        for (int i = 0; i < 5000; ++i) log(LogLevel::warning, "test", "%s", line.c_str());
    }
    ASSERT_GE(::dup2(before, STDERR_FILENO), 0);
    for (const int fd : {pipe[0], pipe[1], before}) ::close(fd);
}

TEST(RemoteError, WhatAServerSaysCannotCommandTheTerminal) {
    const auto error =
        files::from_remote(hl::app_error(static_cast<std::uint32_t>(Errc::io), "\x1b]0;x\a\nok \xc2\x9b"));
    EXPECT_EQ(error.code, Errc::io);
    EXPECT_EQ(error.message(), "io: the server says (\\x1b]0;x\\x07\\x0aok \\xc2\\x9b)");
}

TEST(RemoteError, WhatPeopleAreToldHasNoNamesOfCalls) {
    const auto stopped = files::from_remote(
        Error{Errc::canceled, "the caller asked for it", "cinnabar.save.window at tcp://127.0.0.1:1"});
    EXPECT_EQ(stopped.message(), "canceled: interrupted before it was done");
    const auto lost = files::from_remote(Error{Errc::peer_lost, "advice", "cinnabar.save.window at tcp://127.0.0.1:1"});
    EXPECT_EQ(lost.message(), "peer lost: advice");
    EXPECT_NE(
        files::from_remote(Error{Errc::no_such_rpc, "advice", "cinnabar.save.hello at x"}).message().find("hello"),
        std::string::npos)
        << "there it is the call that matters";
}

}  // namespace
}  // namespace cinnabar::tools
