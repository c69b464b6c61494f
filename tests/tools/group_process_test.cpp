// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar launch`, `member` and `group` as processes.
#include "process.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

namespace cinnabar::tools {
namespace {

using support::Folder;

Words launch(const Words& options, const Words& program) {
    Words words{"launch"};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    return words;
}

std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

// The folder of temporary files is empty in the end.
TEST(LaunchProcess, StartsAGroupWhoseMembersMeet) {
    const Folder place;
    const auto outcome =
        run(launch({"-n", "5", "--label"}, {CINNABAR_TOOL, "member", "--until", "5", "--period", "0.1"}),
            {.environment = {"TMPDIR=" + place.path().string()}});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    for (const char* rank : {"0", "1", "2", "3", "4"})
        EXPECT_NE(outcome.out.find(std::string("[") + rank + "] group: rank " + rank + " at tcp://"), std::string::npos)
            << outcome.out;
    EXPECT_TRUE(std::filesystem::is_empty(place.path()));
}

// Pipes must not take the place of the closed descriptors: one says why a program cannot be started.
TEST(LaunchProcess, WorksWithoutStandardDescriptors) {
    const auto launched = [](const std::string& program, const std::string& closed) {
        const std::string command = "exec " CINNABAR_TOOL " launch -n 2 --label -- " + program + " " + closed;
        return run(launch({"-n", "1"}, {"sh", "-c", command})).exit;
    };
    const int missing = launched("/no/such/program", "");
    EXPECT_NE(missing, 0);
    EXPECT_EQ(launched("/no/such/program", "<&- >&- 2>&-"), missing);
    EXPECT_EQ(launched("sh -c 'cat && echo out && echo err >&2'", "<&- >&- 2>&-"), 0);
}

// Each process has two pipes. The programs get the limit that the command was started with.
TEST(LaunchProcess, HasMoreDescriptorsThanTheSoftLimit) {
    const auto outcome = run(launch({"-n", "40", "--label"}, {"sh", "-c", "ulimit -Sn"}), {.files_at_first = 64});
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(times(outcome.out, "] 64\n"), 40u) << outcome.out;
}

// The soft and the hard limit of open files of a process.
std::pair<std::string, std::string> limits_of_files(int pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/limits");
    const std::string title = "Max open files";
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(title)) continue;
        std::istringstream words(line.substr(title.size()));
        std::pair<std::string, std::string> limits;
        words >> limits.first >> limits.second;
        return limits;
    }
    return {};
}

TEST(MemberProcess, RaisesTheSoftLimitOfDescriptors) {
    for (const Words& command : {Words{"member"}, Words{"perf", "serve", "--listen", "tcp://127.0.0.1:0"}}) {
        Process process(command, {.files_at_first = 64});
        ASSERT_FALSE(process.read_line().empty()) << process.err();
        const auto [soft, hard] = limits_of_files(process.pid());
        EXPECT_EQ(soft, hard) << command.front();
        EXPECT_NE(soft, "64");
        process.send(SIGTERM);
        (void)process.wait();
    }
}

TEST(GroupPerfProcess, HasARowForEachCollectiveSizeAndNumberOfMembers) {
    const Words program{CINNABAR_TOOL, "perf",     "group", "--size", "64,4k", "--members",
                        "2,3",         "--rounds", "5",     "--bulk", "1M,3",  "--json"};
    const auto outcome = run(launch({"-n", "3"}, program));
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(times(outcome.out, "\"rounds\": 5, \"failed\": 0"), 22u) << outcome.out;
    for (const std::string name : {"bulk.broadcast", "bulk.scatter", "bulk.gather"})
        EXPECT_EQ(times(outcome.out, "\"" + name + "\", \"members\": 3, \"bytes\": 1048576"), 1u) << outcome.out;
    EXPECT_EQ(times(outcome.out, "\"collective\": \"reduce\", \"members\": 3, \"bytes\": 4096"), 1u) << outcome.out;
    EXPECT_EQ(times(outcome.out, "\"collective\": \"barrier\", \"members\": 2"), 1u) << outcome.out;
}

TEST(GroupPerfProcess, SaysHowItIsStarted) {
    const auto alone = run({"perf", "group"});
    EXPECT_EQ(alone.exit, 11);
    EXPECT_NE(alone.err.find("cinnabar launch"), std::string::npos) << alone.err;
    const auto many = run(launch({"-n", "2"}, {CINNABAR_TOOL, "perf", "group", "--members", "3"}));
    EXPECT_EQ(many.exit, 11);
    EXPECT_NE(many.err.find("give 2 up to the number started"), std::string::npos) << many.err;
}

