// SPDX-License-Identifier: BSD-3-Clause
// Processes that are killed in the middle of a file: repeating the command continues from what is on disk.
#include "process.hpp"
#include "support/content.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// How many bytes were already there, according to the summary of --json.
std::uint64_t had_bytes(const std::string& out) {
    constexpr std::string_view key = "\"had_bytes\": ";
    const auto at = out.rfind(key);
    std::uint64_t bytes = 0;
    if (at != out.npos) (void)std::from_chars(out.data() + at + key.size(), out.data() + out.size(), bytes);
    return bytes;
}

struct ResumeProcess : testing::Test {
    Folder folder{support::memory_folder()};
    std::string root = folder.at("root");
    fs::path staging = fs::path(root) / ".cinnabar-staging";
    static constexpr std::uint64_t megabytes = 192;
    std::string content;
    std::string large;
    ResumeProcess() {
        fs::create_directory(root);
        const auto one = pattern(1 << 20);
        for (std::uint64_t i = 0; i < megabytes; ++i) {
            content += one;
            content[content.size() - one.size()] = static_cast<char>(i);
        }
        large = folder.put("large", content);
    }
    // Makes the command take three seconds in all, so that it is still in progress when the test looks.
    static Words slowly(Words words) {
        words.insert(words.end(), {"--rate", "64M"});
        return words;
    }
    // Waits until a journal in `where` promises a part of a file.
    static bool promised(const fs::path& where) {
        return eventually([&] {
            std::error_code ignored;
            for (const auto& entry : fs::directory_iterator(where, ignored)) {
                if (entry.path().extension() == ".journal" && entry.file_size(ignored) > 80) return true;
            }
            return false;
        });
    }
    // Starts a server at the address of an earlier one.
    static std::unique_ptr<Serving> serve_again(const std::string& root, const std::string& uri,
                                                const Words& more = {}) {
        Words words{"--listen", uri};
        words.insert(words.end(), more.begin(), more.end());
        return std::make_unique<Serving>(root, words);
    }
};

struct ResumeEitherWay : ResumeProcess, testing::WithParamInterface<bool> {
    Words save(const Words& more) const {
        Words words{"save", "--json"};
        if (GetParam()) words.emplace_back("--push");
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
};
INSTANTIATE_TEST_SUITE_P(By, ResumeEitherWay, testing::Bool(),
                         [](const auto& each) { return each.param ? "push" : "pull"; });

TEST_P(ResumeEitherWay, AKilledClientsCommandGoesOn) {
    Serving serving(root);
    Process client(slowly(save({large, serving.uri()})));
    ASSERT_TRUE(promised(staging)) << client.err();
    client.send(SIGKILL);
    ASSERT_EQ(client.wait(), 128 + SIGKILL);
    ASSERT_TRUE(eventually([&] {
        return !run({"list", "--staged", serving.uri()}).out.empty();
    })) << "the server has seen that the client is gone";
    const auto again = run(save({large, serving.uri()}));
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_GT(had_bytes(again.out), 0u) << again.out;
    EXPECT_TRUE(folder.get("root/large") == content);
    EXPECT_TRUE(fs::is_empty(staging));
}

TEST_P(ResumeEitherWay, ASaveWaitsForAServerThatWasKilledAndGoesOn) {
    auto serving = std::make_unique<Serving>(root);
    const auto uri = serving->uri();
    Process client(slowly(save({"--wait", "60", large, uri})));
    ASSERT_TRUE(promised(staging)) << client.err();
    serving->process().send(SIGKILL);
    ASSERT_EQ(serving->process().wait(), 128 + SIGKILL);
    serving.reset();
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
    serving = serve_again(root, uri);
    EXPECT_EQ(client.wait(), 0) << client.err() << client.out();
    EXPECT_NE(client.out().find("\"waiting\""), std::string::npos) << client.out();
    EXPECT_GT(had_bytes(client.out()), 0u) << client.out();
    EXPECT_TRUE(folder.get("root/large") == content);
}

TEST_F(ResumeProcess, ASaveWaitsForAServerThatEndedWithoutPatience) {
    auto serving = std::make_unique<Serving>(root, Words{"--drain", "0"});
    const auto uri = serving->uri();
    const auto some = folder.put("some", content.substr(0, std::size_t{64} << 20));
    Process client(slowly({"save", "--json", "--wait", "60", some, uri}));
    ASSERT_TRUE(promised(staging)) << client.err();
    serving->process().send(SIGTERM);
    ASSERT_EQ(serving->process().wait(), 8) << serving->process().err();
    serving.reset();
    serving = serve_again(root, uri);
    EXPECT_EQ(client.wait(), 0) << client.out();
    EXPECT_NE(client.out().find("\"waiting\""), std::string::npos) << client.out();
    EXPECT_TRUE(folder.get("root/some") == folder.get("some"));
}

TEST_F(ResumeProcess, AFullDiskThatGotRoomGoesOn) {
    std::string uri;
    {
        Serving full(root, {}, {.file_bytes_max = std::size_t{40} << 20});
        uri = full.uri();
        EXPECT_EQ(run({"save", large, uri}).exit, 5);
        full.process().send(SIGTERM);
        EXPECT_EQ(full.process().wait(), 0) << full.process().err();
    }
    const auto serving = serve_again(root, uri);
    const auto again = run({"save", "--json", large, uri});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_GE(had_bytes(again.out), std::uint64_t{32} << 20) << again.out;
    EXPECT_TRUE(folder.get("root/large") == content);
}

TEST_F(ResumeProcess, AKilledFetchGoesOn) {
    fs::create_directory(folder.at("back"));
    fs::copy_file(large, fs::path(root) / "large");
    Serving serving(root);
    const Words fetch{"fetch", "--json", serving.uri() + "/large", "-o", folder.at("back")};
    Process client(slowly(fetch));
    ASSERT_TRUE(promised(folder.at("back"))) << client.err();
    client.send(SIGKILL);
    ASSERT_EQ(client.wait(), 128 + SIGKILL);
    const auto again = run(fetch);
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_GT(had_bytes(again.out), 0u) << again.out;
    EXPECT_TRUE(folder.get("back/large") == content);
    EXPECT_EQ(Folder::list_of(folder.at("back")), Words{"large"});
}

TEST_F(ResumeProcess, WhatInterruptedSavesLeftIsListedAndCleaned) {
    Serving serving(root);
    EXPECT_EQ(run({"list", "--staged", serving.uri()}).out, "");
    Process client(slowly({"save", large, serving.uri()}));
    ASSERT_TRUE(promised(staging)) << client.err();
    client.send(SIGKILL);
    ASSERT_EQ(client.wait(), 128 + SIGKILL);
    std::string listed;
    ASSERT_TRUE(eventually([&] { return !(listed = run({"list", "--staged", serving.uri()}).out).empty(); }));
    EXPECT_TRUE(listed.starts_with("large: ")) << listed;
    EXPECT_NE(listed.find("of 201 MB"), std::string::npos) << listed;
    const auto json = run({"list", "--staged", "--json", serving.uri()}).out;
    EXPECT_TRUE(json.starts_with("{\"event\": \"staged\", \"name\": \"large\", \"bytes\": 201326592, ")) << json;
    EXPECT_EQ(run({"list", "--clean", serving.uri() + "/other"}).out, "removed what 0 interrupted saves left\n");
    EXPECT_EQ(run({"list", "--clean", serving.uri() + "/large"}).out, "removed what 1 interrupted save left\n");
    EXPECT_TRUE(fs::is_empty(staging));
}

TEST_F(ResumeProcess, AServerThatMayKeepNothingKeepsNothing) {
    Serving serving(root, {"--staged-bytes", "0"});
    Process client(slowly({"save", large, serving.uri()}));
    ASSERT_TRUE(promised(staging)) << client.err();
    client.send(SIGKILL);
    ASSERT_EQ(client.wait(), 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return fs::is_empty(staging); }));
}

