// SPDX-License-Identifier: BSD-3-Clause
// Log levels of modules, the syntax of CINNABAR_LOG, and the last lines that are remembered.
#include <cinnabar/base/log.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace cinnabar {
namespace {

class LogSettings : public ::testing::Test {
  protected:
    void SetUp() override {
        set_log_sink([](const LogLine&, void*) {}, nullptr);
    }
    void TearDown() override {
        set_log_sink(nullptr, nullptr);
        set_log_level(LogLevel::warning);
        set_log_format(LogFormat::text);
    }
};

TEST_F(LogSettings, AModuleHasALevelOfItsOwn) {
    ASSERT_EQ(set_log_level("rpc", LogLevel::debug), Errc::ok);
    ASSERT_EQ(set_log_level("tcp", LogLevel::off), Errc::ok);
    EXPECT_TRUE(log_enabled(LogLevel::debug, "rpc"));
    EXPECT_FALSE(log_enabled(LogLevel::debug, "hl"));
    EXPECT_TRUE(log_enabled(LogLevel::error, "hl"));
    EXPECT_FALSE(log_enabled(LogLevel::error, "tcp"));
    ASSERT_EQ(set_log_level("rpc", LogLevel::error), Errc::ok);
    EXPECT_FALSE(log_enabled(LogLevel::warning, "rpc"));
    set_log_level(LogLevel::info);
    EXPECT_TRUE(log_enabled(LogLevel::info, "rpc")) << "the level of all is that of each";
    EXPECT_TRUE(log_enabled(LogLevel::info, "tcp"));
}

TEST_F(LogSettings, WordsSetLevelsAndFormat) {
    ASSERT_TRUE(configure_log("rpc=debug,,error,tcp=info").ok());
    EXPECT_TRUE(log_enabled(LogLevel::debug, "rpc"));
    EXPECT_TRUE(log_enabled(LogLevel::info, "tcp"));
    EXPECT_FALSE(log_enabled(LogLevel::warning, "hl")) << "a level without a module is that of the others";
    ASSERT_TRUE(configure_log("").ok());
    EXPECT_TRUE(log_enabled(LogLevel::debug, "rpc"));
}

TEST_F(LogSettings, AWordThatIsNotUnderstoodChangesNothing) {
    for (const std::string bad : {"loud", "rpc=loud", "=debug", "Rpc=debug", "a-name-that-is-16=debug", "rpc="}) {
        const auto refused = configure_log("debug," + bad);
        ASSERT_FALSE(refused.ok()) << bad;
        EXPECT_EQ(refused.error().code, Errc::invalid_argument);
        EXPECT_EQ(refused.error().subject, bad);
        EXPECT_FALSE(log_enabled(LogLevel::debug, "hl")) << bad;
    }
    EXPECT_EQ(set_log_level("Rpc", LogLevel::debug), Errc::invalid_argument);
    EXPECT_FALSE(log_enabled(LogLevel::debug, LogModule::named("Rpc")));
}

TEST_F(LogSettings, TooManyModulesChangeNothing) {
    std::string words = "debug,json,free=debug";
    for (int i = 0; i < 40; ++i) words += ",m" + std::to_string(i) + "=debug";
    EXPECT_EQ(configure_log(words).code(), Errc::overloaded);
    EXPECT_FALSE(log_enabled(LogLevel::debug, "hl"));
    EXPECT_FALSE(log_enabled(LogLevel::debug, "free"));
    std::string twice = "off";
    for (int i = 0; i < 40; ++i) twice += ",free=debug";
    EXPECT_TRUE(configure_log(twice).ok()) << "it is one module";
    EXPECT_TRUE(log_enabled(LogLevel::debug, "free"));
}

TEST_F(LogSettings, TheLastWarningsAreRemembered) {
    log(LogLevel::info, "app", "no warning");
    for (int i = 0; i < 40; ++i) log(LogLevel::warning, "app", "number %d", i);
    log(LogLevel::error, "tcp", "%s", std::string(1000, 'x').c_str());
    const auto lines = recent_log();
    ASSERT_EQ(lines.size(), 32u);
    EXPECT_EQ(lines.front().text, "number 9");
    EXPECT_EQ(lines.front().module, "app");
    EXPECT_EQ(lines.back().text, std::string(255, 'x'));
    EXPECT_EQ(lines.back().module, "tcp");
    EXPECT_EQ(lines.back().level, LogLevel::error);
    EXPECT_LE(lines.front().at, lines.back().at);
}

// What a program that logs two lines prints to stderr with CINNABAR_LOG=`value`.
std::string written_with(const char* value) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        (void)::dup2(ends[1], STDERR_FILENO);
        (void)::setenv("CINNABAR_LOG", value, 1);
        (void)::execl(CINNABAR_LOG_LINES, CINNABAR_LOG_LINES, nullptr);
        ::_exit(127);
    }
    (void)::close(ends[1]);
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t count = 0; (count = ::read(ends[0], some.data(), some.size())) > 0;) {
        text.append(some.data(), static_cast<std::size_t>(count));
    }
    (void)::close(ends[0]);
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    return text;
}

TEST_F(LogSettings, TheEnvironmentIsRead) {
    EXPECT_EQ(written_with("error,rpc=info"), "cinnabar: info: rpc: one\n");
    const std::string json = written_with("json,info,rpc=off");
    EXPECT_NE(json.find("\"level\": \"info\""), std::string::npos) << json;
    EXPECT_NE(json.find("\"module\": \"tcp\", \"text\": \"another\"}\n"), std::string::npos) << json;
    EXPECT_EQ(json.find("\"one\""), std::string::npos) << json;
    const std::string complaint = written_with("loud");
    EXPECT_EQ(complaint.find("cinnabar: warning: base: CINNABAR_LOG is ignored: "), 0u) << complaint;
    EXPECT_NE(complaint.find("loud"), std::string::npos) << complaint;
}

}  // namespace
}  // namespace cinnabar
