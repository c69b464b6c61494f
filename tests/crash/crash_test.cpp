// SPDX-License-Identifier: BSD-3-Clause
// Saves of random trees whose server or client is killed, or whose server's system calls fail, at random points. After
// each one, every existing name has complete contents, either the old ones or the saved ones; no old file is lost; and
// the staging folder is bounded. With --delete, what no source has is removed only when everything else is there. In
// the end the same command finishes the rest.
#include "process.hpp"
#include "random_tree.hpp"
#include "support/content.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace cinnabar::crash {
namespace {

namespace fs = std::filesystem;
using tools::Process;
using tools::Serving;
using tools::Surroundings;
using tools::Words;

class Round {
  public:
    explicit Round(std::uint64_t seed) : random_(seed) {
        fs::create_directories(folder_.at("source"));
        fs::create_directory(root_);
        write_tree(tree_, folder_.at("source"));
        write_tree(older_, root_);
        if (!deletes_) return;
        fs::create_directories(root_ + "/tree");
        std::ofstream(root_ + "/" + extraneous_) << "in no source";
    }

    void run() {
        for (auto crashes = 1 + random_() % 3; crashes > 0; --crashes) {
            crash();
            if (testing::Test::HasFailure()) return;
        }
        finish();
    }

  private:
    enum class Kind { kill_server, kill_client, fail_calls };

    // The faults in the system calls of the process once the file `on_` exists.
    Surroundings faults(std::uint64_t kill_at, std::uint64_t rate) {
        Surroundings in;
        in.environment = {"LD_PRELOAD=" CINNABAR_FAULTS, "CINNABAR_FAULTS_ON=" + on_,
                          "CINNABAR_FAULTS_SEED=" + std::to_string(random_()),
                          "CINNABAR_KILL_AT=" + std::to_string(kill_at), "CINNABAR_FAULT_RATE=" + std::to_string(rate)};
        return in;
    }
    Words save(const std::string& uri) const {
        Words words{"save", "-q", "--replace"};
        if (push_) words.emplace_back("--push");
        if (deletes_) words.emplace_back("--delete");
        words.insert(words.end(), {folder_.at("source/tree"), uri});
        return words;
    }
    void crash() {
        const auto kind = static_cast<Kind>(random_() % 3);
        const auto kill_at = 1 + random_() % 400;
        const auto rate = 5 + random_() % 60;
        fs::remove(on_);
        Serving serving(root_, {}, kind == Kind::kill_client ? Surroundings() : server_faults(kind, kill_at, rate));
        ASSERT_FALSE(serving.uri().empty());
        std::ofstream(on_) << "on";
        Process client(save(serving.uri()), kind == Kind::kill_client ? faults(kill_at, 0) : Surroundings());
        const auto exit = client.wait();
        ASSERT_TRUE(exit) << "the client hangs: " << client.err();
        EXPECT_NE(*exit, 15) << client.err();
        serving.process().send(SIGKILL);
        ASSERT_TRUE(serving.process().wait());
        auto there = read_tree(root_);
        // What the source does not have goes only when all that it has is there.
        if (there.erase(extraneous_) == 0 && deletes_) {
            EXPECT_EQ(find_unfinished(there, tree_, older_), "") << client.err();
        }
        EXPECT_EQ(find_broken(there, tree_, older_), "") << client.err();
        expect_bounded();
    }
    Surroundings server_faults(Kind kind, std::uint64_t kill_at, std::uint64_t rate) {
        return kind == Kind::kill_server ? faults(kill_at, 0) : faults(0, rate);
    }
    // The staging folder has no more files than the tree, with a journal each, and no more bytes than the tree and
    // 1 MiB more.
    void expect_bounded() const {
        const auto staging = fs::path(root_) / ".cinnabar-staging";
        std::uint64_t bytes = 0;
        std::uint64_t all = 0;
        std::size_t files = 0;
        for (const auto& [name, content] : tree_) all += content.size();
        if (fs::exists(staging)) {
            for (const auto& entry : fs::directory_iterator(staging)) {
                std::error_code gone;  // the server removes some meanwhile
                const auto size = entry.file_size(gone);
                if (!gone) bytes += size, ++files;
            }
        }
        EXPECT_LE(bytes, all + (1 << 20));
        EXPECT_LE(files, 2 * tree_.size());  // each staged file has a journal
    }
    void finish() {
        Serving serving(root_);
        const auto last = tools::run(save(serving.uri()));
        EXPECT_EQ(last.exit, 0) << last.err;
        EXPECT_EQ(find_unfinished(read_tree(root_), tree_, older_), "");
        const auto staging = fs::path(root_) / ".cinnabar-staging";
        EXPECT_EQ(support::Folder::list_of(staging), Words{}) << "nothing is left of what was finished";
    }

    std::mt19937_64 random_;
    support::Folder folder_{fs::exists("/dev/shm") ? fs::path("/dev/shm") : fs::temp_directory_path()};
    const std::string root_ = folder_.at("root");
    const std::string on_ = folder_.at("on");
    const std::string extraneous_ = "tree/in no source";
    const bool push_ = random_() % 2 == 0;
    const bool deletes_ = random_() % 2 == 0;
    const Contents tree_ = make_tree(random_);
    const Contents older_ = make_older(tree_, random_);
};

TEST(Crash, WhateverIsKilledOrFailsEveryNameIsWholeAndTheSameCommandFinishes) {
    if (support::address_sanitizer || support::thread_sanitizer)
        GTEST_SKIP() << "what is loaded before the C library does not go with a sanitizer";
    test::for_each_seed([](std::uint64_t seed) { Round(seed).run(); }, 10);
}

}  // namespace
}  // namespace cinnabar::crash