TEST_F(ResumeProcess, WhoWaitsInVainSaysWhy) {
    auto serving = std::make_unique<Serving>(root);
    const auto uri = serving->uri();
    serving.reset();
    const auto begin = std::chrono::steady_clock::now();
    const auto late = run({"save", "--wait", "0.3", large, uri});
    EXPECT_EQ(late.exit, 2) << late.err;
    EXPECT_NE(late.err.find("redialling"), std::string::npos) << late.err;
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
    Process client({"save", "--wait", "600", large, uri});
    ASSERT_TRUE(eventually([&] { return client.err().find("redialling") != std::string::npos; })) << client.err();
    client.send(SIGINT);
    EXPECT_EQ(client.wait(), 9) << client.err();
}

TEST_F(ResumeProcess, FoldersAreListed) {
    fs::create_directories(fs::path(root) / "folder/inner");
    folder.put("root/folder/b\nc", "12345");
    fs::permissions(fs::path(root) / "folder/b\nc", fs::perms(0640));
    fs::create_symlink("b", fs::path(root) / "folder/link");
    const timespec times[2] = {{0, 0}, {0, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, folder.at("root/folder/b\nc").c_str(), times, 0), 0);
    Serving serving(root);
    EXPECT_EQ(run({"list", serving.uri()}).out, "folder/\n");
    EXPECT_EQ(run({"list", serving.uri() + "/folder"}).out, "b\\x0ac\ninner/\nlink\n");
    const auto details = run({"list", "-l", serving.uri() + "/folder"}).out;
    EXPECT_TRUE(details.starts_with("-rw-r-----               5 1970-01-01 00:00:00Z b\\x0ac\n")) << details;
    EXPECT_NE(details.find(" link -> b\n"), std::string::npos) << details;
    const auto json = run({"list", "--json", serving.uri() + "/folder"}).out;
    EXPECT_TRUE(
        json.starts_with("{\"event\": \"entry\", \"name\": \"b\\u000ac\", \"kind\": \"file\", \"bytes\": 5, "
                         "\"mode\": \"0640\", \"modified\": \"1970-01-01 00:00:00Z\"}\n"))
        << json;
    const auto missing = run({"list", serving.uri() + "/none"});
    EXPECT_EQ(missing.exit, 10);
    EXPECT_NE(missing.err.find("there is no such folder"), std::string::npos) << missing.err;
    EXPECT_EQ(run({"list", "malformed"}).exit, 1);
    EXPECT_NE(run({"list", "--json", serving.uri() + "/none"}).out.find("\"failed\""), std::string::npos);
}

}  // namespace
}  // namespace cinnabar::tools
