// SPDX-License-Identifier: BSD-3-Clause
// Processes that are killed, interrupted or lied to in the middle of a save: no incomplete file appears, nothing is
// lost, and the other side reports the loss.
#include "process.hpp"
#include "support/content.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;

// Large enough that no machine saves the file before a signal arrives, and made of holes, so that it is made at once.
// Less on a small machine, which is slow.
std::uintmax_t large_bytes_at(const fs::path& folder) {
    return std::min(std::uintmax_t{2} << 30, fs::space(folder).available / 4);
}

struct LossProcess : testing::Test {
    Folder folder{support::memory_folder()};
    std::string root = folder.at("root");
    fs::path staging = fs::path(root) / ".cinnabar-staging";
    std::string large = folder.put("large", "");
    LossProcess() {
        fs::create_directory(root);
        fs::resize_file(large, large_bytes_at(root));
    }
    // Waits until the server has written something of a file.
    bool under_way() {
        return eventually([&] {
            std::error_code ignored;
            for (const auto& entry : fs::directory_iterator(staging, ignored)) {
                if (entry.file_size(ignored) > 0) return true;
            }
            return false;
        });
    }
    bool nothing_staged() {
        return eventually([&] { return !fs::exists(staging) || fs::is_empty(staging); });
    }
};

// The parameter: whether the server reads from the client, or the client writes to the server.
struct LossEitherWay : LossProcess, testing::WithParamInterface<bool> {
    Words save(const Words& more) const {
        // Without checksums nothing is kept for repeating the save (resume_process_test.cpp).
        Words words{"save", "--no-checksum"};
        if (GetParam()) words.emplace_back("--push");
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
};
INSTANTIATE_TEST_SUITE_P(By, LossEitherWay, testing::Bool(),
                         [](const auto& each) { return each.param ? "push" : "pull"; });

TEST_P(LossEitherWay, AKilledClientLeavesNothing) {
    Serving serving(root);
    Process client(save({large, serving.uri()}));
    ASSERT_TRUE(under_way()) << client.err();
    client.send(SIGKILL);
    EXPECT_EQ(client.wait(), 128 + SIGKILL);
    EXPECT_TRUE(nothing_staged());
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
    // The name is free at once, and the server goes on.
    const auto again = run({"save", "--as", "large", folder.put("small", "x"), serving.uri()});
    EXPECT_EQ(again.exit, 0) << again.err;
    EXPECT_EQ(folder.get("root/large"), "x");
}

TEST_P(LossEitherWay, AnInterruptedClientSaysSoAndLeavesNothing) {
    Serving serving(root);
    folder.put("root/large", "old");
    Process client(save({"--replace", large, serving.uri()}));
    ASSERT_TRUE(under_way()) << client.err();
    client.send(SIGINT);
    EXPECT_EQ(client.wait(), 9) << client.err();
    EXPECT_NE(client.err().find("interrupted before it was done"), std::string::npos) << client.err();
    EXPECT_EQ(client.err().find("cinnabar.save."), std::string::npos) << client.err();
    EXPECT_TRUE(nothing_staged());
    EXPECT_EQ(folder.get("root/large"), "old");
}

TEST_P(LossEitherWay, AKilledServerIsToldAtOnceAndItsLeftOversGo) {
    auto serving = std::make_unique<Serving>(root);
    Process client(save({large, serving->uri()}));
    ASSERT_TRUE(under_way()) << client.err();
    serving->process().send(SIGKILL);
    EXPECT_EQ(client.wait(std::chrono::seconds(20)), 7) << client.err();
    EXPECT_EQ(serving->process().wait(), 128 + SIGKILL);
    EXPECT_FALSE(fs::is_empty(staging)) << "nobody was there to remove it";
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
    serving.reset();
    Serving next(root);
    EXPECT_TRUE(fs::is_empty(staging));
    EXPECT_EQ(run({"save", folder.put("small", "x"), next.uri()}).exit, 0);
}

TEST_F(LossProcess, AKilledServerEndsAFetchAndLeavesOnlyWhatItGoesOnFrom) {
    fs::create_directory(folder.at("back"));
    fs::copy_file(large, fs::path(root) / "large");
    auto serving = std::make_unique<Serving>(root);
    Process client({"fetch", serving->uri() + "/large", "-o", folder.at("back")});
    ASSERT_TRUE(eventually([&] { return !fs::is_empty(folder.at("back")); }));
    serving->process().send(SIGKILL);
    EXPECT_EQ(client.wait(std::chrono::seconds(20)), 7) << client.err();
    for (const auto& name : Folder::list_of(folder.at("back"))) EXPECT_TRUE(name.starts_with(".cinnabar-")) << name;
}

TEST_F(LossProcess, ATerminatedServerLetsFilesFinish) {
    Serving serving(root, {"--drain", "60"});
    fs::resize_file(large, 256 << 20);
    Process client({"save", large, serving.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    serving.process().send(SIGTERM);
    EXPECT_EQ(client.wait(), 0) << client.err();
    EXPECT_EQ(serving.process().wait(), 0) << serving.process().err();
    EXPECT_EQ(fs::file_size(fs::path(root) / "large"), 256u << 20);
    EXPECT_FALSE(fs::exists(staging)) << "nothing of the server stays";
}

TEST_F(LossProcess, AServerThatDrainsTakesNoNewFiles) {
    Serving serving(root, {"--drain", "60"});
    fs::resize_file(large, 512 << 20);
    Process client({"save", large, serving.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    client.send(SIGSTOP);  // so that the save lasts until this test continues it
    serving.process().send(SIGTERM);
    // The signal may arrive a moment after the next client. Each client saves another file until one is refused.
    Outcome refused;
    int saves = 0;
    ASSERT_TRUE(eventually([&] {
        refused = run({"save", folder.put("late" + std::to_string(saves++), "x"), serving.uri()});
        return refused.exit != 0;
    }));
    EXPECT_EQ(refused.exit, 9) << refused.err;
    EXPECT_NE(refused.err.find("it takes no new files"), std::string::npos) << refused.err;
    EXPECT_FALSE(fs::exists(fs::path(root) / ("late" + std::to_string(saves - 1))));
    client.send(SIGCONT);
    EXPECT_EQ(client.wait(), 0) << client.err();
    EXPECT_EQ(serving.process().wait(), 0) << serving.process().err();
    EXPECT_EQ(fs::file_size(fs::path(root) / "large"), 512u << 20);
}

TEST_F(LossProcess, ATerminatedServerWithoutPatienceGivesFilesUp) {
    Serving serving(root, {"--drain", "0"});
    Process client({"save", "--no-checksum", large, serving.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait(), 8) << serving.process().err();
    const auto exit = client.wait(std::chrono::seconds(20));
    ASSERT_TRUE(exit);
    EXPECT_NE(*exit, 0) << client.err();
    EXPECT_EQ(Folder::list_of(root), Words{});
}

TEST_F(LossProcess, AFileThatShrinksIsNotSaved) {
    Serving serving(root);
    Process client({"save", large, serving.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    fs::resize_file(large, 1 << 20);
    EXPECT_EQ(client.wait(), 6) << client.err();
    EXPECT_TRUE(nothing_staged());
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
}

TEST_F(LossProcess, AFileThatChangesIsNotSaved) {
    Serving serving(root);
    fs::resize_file(large, 512 << 20);
    Process client({"save", large, serving.uri()});
    ASSERT_TRUE(under_way()) << client.err();
    fs::last_write_time(large, fs::file_time_type::clock::now() + std::chrono::hours(1));
    EXPECT_EQ(client.wait(), 6) << client.err();
    EXPECT_FALSE(fs::exists(fs::path(root) / "large"));
}

struct KeyProcess : LossProcess {
    std::string key(const std::string& name, const std::string& content) {
        auto path = folder.put(name, content);
        fs::permissions(path, fs::perms::owner_read);
        return path;
    }
    std::string right = key("right", "the right key of this test\n");
    std::string wrong = key("wrong", "some other key of this test\n");
    std::string small = folder.put("small", "x");
};

TEST_F(KeyProcess, OnlyTheRightKeyGetsIn) {
    Serving serving(root, {"--key-file", right});
    const auto without = run({"save", small, serving.uri()});
    EXPECT_EQ(without.exit, 4);
    EXPECT_NE(without.err.find("--key-file"), std::string::npos) << without.err;
    EXPECT_EQ(run({"save", "--key-file", wrong, small, serving.uri()}).exit, 4);
    const auto told = [&] {
        const auto text = serving.process().err();
        return text.find("refused a session for incoming ") != text.npos;
    };
    EXPECT_TRUE(eventually(told)) << "where it came from: " << serving.process().err();
    EXPECT_EQ(run({"fetch", "--key-file", wrong, serving.uri() + "/small", "-o", folder.at("root")}).exit, 4);
    const auto none = run({"save", "--key-file", folder.at("none"), small, serving.uri()});
    EXPECT_EQ(none.exit, 10);
    EXPECT_TRUE(none.err.starts_with("cinnabar: " + folder.at("none") + ": "))
        << "it is the file that is missing: " << none.err;
    EXPECT_FALSE(fs::exists(fs::path(root) / "small"));
    const auto with = run({"save", "--key-file", right, small, serving.uri()});
    EXPECT_EQ(with.exit, 0) << with.err;
    EXPECT_EQ(folder.get("root/small"), "x");
}

TEST_F(KeyProcess, AServerThatProvesNothingIsRefused) {
    Serving serving(root, {"--insecure"});
    EXPECT_EQ(run({"save", "--key-file", right, small, serving.uri()}).exit, 4);
    EXPECT_FALSE(fs::exists(fs::path(root) / "small"));
}

TEST_F(KeyProcess, AKeyFileThatOthersCanReadIsRefused) {
    fs::permissions(right, fs::perms::others_read, fs::perm_options::add);
    EXPECT_EQ(run({"serve", "--root", root, "--key-file", right}).exit, 4);
    EXPECT_EQ(run({"save", "--key-file", right, small, "tcp://127.0.0.1:1"}).exit, 4);
}

TEST_F(KeyProcess, WithAKeyAnyAddressMayListenIfTheUserAllowsThatFilesAreNotEncrypted) {
    for (const char* address : {"tcp://0.0.0.0:0", "tcp://:0"}) {
        const auto refused = run({"serve", "--root", root, "--key-file", right, "--listen", address});
        EXPECT_EQ(refused.exit, 1) << refused.err;
        EXPECT_NE(refused.err.find("in the clear"), std::string::npos) << refused.err;
        EXPECT_NE(refused.err.find("--clear"), std::string::npos) << refused.err;
    }
    Serving serving(root, {"--key-file", right, "--listen", "tcp://0.0.0.0:0", "--clear"});
    EXPECT_FALSE(serving.uri().empty());
    EXPECT_EQ(run({"serve", "--root", root}).exit, 3) << "one server serves a root";
}

}  // namespace
}  // namespace cinnabar::tools
