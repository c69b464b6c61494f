// SPDX-License-Identifier: BSD-3-Clause
// A target whose file system cannot hold all that a tree has: vfat. CINNABAR_TEST_VFAT names a folder on a real one, as
// tests/vm/vfat makes it, and CINNABAR_TEST_VFAT_AGAIN a command that mounts it anew; without them the process that
// receives runs with a stand-in (like_vfat.cpp).
#include "process.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <sstream>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

enum class Command { save, fetch, copy };

const char* real_vfat() { return std::getenv("CINNABAR_TEST_VFAT"); }

void set_time(const std::string& path, std::int64_t seconds, long nanoseconds = 0) {
    const timespec times[2] = {{0, UTIME_OMIT}, {seconds, nanoseconds}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << path;
}

struct Vfat : testing::TestWithParam<Command> {
    Folder folder;
    Folder target{real_vfat() ? fs::path(real_vfat()) : fs::temp_directory_path()};
    std::string tree = folder.at("tree");
    std::string root = target.at("root");
    const std::uint64_t largest = real_vfat() ? UINT32_MAX : 8u << 20;
    const Words names_not_held{"a:b", "dot.", "space ", "what?", "d/\"quoted\"", "bad|folder"};

    Vfat() {
        fs::create_directory(root);
        fs::create_directories(tree + "/d/deep");
        (void)folder.put("tree/file", "content");
        (void)folder.put("tree/empty", "");
        (void)folder.put("tree/old", "from before there were floppy disks");
        (void)folder.put("tree/d/read only", "not to be changed");
        (void)folder.put("tree/d/deep/large", pattern((3u << 20) + 17));
        make_sparse(tree + "/sparse", 2u << 20);
        EXPECT_EQ(::chmod((tree + "/file").c_str(), 0640), 0);
        EXPECT_EQ(::chmod((tree + "/d/read only").c_str(), 0444), 0);
        EXPECT_EQ(::chmod((tree + "/d/deep").c_str(), 0700), 0);
        set_time(tree + "/file", 1'700'000'001, 987'654'321);
        set_time(tree + "/old", 1);
        set_time(tree + "/d/deep", 1'600'000'003, 5);
    }
    static void make_sparse(const std::string& path, std::uint64_t bytes) {
        std::ofstream(path) << "begin";
        ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(bytes)), 0) << path;
    }
    void add_what_is_not_held() const {
        fs::create_directory(tree + "/bad|folder");
        (void)folder.put("tree/bad|folder/inside", "inside");
        for (const auto& name : names_not_held) {
            if (name != "bad|folder") (void)folder.put("tree/" + name, name);
        }
        make_sparse(tree + "/too large", largest + 1);
        fs::create_symlink("file", tree + "/link");
        (void)folder.put("tree/twin 1", "content of two names");
        fs::create_hard_link(tree + "/twin 1", tree + "/twin 2");
    }

    [[nodiscard]] Surroundings holding() const {
        Surroundings in;
        if (real_vfat()) return in;
        in.environment = {"LD_PRELOAD=" CINNABAR_LIKE_VFAT, "CINNABAR_LIKE_VFAT=" + root,
                          "CINNABAR_LIKE_VFAT_BYTES=" + std::to_string(largest)};
        return in;
    }
    // Moves `tree`, or another file or folder of the source, to the vfat.
    [[nodiscard]] Outcome move(const Words& more = {}, const std::string& what = "tree") const {
        const auto words = [&](const std::string& command, const Words& ends) {
            Words all{command, "--json"};
            all.insert(all.end(), more.begin(), more.end());
            all.insert(all.end(), ends.begin(), ends.end());
            return all;
        };
        if (GetParam() == Command::save) {
            const Serving serving(root, {}, holding());
            return run(words("save", {folder.at(what), serving.uri()}));
        }
        const Serving from(folder.path().string());
        if (GetParam() == Command::fetch) return run(words("fetch", {from.uri() + "/" + what, "-o", root}), holding());
        const Serving to(root, {}, holding());
        return run(words("copy", {from.uri() + "/" + what, to.uri() + "/"}));
    }
    // What is told of each name, by name.
    static std::map<std::string, std::string> events_of(const Outcome& moved) {
        std::map<std::string, std::string> events;
        std::istringstream lines(moved.out);
        for (std::string line; std::getline(lines, line);) {
            constexpr std::string_view key = "\"name\": \"tree/";
            const auto at = line.find(key);
            if (line.find("\"event\": \"file\"") == line.npos || at == line.npos) continue;
            const auto begin = at + key.size();
            events[line.substr(begin, line.find("\", ", begin) - begin)] = line;
        }
        return events;
    }
    static void expect_told(const Outcome& moved, const std::string& name, const std::string& why, int exit) {
        const auto events = events_of(moved);
        const auto found = events.find(name);
        ASSERT_NE(found, events.end()) << name << " in " << moved.out << moved.err;
        EXPECT_NE(found->second.find(why), std::string::npos) << found->second;
        EXPECT_NE(found->second.find("\"exit\": " + std::to_string(exit)), std::string::npos) << found->second;
    }
    void expect_what_is_not_held_is_told(const Outcome& moved) const {
        for (const auto* name : {"a:b", "dot.", "space ", "what?", "d/\\\"quoted\\\"", "bad|folder"})
            expect_told(moved, name, "takes no name with", 11);
        expect_told(moved, "link", "no symbolic links", 11);
        expect_told(moved, "too large", "does not allow a file of that size", 5);
        // The name that was found first is there.
        const bool first = fs::exists(root + "/tree/twin 1");
        EXPECT_EQ(target.get(first ? "root/tree/twin 1" : "root/tree/twin 2"), "content of two names");
        expect_told(moved, first ? "twin 2" : "twin 1", "no hard links", 11);
    }
    // Also what is unfinished; a server that was killed leaves the folder for that.
    [[nodiscard]] Words names_there() const {
        auto names = Folder::list_of(root);
        std::erase(names, ".cinnabar-staging");
        return names;
    }
    void expect_the_rest_is_there() const {
        for (const auto* name : {"file", "empty", "old", "sparse", "d/read only", "d/deep/large"}) {
            const auto path = std::string("tree/") + name;
            EXPECT_TRUE(fs::exists(root + "/" + path) && target.get("root/" + path) == folder.get(path)) << path;
        }
        auto names = names_there();
        std::erase_if(names, [](const std::string& name) { return name.starts_with("tree/twin"); });
        EXPECT_EQ(names, (Words{"tree", "tree/d", "tree/d/deep", "tree/d/deep/large", "tree/d/read only", "tree/empty",
                                "tree/file", "tree/old", "tree/sparse"}));
    }
    static void expect_nothing_was_moved(const Outcome& again) {
        for (const auto& [name, event] : events_of(again)) {
            const bool moved = event.find("\"ok\": true") != event.npos;
            EXPECT_TRUE(!moved || event.find("\"unchanged\": true") != event.npos) << event;
        }
        EXPECT_NE(again.out.find("\"done\": 0, "), std::string::npos) << again.out;
    }
    static void mount_again() {
        const char* const again = std::getenv("CINNABAR_TEST_VFAT_AGAIN");
        if (!real_vfat() || !again) return;
        ASSERT_EQ(std::system(again), 0) << again;
    }
};

TEST_P(Vfat, WhatCannotBeHeldIsToldFileByFileAndTheRestArrives) {
    add_what_is_not_held();
    for (const Words& more : {Words{}, Words{}, Words{"--replace"}, Words{"-c"}}) {
        const auto moved = move(more);
        EXPECT_TRUE(moved.exit == 5 || moved.exit == 11) << "the code of the first failure: " << moved.exit;
        expect_what_is_not_held_is_told(moved);
        expect_the_rest_is_there();
    }
}

TEST_P(Vfat, WhatIsThereIsNotMovedAgainThoughModesAndTimesAreNotExact) {
    const auto first = move();
    EXPECT_EQ(first.exit, 0) << first.out << first.err;
    expect_the_rest_is_there();
    mount_again();
    for (const Words& more : {Words{}, Words{"--replace"}, Words{"-c"}, Words{"--replace", "--sync=none"}}) {
        const auto again = move(more);
        EXPECT_EQ(again.exit, 0) << again.out << again.err;
        expect_nothing_was_moved(again);
    }
}

TEST_P(Vfat, WhatHasChangedIsMovedAgain) {
    ASSERT_EQ(move().exit, 0);
    (void)folder.put("tree/file", "another");
    set_time(tree + "/file", 1'700'000'002);  // two even seconds are two times
    EXPECT_EQ(move().exit, 3) << "it differs, and is kept";
    const auto moved = move({"--replace"});
    EXPECT_EQ(moved.exit, 0) << moved.out << moved.err;
    EXPECT_NE(moved.out.find("\"done\": 1, "), std::string::npos) << moved.out;
    EXPECT_EQ(target.get("root/tree/file"), "another");
    expect_nothing_was_moved(move({"--replace"}));
}

TEST_P(Vfat, OfNamesThatDifferByCaseOneIsThereAndTheOtherIsTold) {
    (void)folder.put("tree/Case", "upper");
    (void)folder.put("tree/case", "lower");
    for (const Words& more : {Words{}, Words{"--replace"}}) {
        const auto moved = move(more);
        EXPECT_EQ(moved.exit, 3) << moved.out << moved.err;
        const auto kept = target.get("root/tree/case");
        EXPECT_TRUE(kept == "upper" || kept == "lower") << kept;
        expect_told(moved, kept == "upper" ? "case" : "Case", "differs by case only", 3);
    }
}

// Not by `copy`, which compares trees only.
struct VfatNamed : Vfat {};
TEST_P(VfatNamed, AFileThatIsPreservedIsNotMovedAgain) {
    const std::string name = "tree/file";
    ASSERT_EQ(move({"--preserve"}, name).exit, 0);
    for (const Words& more : {Words{"--preserve"}, Words{"--preserve", "--replace"}}) {
        const auto again = move(more, name);
        EXPECT_EQ(again.exit, 0) << again.out << again.err;
        EXPECT_NE(again.out.find("\"unchanged\": true"), std::string::npos) << again.out;
    }
}

// Nothing is kept of it either, to resume from. On a real vfat this needs 4 GiB for the source, which the machine of
// tests/vm does not have: there, a sparse file that is too large is told (add_what_is_not_held()).
TEST_P(Vfat, ATooLargeFileIsToldBeforeItIsMoved) {
    fs::remove_all(tree);
    fs::create_directory(tree);
    (void)folder.put("tree/film", pattern(largest + 1));
    const auto moved = move();
    EXPECT_EQ(moved.exit, 5) << moved.out << moved.err;
    expect_told(moved, "film", "does not allow a file of that size", 5);
    EXPECT_EQ(names_there(), Words{"tree"});
}

std::string name_of(const testing::TestParamInfo<Command>& info) {
    constexpr const char* names[] = {"save", "fetch", "copy"};
    return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(By, VfatNamed, testing::Values(Command::save, Command::fetch), name_of);
INSTANTIATE_TEST_SUITE_P(By, Vfat, testing::Values(Command::save, Command::fetch, Command::copy), name_of);

// A file system that is not known for its rules, as one in user space.
TEST(VfatUnknown, ANameThatItDoesNotTakeIsTold) {
    const Folder folder;
    const auto file = folder.put("a:b", "content");
    const std::string root = folder.at("root");
    fs::create_directory(root);
    Surroundings in;
    in.environment = {"LD_PRELOAD=" CINNABAR_LIKE_VFAT, "CINNABAR_LIKE_VFAT=" + root, "CINNABAR_LIKE_VFAT_UNKNOWN=1"};
    const Serving serving(root, {}, in);
    for (const Words& more : {Words{}, Words{"--replace"}}) {
        Words words{"save", file, serving.uri()};
        words.insert(words.end(), more.begin(), more.end());
        const auto saved = run(words);
        EXPECT_EQ(saved.exit, 11) << saved.err;
        EXPECT_NE(saved.err.find("the file system does not take that name"), std::string::npos) << saved.err;
    }
}

// A sparse file takes all its space there at once.
TEST(VfatRoom, ASparseFileIsNotMadeIntoTheSpaceThatIsKeptFree) {
    const Folder folder;
    const auto holes = folder.put("holes", "");
    constexpr std::uint64_t gigabyte = 1u << 30;
    ASSERT_EQ(::truncate(holes.c_str(), static_cast<off_t>(4 * gigabyte - 1)), 0);
    const std::string root = folder.at("root");
    fs::create_directory(root);
    const auto available = fs::space(root).available;
    const auto kept = available > 2 * gigabyte ? available - 2 * gigabyte : 0;
    Surroundings in;
    in.environment = {"LD_PRELOAD=" CINNABAR_LIKE_VFAT, "CINNABAR_LIKE_VFAT=" + root};
    const Serving serving(root, {"--keep-free", std::to_string(kept)}, in);
    const auto saved = run({"save", holes, serving.uri()});
    EXPECT_EQ(saved.exit, 5) << saved.err;
    EXPECT_FALSE(fs::exists(root + "/holes"));
}

}  // namespace
}  // namespace cinnabar::tools