TEST(LaunchProcess, AFailureEndsTheOthersAndSetsTheExitCode) {
    const auto failing = "test $CINNABAR_GROUP_RANK = 1 && exit 7; exec sleep 100";
    const auto outcome = run(launch({"-n", "3"}, {"sh", "-c", failing}));
    EXPECT_EQ(outcome.exit, 7);
    EXPECT_NE(outcome.err.find("rank 1 ended with exit code 7"), std::string::npos) << outcome.err;
    EXPECT_EQ(times(outcome.err, "rank"), 1u) << "those that were ended: " << outcome.err;

    const auto going_on = "test $CINNABAR_GROUP_RANK = 1 && exit 7; sleep 0.2; echo done";
    const auto kept = run(launch({"-n", "3", "--keep-going"}, {"sh", "-c", going_on}));
    EXPECT_EQ(kept.exit, 7);
    EXPECT_EQ(times(kept.out, "done\n"), 2u) << kept.out;

    const auto killed =
        run(launch({"-n", "2"}, {"sh", "-c", "test $CINNABAR_GROUP_RANK = 0 && kill -9 $$; exec sleep 100"}));
    EXPECT_EQ(killed.exit, 137);
    EXPECT_NE(killed.err.find("rank 0 was ended by signal 9"), std::string::npos) << killed.err;
}

// A program for `count` ranks: rank 1 fails once each of the others has run `ready` and reported that it runs.
std::string failing_late(const Folder& place, unsigned count, const std::string& ready) {
    std::string wait;
    for (unsigned rank = 0; rank < count; ++rank) {
        if (rank != 1) wait += "until test -e " + place.at("ready") + std::to_string(rank) + "; do sleep 0.02; done; ";
    }
    return "if test $CINNABAR_GROUP_RANK = 1; then " + wait + "exit 4; fi; " + ready + "; : > " + place.at("ready") +
           "$CINNABAR_GROUP_RANK; while :; do sleep 0.05; done";
}

TEST(LaunchProcess, AProcessThatIgnoresTermIsKilled) {
    const Folder place;
    const std::string deaf = failing_late(place, 2, "trap '' TERM");
    EXPECT_EQ(run(launch({"-n", "2", "--grace", "0.2"}, {"sh", "-c", deaf})).exit, 4);
}

TEST(LaunchProcess, PassesSignalsOn) {
    const auto waiting = "trap 'echo told; exit 3' TERM; echo ready; while :; do sleep 0.05; done";
    Process process(launch({"-n", "2", "-l"}, {"sh", "-c", waiting}));
    EXPECT_NE(process.read_line(), "");
    EXPECT_NE(process.read_line(), "");
    process.send(SIGTERM);
    EXPECT_EQ(process.wait(), 3) << process.err();
    EXPECT_NE(process.out().find("[0] told\n"), std::string::npos) << process.out();
    EXPECT_NE(process.out().find("[1] told\n"), std::string::npos) << process.out();
}

TEST(LaunchProcess, GivesTheProgramItsArgumentsAsTheyAre) {
    const auto outcome = run(launch({"-n", "1"}, {"printf", "%s|", "[a,b]", "--help", "", "x y", "--"}));
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "[a,b]|--help||x y|--|");
    const auto none = run(launch({"-n", "1"}, {"./no-such-program"}));
    EXPECT_EQ(none.exit, 10) << none.err;
    EXPECT_NE(none.err.find("no-such-program"), std::string::npos) << none.err;
    EXPECT_EQ(run(launch({"-n", "1"}, {})).exit, 1);
    EXPECT_EQ(run({"launch", "--", "true"}).exit, 1);
}

// An ssh that runs the command on this host and records the host for which it was called.
class FakeSsh {
  public:
    FakeSsh() {
        const std::string program =
            place_.put("ssh", "#!/bin/sh\necho \"$3\" >> " + place_.at("asked") + "\nshift 3\nexec sh -c \"$*\"\n");
        ::chmod(program.c_str(), 0755);
        (void)place_.put("hosts", "# two and one\none slots=2\n\ntwo\n");
    }
    [[nodiscard]] Surroundings surroundings() const {
        return {.environment = {"PATH=" + place_.path().string() + ":" + std::getenv("PATH")}};
    }
    [[nodiscard]] Words options(const std::string& size) const {
        return {"-n", size, "--hosts", place_.at("hosts"), "--folder", place_.path().string(), "-l"};
    }
    // The recorded hosts, sorted.
    [[nodiscard]] Words asked() const {
        Words hosts;
        std::istringstream lines(place_.get("asked"));
        for (std::string line; std::getline(lines, line);) hosts.push_back(line);
        std::sort(hosts.begin(), hosts.end());
        return hosts;
    }

