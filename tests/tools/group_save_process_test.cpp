// SPDX-License-Identifier: BSD-3-Clause
// Files on the servers of a group: `cinnabar serve --group`, and the commands that have --group.
#include "process.hpp"
#include "support/content.hpp"
#include "support/folder.hpp"
#include "support/test_key.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <sstream>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr int exit_usage = 1;
constexpr int exit_unreachable = 2;
constexpr int exit_exists = 3;
constexpr int exit_damaged = 6;
constexpr int exit_not_found = 10;
constexpr int exit_unsuitable = 11;
constexpr int exit_protocol = 14;

Words joined(Words first, const Words& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

std::size_t lines_with(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
}

class GroupSaveProcess : public testing::Test {
  protected:
    // Starts a server that is a member; the first one creates the group.
    Serving& start(const std::string& root) {
        fs::create_directories(folder_.at(root));
        Words options = open_to_all;
        options.emplace_back("--group");
        if (!servers_.empty()) options = joined(options, {"--join", first_uri_});
        auto& server = servers_[root];
        server = std::make_unique<Serving>(folder_.at(root), options);
        if (servers_.size() == 1) first_uri_ = server->uri();
        return *server;
    }
    // All servers know each other.
    void start_three() {
        for (const char* root : {"a", "b", "c"}) start(root);
        for (const auto& [root, server] : servers_) wait_for_members(server->uri(), 3);
    }
    static void wait_for_members(const std::string& uri, unsigned count) {
        const auto wanted = "group: " + std::to_string(count) + " present";
        EXPECT_TRUE(eventually([&] { return run({"group", uri}).out.starts_with(wanted); }));
    }
    std::string uri(const std::string& root) { return servers_.at(root)->uri(); }
    void kill(const std::string& root) {
        servers_.at(root)->process().send(SIGKILL);
        EXPECT_TRUE(servers_.at(root)->process().wait());
    }

    Words make_files(unsigned count) {
        fs::create_directories(folder_.at("here"));
        Words paths;
        for (unsigned i = 0; i < count; ++i)
            paths.push_back(folder_.put("here/file-" + std::to_string(i), pattern(1000 + 20'000 * i, i)));
        return paths;
    }
    static Words names(unsigned count) {
        Words names;
        for (unsigned i = 0; i < count; ++i) names.push_back("file-" + std::to_string(i));
        return names;
    }
    static Outcome group_run(const std::string& command, const std::string& uri, const Words& more) {
        return run(joined({command, "--insecure", "--group", uri}, more));
    }
    Outcome fetch_all(const std::string& uri, unsigned count) {
        fs::remove_all(folder_.at("back"));
        auto fetched = group_run("fetch", uri, joined({"-o", folder_.at("back")}, names(count)));
        for (const auto& name : names(count))
            EXPECT_TRUE(folder_.get("back/" + name) == folder_.get("here/" + name)) << name;
        return fetched;
    }
    [[nodiscard]] unsigned copies_of(const std::string& name) const {
        unsigned copies = 0;
        for (const auto& [root, server] : servers_) copies += fs::exists(folder_.path() / root / name) ? 1 : 0;
        return copies;
    }

    const Words open_to_all{"--listen", "tcp://127.0.0.1:0", "--insecure"};
    Folder folder_;
    std::map<std::string, std::unique_ptr<Serving>> servers_;  // by root
    std::string first_uri_;
};

TEST_F(GroupSaveProcess, FilesOutliveAServerAndSavingAgainRepairsThem) {
    start_three();
    const auto files = make_files(20);
    const auto saved = group_run("save", uri("a"), joined({"--replicas", "2"}, files));
    ASSERT_EQ(saved.exit, 0) << saved.err;
    EXPECT_NE(saved.out.find("saved 20 files"), std::string::npos) << saved.out;
    EXPECT_EQ(lines_with(saved.out, ": tcp://"), 20u) << "where each file is: " << saved.out;
    EXPECT_EQ(lines_with(saved.out, "self://"), 0u) << saved.out;
    for (const auto& name : names(20)) EXPECT_EQ(copies_of(name), 2u) << name;
    for (const char* root : {"a", "b", "c"}) EXPECT_GT(folder_.list_of(folder_.path() / root).size(), 5u) << root;
    const auto full = group_run("list", uri("b"), {"--replicas", "2"});
    EXPECT_EQ(full.exit, 0) << full.err;
    EXPECT_EQ(lines_with(full.out, "  2  file-"), 20u) << full.out;

    kill("b");
    EXPECT_EQ(fetch_all(uri("a"), 20).exit, 0);
    const auto fewer = group_run("list", uri("a"), {"--replicas", "2"});
    EXPECT_NE(fewer.exit, 0) << fewer.out;
    EXPECT_EQ(lines_with(fewer.out, "file-"), 20u) << fewer.out;
    EXPECT_GT(lines_with(fewer.out, "  1  file-"), 0u) << fewer.out;
    EXPECT_EQ(lines_with(fewer.out, "(too few copies)"), lines_with(fewer.out, "  1  file-")) << fewer.out;

    const auto repaired = group_run("save", uri("c"), joined({"--replicas", "2"}, files));
    EXPECT_EQ(repaired.exit, 0) << repaired.err;
    EXPECT_NE(repaired.out.find("unchanged"), std::string::npos) << "what is there is not sent: " << repaired.out;
    for (const auto& name : names(20)) {
        for (const char* root : {"a", "c"}) EXPECT_TRUE(fs::exists(folder_.path() / root / name)) << root << name;
    }
    kill("c");
    EXPECT_EQ(fetch_all(uri("a"), 20).exit, 0) << "from the last server";
}

TEST_F(GroupSaveProcess, AServerThatIsStartedAgainHasItsPlace) {
    start_three();
    const auto files = make_files(12);
    ASSERT_EQ(group_run("save", uri("a"), files).exit, 0);
    const auto before = Folder::list_of(folder_.path() / "b");
    servers_.at("b")->process().send(SIGTERM);
    EXPECT_EQ(servers_.at("b")->process().wait(), 0);
    start("b");
    wait_for_members(uri("a"), 3);
    const auto again = group_run("save", uri("b"), files);
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_NE(again.out.find("(12 unchanged)"), std::string::npos) << "at another port: " << again.out;
    EXPECT_EQ(Folder::list_of(folder_.path() / "b"), before);
}

TEST_F(GroupSaveProcess, WhatDiffersIsKeptUnlessReplaced) {
    start_three();
    const auto files = make_files(1);
    ASSERT_EQ(group_run("save", uri("a"), joined({"--replicas", "3"}, files)).exit, 0);
    (void)folder_.put("here/file-0", "other");
    const auto kept = group_run("save", uri("a"), joined({"--replicas", "3"}, files));
    EXPECT_EQ(kept.exit, exit_exists) << kept.err;
    EXPECT_EQ(lines_with(kept.err, "exists and is kept"), 1u) << kept.err;
    EXPECT_EQ(group_run("save", uri("a"), joined({"--replicas", "3", "--replace"}, files)).exit, 0);
    EXPECT_EQ(fetch_all(uri("c"), 1).exit, 0);

    const auto there = folder_.path() / "a/file-0";
    const auto mode = fs::status(there).permissions();
    fs::permissions(there, fs::perms::owner_all);
    const auto other_mode = group_run("list", uri("a"), {});
    EXPECT_NE(other_mode.out.find("(the copies differ)"), std::string::npos) << other_mode.out;
    EXPECT_EQ(group_run("save", uri("a"), joined({"--replicas", "3", "-c", "--replace"}, files)).exit, 0);
    EXPECT_EQ(fs::status(there).permissions(), mode);

    (void)folder_.put("b/file-0", "written behind its back");
    const auto listed = group_run("list", uri("a"), {});
    EXPECT_EQ(listed.exit, 0) << listed.err;
    EXPECT_NE(listed.out.find("  3  file-0  (the copies differ)"), std::string::npos) << listed.out;
}

TEST_F(GroupSaveProcess, CopiesAreSeenVerifiedAndRemovedWhereverTheyAre) {
    start_three();
    ASSERT_EQ(group_run("save", uri("a"), joined({"--replicas", "2"}, make_files(3))).exit, 0);
    const auto seen = group_run("stat", uri("b"), names(3));
    EXPECT_EQ(seen.exit, 0) << seen.err;
    for (const auto& name : names(3)) EXPECT_EQ(lines_with(seen.out, ": " + name + ": file, "), 2u) << seen.out;
    const auto json = group_run("stat", uri("b"), {"--json", "file-0"}).out;
    EXPECT_EQ(lines_with(json, "\"name\": \"file-0\""), 2u) << json;
    EXPECT_EQ(lines_with(json, "\"server\": \"tcp://"), 2u) << json;
    const auto good = group_run("verify", uri("c"), names(3));
    EXPECT_EQ(good.exit, 0) << good.err;
    EXPECT_EQ(lines_with(good.out, ": file-"), 6u) << good.out;

    const std::string holder = fs::exists(folder_.path() / "a/file-1") ? "a/" : "b/";
    (void)folder_.put(holder + "file-1", "written behind its back");
    const auto differ = group_run("verify", uri("c"), joined({"-q"}, names(3)));
    EXPECT_EQ(differ.exit, exit_damaged) << differ.err;
    EXPECT_EQ(lines_with(differ.err, "file-1: "), 1u) << differ.err;
    EXPECT_NE(differ.err.find("its copies differ: remove it"), std::string::npos) << differ.err;
    EXPECT_EQ(lines_with(differ.err, "file-0"), 0u) << differ.err;

    const auto removed = group_run("remove", uri("a"), {"file-1", "file-2"});
    EXPECT_EQ(removed.exit, 0) << removed.err;
    EXPECT_EQ(copies_of("file-0"), 2u);
    for (const char* name : {"file-1", "file-2"}) EXPECT_EQ(copies_of(name), 0u) << name;
    const auto again = group_run("remove", uri("a"), {"file-1", "file-0"});
    EXPECT_EQ(again.exit, exit_not_found) << again.err;
    EXPECT_EQ(lines_with(again.err, "file-1: not found: no server of the group has it"), 1u) << again.err;
    EXPECT_EQ(copies_of("file-0"), 0u) << "the rest goes on";
}

TEST_F(GroupSaveProcess, NamesInBracketsAreNames) {
    start("a");
    fs::create_directories(folder_.at("here"));
    const Words names{"[x]", "[a,b]"};
    const Words files{folder_.put("here/[x]", "one"), folder_.put("here/[a,b]", "two")};
    ASSERT_EQ(group_run("save", uri("a"), files).exit, 0);
    const auto fetched = group_run("fetch", uri("a"), joined({"-o", folder_.at("back")}, names));
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(folder_.get("back/[x]"), "one");
    EXPECT_EQ(folder_.get("back/[a,b]"), "two");
    for (const char* command : {"stat", "verify"}) {
        const auto told = group_run(command, uri("a"), names);
        EXPECT_EQ(told.exit, 0) << told.err;
        EXPECT_EQ(lines_with(told.out, ": [a,b]: "), 1u) << told.out;
    }
    const auto removed = group_run("remove", uri("a"), joined({"--"}, names));
    EXPECT_EQ(removed.exit, 0) << removed.err;
    for (const auto& name : names) EXPECT_EQ(copies_of(name), 0u) << name;
}

TEST_F(GroupSaveProcess, AFolderIsVerifiedAndRemovedOnAllServers) {
    start("a");
    start("b");
    wait_for_members(uri("a"), 2);
    fs::create_directories(folder_.at("a/logs"));
    fs::create_directories(folder_.at("b/logs/inner"));
    (void)folder_.put("a/logs/one", "1");
    (void)folder_.put("b/logs/inner/two", "2");
    const auto verified = group_run("verify", uri("a"), {"logs/"});
    EXPECT_EQ(verified.exit, 0) << verified.err;
    EXPECT_EQ(lines_with(verified.out, uri("a") + ": logs/one: "), 1u) << verified.out;
    EXPECT_EQ(lines_with(verified.out, uri("b") + ": logs/inner/two: "), 1u) << verified.out;
    EXPECT_EQ(group_run("stat", uri("b") + "/logs", {"one"}).exit, 0) << "below the folder of the URI";
    EXPECT_NE(group_run("remove", uri("a"), {"logs"}).exit, 0) << "without -r";
    EXPECT_EQ(group_run("remove", uri("a"), {"-r", "logs"}).exit, 0);
    for (const char* root : {"a", "b"}) EXPECT_FALSE(fs::exists(folder_.path() / root / "logs")) << root;
    EXPECT_EQ(group_run("remove", uri("a"), {"-r", ""}).exit, exit_usage);
    EXPECT_EQ(group_run("verify", uri("a"), {}).exit, exit_usage);
}

TEST_F(GroupSaveProcess, AServerThatDoesNotAnswerIsToldWhenCopiesAreRemoved) {
    start("a");
    start("b");
    wait_for_members(uri("a"), 2);
    ASSERT_EQ(group_run("save", uri("a"), joined({"--replicas", "2"}, make_files(1))).exit, 0);
    const auto dead = uri("b");
    kill("b");
    const auto removed = group_run("remove", uri("a"), {"file-0"});
    EXPECT_EQ(removed.exit, exit_unreachable) << removed.err;
    EXPECT_EQ(lines_with(removed.err, dead + ": refused"), 1u) << removed.err;
    EXPECT_FALSE(fs::exists(folder_.path() / "a/file-0"));
    const auto missing = group_run("stat", uri("a"), {"file-0"});
    EXPECT_NE(missing.err.find("file-0: not found: no server that answered has it"), std::string::npos) << missing.err;
}

// The second server is stopped until the first one has its copy.
TEST_F(GroupSaveProcess, AFileThatChangesBetweenItsCopiesIsTold) {
    start("a");
    start("b");
    wait_for_members(uri("a"), 2);
    const auto files = make_files(1);
    const auto planned = group_run("save", uri("a"), joined({"--replicas", "2", "-n"}, files));
    const bool a_first = planned.out.find(uri("a")) < planned.out.find(uri("b"));
    const std::string first = a_first ? "a" : "b";
    auto& second = servers_.at(a_first ? "b" : "a")->process();
    second.send(SIGSTOP);
    Process saving(joined({"save", "--insecure", "--group", uri(first), "--replicas", "2"}, files));
    EXPECT_TRUE(eventually([&] { return fs::exists(folder_.path() / first / "file-0"); })) << saving.err();
    (void)folder_.put("here/file-0", pattern(1000, 7));  // of the same size
    second.send(SIGCONT);
    EXPECT_EQ(saving.wait(), exit_damaged) << saving.err();
    EXPECT_NE(saving.err().find("the file changed between its copies"), std::string::npos) << saving.err();
    EXPECT_EQ(group_run("save", uri("a"), joined({"--replicas", "2", "--replace"}, files)).exit, 0);
    for (const char* root : {"a/", "b/"}) EXPECT_EQ(folder_.get(root + std::string("file-0")), pattern(1000, 7));
}

TEST_F(GroupSaveProcess, MoreCopiesThanServersIsToldAndTheOthersAreMade) {
    start("a");
    start("b");
    wait_for_members(uri("a"), 2);
    const auto files = make_files(2);
    const auto saved = group_run("save", uri("a"), joined({"--replicas", "3"}, files));
    EXPECT_EQ(saved.exit, exit_unsuitable);
    EXPECT_EQ(lines_with(saved.err, "too few servers"), 3u) << "each file, and the reason: " << saved.err;
    EXPECT_NE(saved.err.find("2 of 3 copies: tcp://"), std::string::npos) << saved.err;
    for (const auto& name : names(2)) EXPECT_EQ(copies_of(name), 2u);
    EXPECT_EQ(group_run("list", uri("a"), {"--replicas", "3"}).exit, exit_not_found);
}

TEST_F(GroupSaveProcess, WhoeverCannotBeAskedIsTold) {
    const auto files = make_files(1);
    const auto nobody = group_run("save", "tcp://127.0.0.1:1", files);
    EXPECT_EQ(nobody.exit, exit_unreachable) << nobody.err;
    EXPECT_NE(nobody.err.find("tcp://127.0.0.1:1: refused"), std::string::npos) << nobody.err;
    EXPECT_EQ(group_run("save", "here", files).exit, exit_usage);

    fs::create_directory(folder_.at("alone"));
    Serving alone(folder_.at("alone"), open_to_all);
    for (const char* command : {"save", "fetch", "list"}) {
        const auto no_group = group_run(command, alone.uri(), command == std::string("list") ? Words{} : files);
        EXPECT_EQ(no_group.exit, exit_protocol) << no_group.err;
        EXPECT_NE(no_group.err.find("its server is in no group"), std::string::npos) << no_group.err;
    }

    Process member({"member"});
    const auto line = member.read_line();
    const auto of_member = line.substr(line.find("tcp://"));
    const auto no_server = group_run("save", of_member, files);
    EXPECT_EQ(no_server.exit, exit_protocol) << no_server.err;
    EXPECT_NE(no_server.err.find("no member of that group saves files"), std::string::npos) << no_server.err;
    const auto other = group_run("save", of_member, joined({"--group-name", "other"}, files));
    EXPECT_EQ(other.exit, exit_not_found) << other.err;
    EXPECT_NE(other.err.find("see --group-name"), std::string::npos) << other.err;
}

// A member that saves no files still knows the servers that were killed.
TEST_F(GroupSaveProcess, AllServersAreDead) {
    start("a");
    Process member({"member", "--join", first_uri_, "--period", "10"});
    const auto line = member.read_line();
    ASSERT_NE(line.find("tcp://"), std::string::npos) << line << member.err();
    const auto of_member = line.substr(line.find("tcp://"));
    const auto files = make_files(2);
    ASSERT_EQ(group_run("save", of_member, files).exit, 0) << "any member is asked";
    kill("a");
    const auto saved = group_run("save", of_member, files);
    EXPECT_EQ(saved.exit, exit_unreachable) << saved.err;
    EXPECT_EQ(lines_with(saved.err, "file-"), 2u) << saved.err;
    EXPECT_EQ(group_run("fetch", of_member, {"file-0", "-o", folder_.at("back")}).exit, exit_unreachable);
    EXPECT_EQ(group_run("list", of_member, {}).exit, exit_unreachable);
    // Another member is asked if the first one is dead.
    const auto second = group_run("save", first_uri_, joined({"--group", of_member}, files));
    EXPECT_EQ(lines_with(second.err, "file-"), 2u) << second.err;
}

// The second server has no transport that the client wants.
TEST_F(GroupSaveProcess, AServerThatCannotBeDialledIsToldAndTheOthersDo) {
    constexpr unsigned many = 24;  // of 8, all were once placed on the first server
    for (const char* root : {"a", "b"}) fs::create_directory(folder_.at(root));
    Serving first(folder_.at("a"), joined(open_to_all, {"--listen", "shm://", "--group"}));
    const auto way = first.uri().substr(first.uri().find("shm://"));
    Serving second(folder_.at("b"), {"--listen", "shm://", "--group", "--join", way.substr(0, way.find(','))});
    wait_for_members(first.uri(), 2);
    const auto files = make_files(many);
    const Words over_tcp{"--transport", "tcp"};
    const auto saved = group_run("save", first.uri(), joined(over_tcp, files));
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(lines_with(saved.err, "shm://"), 1u) << saved.err;
    for (const auto& name : names(many)) EXPECT_TRUE(fs::exists(folder_.path() / "a" / name));
    EXPECT_EQ(group_run("fetch", first.uri(), joined(over_tcp, {"file-0", "-o", folder_.at("back")})).exit, 0);
    const auto listed = group_run("list", first.uri(), over_tcp);
    EXPECT_EQ(listed.exit, exit_unreachable) << listed.err;
    EXPECT_EQ(lines_with(listed.out, "file-"), many) << listed.out;
}

// A tree with everything that one may have: empty folders, links, modes, times, names with spaces.
void make_tree(const Folder& folder, const std::string& top) {
    for (const char* sub : {"/full", "/full/deep", "/empty"}) fs::create_directories(folder.at(top + sub));
    for (unsigned i = 0; i < 12; ++i) folder.put(top + "/full/file " + std::to_string(i), pattern(100 + 3000 * i, i));
    for (unsigned i = 0; i < 6; ++i) folder.put(top + "/full/deep/" + std::to_string(i) + ".o", pattern(10 * i, i));
    folder.put(top + "/top", pattern(70'000, 99));
    fs::create_symlink("full/file 3", folder.at(top + "/link"));
    fs::create_symlink("../outside", folder.at(top + "/out"));
    fs::permissions(folder.at(top + "/full/file 1"), fs::perms(0640));
    fs::permissions(folder.at(top + "/full/deep"), fs::perms(0750));
    using std::chrono::seconds;
    const auto long_ago = fs::last_write_time(folder.at(top)) - seconds(100'000);
    for (const char* name : {"/full/file 2", "/full/deep", "/full", "/empty", ""})
        fs::last_write_time(folder.at(top + name), long_ago);
}

// One line for each entry: its name, kind, mode, size and time of modification, or target.
std::string described(const fs::path& top) {
    std::set<std::string> lines;
    const auto add = [&](const fs::path& path) {
        const auto status = fs::symlink_status(path);
        auto line = path.lexically_relative(top).string();
        if (fs::is_symlink(status)) {
            line += " -> " + fs::read_symlink(path).string();
        } else {
            line += " " + std::to_string(static_cast<unsigned>(status.permissions())) + " " +
                    std::to_string(fs::last_write_time(path).time_since_epoch().count());
            if (fs::is_regular_file(status)) line += " " + std::to_string(fs::file_size(path));
        }
        lines.insert(line);
    };
    add(top);
    for (const auto& entry : fs::recursive_directory_iterator(top)) add(entry.path());
    std::string all;
    for (const auto& line : lines) all += line + "\n";
    return all;
}

TEST_F(GroupSaveProcess, ATreeIsSpreadAndComesBackAsItIs) {
    start_three();
    make_tree(folder_, "tree");
    const auto before = described(folder_.path() / "tree");
    const auto saved = group_run("save", uri("a"), {"--replicas", "2", folder_.at("tree")});
    ASSERT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(copies_of("tree/full/file 7"), 2u);
    EXPECT_EQ(copies_of("tree/full/deep/5.o"), 2u);
    EXPECT_GE(copies_of("tree/empty"), 2u);
    const auto again = group_run("save", uri("b"), {"--replicas", "2", "--json", folder_.at("tree")});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_EQ(lines_with(again.out, "\"sent_bytes\""), 1u) << "the summary alone: " << again.out;

    kill("b");
    const auto without = group_run("fetch", uri("c"), {"tree", "-o", folder_.at("some")});
    EXPECT_EQ(described(folder_.path() / "some/tree"), before);
    EXPECT_EQ(without.exit != 0, without.err.find("was not asked") != std::string::npos) << without.err;
    wait_for_members(uri("c"), 2);
    const auto fetched = group_run("fetch", uri("c"), {"tree", "-o", folder_.at("back")});
    ASSERT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(described(folder_.path() / "back/tree"), before);
    EXPECT_EQ(folder_.get("back/tree/full/file 9"), folder_.get("tree/full/file 9"));
    EXPECT_EQ(folder_.get("back/tree/top"), folder_.get("tree/top"));
    const auto unchanged = group_run("fetch", uri("c"), {"tree", "--json", "-o", folder_.at("back")});
    EXPECT_EQ(unchanged.exit, 0) << unchanged.err;
    EXPECT_EQ(lines_with(unchanged.out, "\"sent_bytes\""), 1u) << unchanged.out;
    folder_.put("back/tree/full/file 4", pattern(12'100, 3));  // the same size, another content
    fs::last_write_time(folder_.at("back/tree/full/file 4"), fs::last_write_time(folder_.at("tree/full/file 4")));
    const auto by_content = group_run("fetch", uri("c"), {"tree", "-c", "--replace", "-o", folder_.at("back")});
    EXPECT_EQ(by_content.exit, 0) << by_content.err;
    EXPECT_EQ(folder_.get("back/tree/full/file 4"), folder_.get("tree/full/file 4"));
}

TEST_F(GroupSaveProcess, ATreeOfManyFoldersAndLinksIsSpreadAndComesBackAsItIs) {
    start_three();
    for (int i = 0; i < 100; ++i) {
        const auto inner = "tree/d" + std::to_string(i % 10) + "/e" + std::to_string(i);
        fs::create_directories(folder_.at(inner));
        fs::create_symlink("to " + std::to_string(i), folder_.at(inner + (i % 2 ? "/link" : ".link")));
    }
    const auto before = described(folder_.path() / "tree");
    const auto saved = group_run("save", uri("a"), {"--replicas", "2", folder_.at("tree")});
    ASSERT_EQ(saved.exit, 0) << saved.err;
    const auto again = group_run("save", uri("b"), {"--replicas", "2", "--json", folder_.at("tree")});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_GE(lines_with(again.out, "\"unchanged\": true"), 210u) << again.out;
    EXPECT_EQ(lines_with(again.out, "\"event\": \"file\""), lines_with(again.out, "\"unchanged\": true")) << again.out;
    const auto fetched = group_run("fetch", uri("c"), {"tree", "-o", folder_.at("back")});
    ASSERT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(described(folder_.path() / "back/tree"), before);
}

TEST_F(GroupSaveProcess, ATreeIsRepairedWhereAServerIsGoneAndOneIsNew) {
    start_three();
    make_tree(folder_, "tree");
    ASSERT_EQ(group_run("save", uri("a"), {"--replicas", "2", folder_.at("tree")}).exit, 0);
    // As an interrupted save leaves it: everything is in the folder, but it is closed.
    for (const char* root : {"a", "b"}) {
        const auto folder = folder_.path() / root / "tree/full";
        if (fs::exists(folder)) fs::permissions(folder, fs::perms(0700));
    }
    kill("c");
    const auto repaired = group_run("save", uri("a"), {"--replicas", "2", folder_.at("tree")});
    EXPECT_EQ(repaired.exit, 0) << repaired.err;
    for (const char* root : {"a", "b"})
        EXPECT_EQ(described(folder_.path() / root / "tree"), described(folder_.path() / "tree")) << root;
}

TEST_F(GroupSaveProcess, OptionsOfTreesAndContentsOfFolders) {
    start_three();
    make_tree(folder_, "tree");
    const auto saved = group_run("save", uri("a"), {"--exclude=*.o", "--safe-links", folder_.at("tree") + "/"});
    EXPECT_EQ(saved.exit, exit_unsuitable) << "the link that leads out: " << saved.err;
    EXPECT_EQ(lines_with(saved.err, "leads out"), 1u) << saved.err;
    EXPECT_EQ(copies_of("full/deep/1.o"), 0u);
    EXPECT_EQ(copies_of("out"), 0u);
    EXPECT_EQ(copies_of("top"), 1u);
    EXPECT_GE(copies_of("full/deep"), 1u);
    const auto planned = group_run("fetch", uri("b"), {"/", "--dry-run", "-o", folder_.at("back")});
    EXPECT_EQ(planned.exit, 0) << planned.err;
    EXPECT_FALSE(fs::exists(folder_.at("back")));
    EXPECT_NE(planned.out.find("full/file 11"), std::string::npos) << planned.out;
    const auto part = group_run("fetch", uri("b"), {"full/", "--exclude=file 1*", "-o", folder_.at("back")});
    EXPECT_EQ(part.exit, 0) << part.err;
    EXPECT_TRUE(fs::exists(folder_.at("back/file 2")));
    EXPECT_TRUE(fs::exists(folder_.at("back/deep")));
    EXPECT_FALSE(fs::exists(folder_.at("back/file 11")));
}

TEST_F(GroupSaveProcess, AFileHereThatCannotBeReadIsTakenForAnother) {
    if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
    constexpr uid_t nobody = 65534;
    fs::permissions(folder_.path(), fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
    start("a");
    for (const char* folder : {"tree", "back", "back/tree"}) fs::create_directory(folder_.path() / folder);
    for (const char* file : {"tree/x", "back/tree/x"}) {
        folder_.put(file, file[0] == 't' ? "new" : "old");
        fs::permissions(folder_.at(file), fs::perms::owner_read | fs::perms::owner_write);
    }
    for (const char* folder : {"back", "back/tree"}) ASSERT_EQ(::chown(folder_.at(folder).c_str(), nobody, nobody), 0);
    ASSERT_EQ(group_run("save", uri("a"), {folder_.at("tree")}).exit, 0);
    const Words fetch{"fetch", "--insecure", "--group", uri("a"), "tree", "-c", "-o", folder_.at("back")};
    EXPECT_EQ(run(fetch, {.user = nobody}).exit, exit_exists);
    EXPECT_EQ(folder_.get("back/tree/x"), "old");
    const auto replaced = run(joined(fetch, {"--replace"}), {.user = nobody});
    EXPECT_EQ(replaced.exit, 0) << replaced.err;
    EXPECT_EQ(folder_.get("back/tree/x"), "new");
}

TEST_F(GroupSaveProcess, TreesMayHaveFoldersInCommonAndNothingElse) {
    start("a");
    for (const char* folder : {"one", "two", "one/both", "two/both"}) fs::create_directory(folder_.path() / folder);
    folder_.put("one/both/a", "of one");
    folder_.put("two/both/b", "of two");
    const std::vector<std::string> both{folder_.at("one") + "/", folder_.at("two") + "/"};
    EXPECT_EQ(group_run("save", uri("a"), both).exit, 0);
    EXPECT_EQ(folder_.get("a/both/a") + folder_.get("a/both/b"), "of oneof two");
    folder_.put("two/both/a", "of two");
    const auto refused = group_run("save", uri("a"), both);
    EXPECT_EQ(refused.exit, exit_usage) << refused.err;
    EXPECT_NE(refused.err.find("would both be saved as both/a"), std::string::npos) << refused.err;
    EXPECT_EQ(folder_.get("a/both/a"), "of one");
}

TEST_F(GroupSaveProcess, AFolderOnOneServerThatIsAFileOnAnotherIsTold) {
    start_three();
    make_tree(folder_, "tree");
    for (const char* root : {"a", "b", "c"}) fs::create_directory(folder_.path() / root / "tree");
    folder_.put("a/tree/full", "a file");
    const auto saved = group_run("save", uri("a"), {folder_.at("tree")});
    EXPECT_EQ(saved.exit, exit_exists) << saved.err;
    EXPECT_EQ(folder_.get("a/tree/full"), "a file");
    const auto fetched = group_run("fetch", uri("a"), {"tree", "-o", folder_.at("back")});
    EXPECT_EQ(fetched.exit, exit_unsuitable) << fetched.err;
    EXPECT_EQ(lines_with(fetched.err, "different kinds"), 1u) << fetched.err;
    EXPECT_EQ(folder_.get("back/tree/top"), folder_.get("tree/top"));
}

TEST_F(GroupSaveProcess, WhatAGroupDoesNotTakeIsToldAndTheRestIsSaved) {
    start("a");
    const auto files = make_files(2);
    const auto pipe = folder_.at("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const auto saved = group_run("save", uri("a"), {files[0], pipe, folder_.at("none"), files[1]});
    EXPECT_EQ(saved.exit, exit_unsuitable) << saved.err;
    EXPECT_NE(saved.err.find(pipe), std::string::npos) << saved.err;
    EXPECT_NE(saved.err.find("none"), std::string::npos) << saved.err;
    EXPECT_EQ(fetch_all(uri("a"), 2).exit, 0);
    const auto missing = group_run("fetch", uri("a"), {"file-0", "nothing", "-o", folder_.at("other")});
    EXPECT_EQ(missing.exit, exit_not_found) << missing.err;
    EXPECT_EQ(folder_.get("other/file-0"), folder_.get("here/file-0"));
    EXPECT_EQ(group_run("fetch", uri("a"), {"nothing/", "-o", folder_.at("other")}).exit, exit_not_found);
    EXPECT_EQ(group_run("list", uri("a") + "/nothing", {}).exit, exit_not_found);
    EXPECT_EQ(group_run("save", uri("a"), joined({"--wait", "1"}, files)).exit, exit_usage);
    EXPECT_EQ(group_run("fetch", uri("a"), {"--rate", "1M", "file-0", "-o", folder_.at("back")}).exit, exit_usage);
    EXPECT_EQ(run({"save", files[0]}).exit, exit_usage);
    EXPECT_EQ(run({"list"}).exit, exit_usage);
}

// The loopback is open to all users of a host; the key of the save service does not keep them out of the group.
TEST_F(GroupSaveProcess, AGroupIsOpenToProvenPeersOnly) {
    fs::create_directory(folder_.at("a"));
    const auto key = support::put_key(folder_, "key", "a key of sixteen bytes");
    const Words over_tcp{"serve", "--root", folder_.at("a"), "--listen", "tcp://127.0.0.1:0", "--group"};
    for (const Words& more : {Words{}, Words{"--key-file", key}, Words{"--key-file", key, "--insecure"}}) {
        const auto refused = run(joined(over_tcp, more));
        EXPECT_EQ(refused.exit, exit_usage) << refused.err;
        EXPECT_NE(refused.err.find("strangers could join"), std::string::npos) << refused.err;
    }
    const auto others =
        run({"serve", "--root", folder_.at("a"), "--listen", "shm://?group=root", "--key-file", key, "--group"});
    EXPECT_EQ(others.exit, exit_usage) << others.err;

    Serving first(folder_.at("a"), {"--listen", "shm://", "--group"});
    fs::create_directory(folder_.at("b"));
    Serving second(folder_.at("b"), {"--listen", "shm://", "--group", "--join", first.uri()});
    wait_for_members(first.uri(), 2);
    const auto files = make_files(3);
    const auto saved = run(joined({"save", "--group", second.uri(), "--replicas", "2"}, files));
    EXPECT_EQ(saved.exit, 0) << saved.err;
    for (const auto& name : names(3)) {
        EXPECT_TRUE(fs::exists(folder_.path() / "a" / name));
        EXPECT_TRUE(fs::exists(folder_.path() / "b" / name));
    }
}

}  // namespace
}  // namespace cinnabar::tools
