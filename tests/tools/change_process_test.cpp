// SPDX-License-Identifier: BSD-3-Clause
// Only changes are transferred: changed blocks of large files, and files of trees whose content differs.
#include "process.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// A number from the summary of --json.
std::uint64_t number_of(const std::string& out, const std::string& key) {
    const std::string text = "\"" + key + "\": ";
    const auto at = out.rfind(text);
    std::uint64_t value = ~std::uint64_t{0};
    if (at != out.npos) (void)std::from_chars(out.data() + at + text.size(), out.data() + out.size(), value);
    return value;
}

struct ChangeProcess : testing::Test {
    Folder folder{support::memory_folder()};
    std::string root = folder.at("root");
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t bytes = std::size_t{64} << 20;
    std::string content = pattern(bytes);
    ChangeProcess() { fs::create_directory(root); }
    // Changes one byte in each of a hundredth of the pages, chosen at random.
    void change(unsigned seed) {
        std::uint64_t state = seed;
        for (std::size_t i = 0; i < bytes / page / 100; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            content[(state >> 33) % (bytes / page) * page + i % page] ^= 1;
        }
    }
    void expect_little(const Outcome& moved) const {
        EXPECT_EQ(moved.exit, 0) << moved.err;
        EXPECT_GT(number_of(moved.out, "sent_bytes"), bytes / 200) << moved.out;
        EXPECT_LE(number_of(moved.out, "sent_bytes"), bytes / 20) << moved.out;
        EXPECT_EQ(number_of(moved.out, "bytes"), bytes) << moved.out;
    }
};

TEST_F(ChangeProcess, OnlyChangedBlocksOfALargeFileAreSent) {
    const auto large = folder.put("large", content);
    Serving serving(root);
    const auto first = run({"save", "--json", large, serving.uri()});
    ASSERT_EQ(first.exit, 0) << first.err;
    EXPECT_EQ(number_of(first.out, "sent_bytes"), bytes) << first.out;
    for (const bool push : {false, true}) {
        change(push ? 7 : 8);
        (void)folder.put("large", content);
        Words words{"save", "--json", "--replace", large, serving.uri()};
        if (push) words.emplace_back("--push");
        expect_little(run(words));
        EXPECT_TRUE(folder.get("root/large") == content);
    }
    fs::create_directory(folder.at("back"));
    (void)folder.put("back/large", content);
    change(9);
    (void)folder.put("root/large", content);
    expect_little(run({"fetch", "--json", "--replace", serving.uri() + "/large", "-o", folder.at("back")}));
    EXPECT_TRUE(folder.get("back/large") == content);
    const auto whole = run({"save", "--json", "--replace", "--whole-file", large, serving.uri()});
    EXPECT_EQ(number_of(whole.out, "sent_bytes"), bytes) << whole.out;
    const auto told = run({"save", "--replace", folder.at("back/large"), serving.uri()});
    EXPECT_NE(told.out.find(" sent)"), std::string::npos) << told.out;
}

TEST_F(ChangeProcess, ACopyToAServerThatHasAnOlderVersionSendsWhatChanged) {
    const auto other = folder.at("other");
    fs::create_directory(other);
    (void)folder.put("root/large", content);
    change(3);
    (void)folder.put("other/large", content);
    Serving from(other);
    Serving to(root);
    expect_little(run({"copy", "--json", "--replace", from.uri() + "/large", to.uri()}));
    EXPECT_TRUE(folder.get("root/large") == content);
}