  private:
    Folder place_;
};

TEST(LaunchProcess, StartsThemOnHostsBySsh) {
    const FakeSsh ssh;
    const Words member{CINNABAR_TOOL, "member", "--until", "4", "--period", "0.1"};
    const auto outcome = run(launch(ssh.options("4"), member), ssh.surroundings());
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    EXPECT_EQ(times(outcome.out, "] group: rank "), 4u) << outcome.out;
    EXPECT_EQ(ssh.asked(), (Words{"one", "one", "one", "two"}));
    const auto told = run(launch(ssh.options("1"), {"printf", "%s|", "it's $HOME", "[a]"}), ssh.surroundings());
    EXPECT_EQ(told.out, "[0] it's $HOME|[a]|\n");
}

TEST(LaunchProcess, EndsThoseOnOtherHosts) {
    const FakeSsh ssh;
    const Folder place;
    const std::string failing = failing_late(place, 3, "trap 'echo told; exit 0' TERM");
    const auto outcome = run(launch(ssh.options("3"), {"sh", "-c", failing}), ssh.surroundings());
    EXPECT_EQ(outcome.exit, 4) << outcome.err;
    EXPECT_EQ(times(outcome.out, "told"), 2u) << outcome.out;
}

TEST(LaunchProcess, AFileOfHostsMustMakeSense) {
    const Folder place;
    for (const std::string text :
         {"", "# none\n", "one slots=x\n", "one slots=0\n", "one two three\n", "-oProxyCommand=x\n"}) {
        const auto outcome =
            run(launch({"-n", "1", "--hosts", place.put("hosts", text), "--folder", "/tmp"}, {"true"}));
        EXPECT_EQ(outcome.exit, 11) << text << outcome.err;
    }
    EXPECT_EQ(run(launch({"-n", "1", "--hosts", place.at("none"), "--folder", "/tmp"}, {"true"})).exit, 10);
    EXPECT_EQ(run(launch({"-n", "1", "--hosts", place.put("hosts", "one\n")}, {"true"})).exit, 1);
}

// The address in "group: rank 0 at ADDRESS".
std::string address_in(const std::string& line) {
    const auto at = line.find(" at ");
    return at == std::string::npos ? line : line.substr(at + 4);
}

TEST(GroupProcess, ShowsMembersAndWhatHappens) {
    Process first({"member", "--period", "0.1", "--label", "role=first", "--label", "bytes=\x1b[2J"});
    const std::string address = address_in(first.read_line());
    Process second({"member", "--join", address, "--period", "0.1"});
    ASSERT_NE(second.read_line(), "") << second.err();

    const auto shown = run({"group", address});
    EXPECT_EQ(shown.exit, 0) << shown.err;
    EXPECT_NE(shown.out.find("group: 2 present of 2, version "), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find(", digest "), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("     0  alive        1  " + address), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("role=first"), std::string::npos) << shown.out;
    EXPECT_EQ(shown.out.find('\x1b'), std::string::npos) << "what a stranger says is printed safely";
    EXPECT_TRUE(shown.out.ends_with("a call to all goes to\n      0\n      1\n")) << shown.out;

    Process watch({"group", address, "--watch", "--json"});
    const std::string view = watch.read_line();
    EXPECT_TRUE(view.starts_with(R"({"event": "view", "group": "group", "version": )")) << view;
    EXPECT_NE(view.find(R"("rank": 1, "state": "alive", "incarnation": 1)"), std::string::npos) << view;
    EXPECT_NE(view.find(R"("tree": [{"rank": 0, "depth": 0, "above": null})"), std::string::npos) << view;
    EXPECT_NE(view.find(R"("role": "first")"), std::string::npos) << view;
    second.send(SIGTERM);
    EXPECT_EQ(second.wait(), 0) << second.err();
    EXPECT_TRUE(watch.read_line().starts_with(R"({"event": "left", "rank": 1, "incarnation": 1, "version": )"));
    watch.send(SIGTERM);
    EXPECT_EQ(watch.wait(), 0) << watch.err();

    const auto other = run({"group", address, "--name", "other"});
    EXPECT_EQ(other.exit, 10) << other.err;
    EXPECT_NE(other.err.find("see --name"), std::string::npos) << other.err;
    first.send(SIGTERM);
    EXPECT_EQ(first.wait(), 0) << first.err();
    EXPECT_EQ(run({"member", "--label", "none"}).exit, 11);
}

}  // namespace
}  // namespace cinnabar::tools