struct ByContent : ChangeProcess {
    std::string tree = folder.at("tree");
    ByContent() {
        fs::create_directory(tree);
        (void)folder.put("tree/same", "the same content");
        (void)folder.put("tree/other", "one content");
    }
    static void set_time(const std::string& path, std::int64_t seconds) {
        const timespec times[2] = {{0, UTIME_OMIT}, {seconds, 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
    }
    // On the other side, changes the time of one file, and gives another file other content with the same size and
    // time.
    void differ(const std::string& there) {
        set_time(there + "/same", 1);
        const auto time = fs::last_write_time(tree + "/other");
        std::ofstream(there + "/other") << "two content";
        fs::last_write_time(there + "/other", time);
    }
};

TEST_F(ByContent, FilesOfTreesAreComparedByContentOnRequest) {
    Serving serving(root);
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    differ(root + "/tree");
    EXPECT_EQ(run({"save", tree, serving.uri()}).exit, 3) << "the one of another time is not the same";
    EXPECT_EQ(folder.get("root/tree/other"), "two content");
    const auto saved = run({"save", "--json", "--checksum", "--replace", tree, serving.uri()});
    EXPECT_EQ(saved.exit, 0) << saved.err;
    EXPECT_EQ(folder.get("root/tree/other"), "one content");
    EXPECT_EQ(number_of(saved.out, "done"), 1u) << saved.out;
    EXPECT_EQ(run({"save", "--checksum", tree, serving.uri()}).exit, 0) << "all is the same now";
}

TEST_F(ByContent, FilesAreComparedByFetchAndCopyToo) {
    const auto back = folder.at("back");
    fs::create_directory(back);
    fs::create_directory(folder.at("third"));
    Serving serving(root);
    Serving third(folder.at("third"));
    ASSERT_EQ(run({"save", tree, serving.uri()}).exit, 0);
    ASSERT_EQ(run({"fetch", serving.uri() + "/tree", "-o", back}).exit, 0);
    ASSERT_EQ(run({"copy", serving.uri() + "/tree", third.uri()}).exit, 0);
    differ(back + "/tree");
    differ(folder.at("third/tree"));
    const auto fetched = run({"fetch", "--json", "--checksum", "--replace", serving.uri() + "/tree", "-o", back});
    EXPECT_EQ(fetched.exit, 0) << fetched.err;
    EXPECT_EQ(folder.get("back/tree/other"), "one content");
    EXPECT_EQ(number_of(fetched.out, "done"), 1u) << fetched.out;
    const auto copied = run({"copy", "--json", "--checksum", "--replace", serving.uri() + "/tree", third.uri()});
    EXPECT_EQ(copied.exit, 0) << copied.err;
    EXPECT_EQ(folder.get("third/tree/other"), "one content");
    EXPECT_EQ(number_of(copied.out, "done"), 1u) << copied.out;
    EXPECT_EQ(run({"save", "--checksum", "--ignore-times", tree, serving.uri()}).exit, 1);
}

TEST_F(ByContent, NamedFilesThatAreTheSameAreNotReplaced) {
    Serving serving(root);
    const auto save = [&](const Words& more) {
        Words words{"save", "--json", "--replace", tree + "/same", tree + "/other", serving.uri()};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    const auto expect_done = [](const Outcome& moved, std::uint64_t done, const char* what) {
        EXPECT_EQ(moved.exit, 0) << what << moved.err;
        EXPECT_EQ(number_of(moved.out, "done"), done) << what << moved.out;
    };
    expect_done(save({"--preserve"}), 2, "new");
    expect_done(save({"--preserve"}), 0, "of equal size, time and mode");
    set_time(root + "/same", 1);
    expect_done(save({"--preserve"}), 1, "of another time");
    expect_done(save({"--preserve", "--ignore-times"}), 2, "not compared");
    expect_done(save({}), 2, "copies have times of their own");
    expect_done(save({"--checksum"}), 0, "of equal content");
    std::ofstream(root + "/other") << "two content";
    expect_done(save({"--checksum"}), 1, "of other content");
    EXPECT_EQ(folder.get("root/other"), "one content");
    const auto back = folder.at("back");
    fs::create_directory(back);
    const Words fetch{"fetch", "--json", "--replace", "--preserve", serving.uri() + "/same", "-o", back};
    expect_done(run(fetch), 1, "fetched");
    expect_done(run(fetch), 0, "is here");
    set_time(back + "/same", 1);
    expect_done(run(fetch), 1, "is older here");
}

}  // namespace
}  // namespace cinnabar::tools
