// SPDX-License-Identifier: BSD-3-Clause
// Random trees are saved, fetched and copied, also on and from a group, while a process that gives or takes them is
// killed, or its system calls fail, or the client is killed that has them moved, at random points. After each attempt,
// every existing name has complete contents, either the old ones or the new ones; no old file is lost; and what is
// unfinished is bounded. With --delete, what no source has is removed only when everything else is there. With
// --sync=each and batch, no file gets its name before it is synced; with none, that alone is not promised. In the end
// the same command finishes the rest.
#include "process.hpp"
#include "random_tree.hpp"
#include "support/content.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

namespace cinnabar::crash {
namespace {

namespace fs = std::filesystem;
using tools::Process;
using tools::Serving;
using tools::Surroundings;
using tools::Words;

enum class Command { save, fetch, copy, save_on_group, fetch_from_group };

Command draw_command(std::mt19937_64& random) {
    static constexpr Command commands[] = {Command::save,  Command::save,          Command::save,
                                           Command::fetch, Command::fetch,         Command::copy,
                                           Command::copy,  Command::save_on_group, Command::fetch_from_group};
    return commands[random() % std::size(commands)];
}

std::string draw_sync(std::mt19937_64& random) {
    static const std::vector<std::string> modes{"each", "batch", "none"};
    return modes[random() % modes.size()];
}

// Of one command, on whichever side it works: which process is exposed to faults.
enum class Exposed { giver, taker, client };

Exposed draw_exposed(std::mt19937_64& random) {
    static constexpr Exposed exposed[] = {Exposed::giver, Exposed::giver, Exposed::taker,
                                          Exposed::taker, Exposed::taker, Exposed::client};
    return exposed[random() % std::size(exposed)];
}

// The unfinished files in a receiving folder: those of a server are in a folder of their own, which also has its number
// in a group.
std::vector<fs::path> unfinished_in(const fs::path& root) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(root)) {
        if (!entry.path().filename().string().starts_with(".cinnabar-")) continue;
        if (!entry.is_directory()) {
            found.push_back(entry.path());
            continue;
        }
        for (const auto& staged : fs::directory_iterator(entry.path())) {
            if (staged.path().filename() != "server") found.push_back(staged.path());
        }
    }
    return found;
}

class Round {
  public:
    explicit Round(std::uint64_t seed) : random_(seed) {
        for (const auto& source : sources_) {
            fs::create_directories(source);
            write_tree(tree_, source);
        }
        for (const auto& root : roots_) {
            fs::create_directory(root);
            write_tree(older_, root);
        }
        if (!deletes_) return;
        fs::create_directories(roots_.front() + "/tree");
        std::ofstream(roots_.front() + "/" + extraneous_) << "in no source";
    }

    void run() {
        for (auto crashes = 1 + random_() % 3; crashes > 0; --crashes) {
            crash();
            if (testing::Test::HasFailure()) return;
        }
        finish();
    }

  private:
    // What a process that gives the tree, or takes it, is exposed to, or has the client exposed to.
    Surroundings faults(Exposed exposed) {
        const bool kills = random_() % 2 == 0 || exposed == Exposed::client;
        const auto kill_at = 1 + random_() % (exposed == Exposed::client ? 80 : 400);
        const auto rate = 5 + random_() % 60;
        auto in = watched();
        in.environment.insert(in.environment.end(),
                              {"CINNABAR_FAULTS_ON=" + on_, "CINNABAR_FAULTS_SEED=" + std::to_string(random_()),
                               "CINNABAR_KILL_AT=" + std::to_string(kills ? kill_at : 0),
                               "CINNABAR_FAULT_RATE=" + std::to_string(kills ? 0 : rate)});
        if (exposed == Exposed::giver) in.environment.emplace_back("CINNABAR_FAULT_READS=1");
        if (exposed == Exposed::client) in.environment.emplace_back("CINNABAR_KILL_CLIENT=1");
        return in;
    }
    Surroundings watched() const {
        Surroundings in;
        in.environment = {"LD_PRELOAD=" CINNABAR_FAULTS, "CINNABAR_UNSYNCED=" + unsynced_};
        return in;
    }
    Words words(const std::string& command, const Words& more) const {
        Words words{command, "-q", "--replace", "--sync=" + sync_};
        if (push_) words.emplace_back("--push");
        if (deletes_) words.emplace_back("--delete");
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    // Runs the command once, in processes with these surroundings. In the end none of them runs.
    tools::Outcome attempt(const Surroundings& giver, const Surroundings& taker) {
        const auto& source = sources_.front();
        const auto tree = source + "/tree";
        const auto& root = roots_.front();
        const Words listen{"--listen", listen_};
        switch (command_) {
            case Command::save: {
                Serving server(root, listen, taker);
                return ended(words("save", {tree, server.uri()}), giver, {&server});
            }
            case Command::fetch: {
                Serving server(source, listen, giver);
                return ended(words("fetch", {server.uri() + "/tree", "-o", root}), taker, {&server});
            }
            case Command::copy: {
                Serving from(source, listen, giver);
                Serving to(root, listen, taker);
                return ended(words("copy", {from.uri() + "/tree", to.uri()}), {}, {&from, &to});
            }
            case Command::save_on_group:
            case Command::fetch_from_group:
                break;
        }
        return attempt_on_group(giver, taker);
    }
    // Of the two servers, one is exposed.
    tools::Outcome attempt_on_group(const Surroundings& giver, const Surroundings& taker) {
        const bool saves = command_ == Command::save_on_group;
        const auto& folders = saves ? roots_ : sources_;
        const auto& in = saves ? taker : giver;
        const bool exposes_first = random_() % 2 == 0;
        const auto others = saves ? watched() : Surroundings();
        const Words member{"--listen", "tcp://127.0.0.1:0", "--insecure", "--group"};
        Serving first(folders.front(), member, exposes_first ? in : others);
        auto joins = member;
        joins.insert(joins.end(), {"--join", first.uri()});
        Serving second(folders.back(), joins, exposes_first ? others : in);
        const auto both = [&] { return tools::run({"group", first.uri()}).out.starts_with("group: 2 present"); };
        EXPECT_TRUE(tools::eventually(both));
        const Words group{"--insecure", "--group", first.uri(), "--group", second.uri()};
        const Words saving{"--replicas", "2", sources_.front() + "/tree"};
        const Words fetching{"-o", roots_.front(), "tree"};
        auto command = words(saves ? "save" : "fetch", group);
        command.insert(command.end(), saves ? saving.begin() : fetching.begin(), saves ? saving.end() : fetching.end());
        return ended(command, saves ? giver : taker, {&first, &second});
    }
    // The outcome of a client; then its servers are killed.
    tools::Outcome ended(const Words& words, const Surroundings& in, const std::vector<Serving*>& servers) const {
        tools::Outcome outcome;
        for (const auto* server : servers) EXPECT_FALSE(server->uri().empty());
        Process client(words, in);
        std::ofstream(on_ + ".new") << client.pid();
        fs::rename(on_ + ".new", on_);
        const auto exit = client.wait();
        EXPECT_TRUE(exit) << "the client hangs: " << client.err();
        outcome.exit = exit.value_or(-1);
        outcome.err = client.err();
        for (auto* server : servers) {
            server->process().send(SIGKILL);
            EXPECT_TRUE(server->process().wait());
        }
        fs::remove(on_);
        return outcome;
    }
    void crash() {
        const auto exposed = draw_exposed(random_);
        // Where the client itself takes the tree, the server that gives it kills it.
        const bool fetches = command_ == Command::fetch || command_ == Command::fetch_from_group;
        const bool gives = exposed == Exposed::giver || (exposed == Exposed::client && fetches);
        const auto in = faults(exposed);
        const auto outcome = attempt(gives ? in : Surroundings(), gives ? watched() : in);
        EXPECT_NE(outcome.exit, 15) << outcome.err;
        for (const auto& root : roots_) {
            auto there = read_tree(root);
            // What the source does not have goes only when all that it has is there.
            if (there.erase(extraneous_) == 0 && deletes_) {
                EXPECT_EQ(find_unfinished(there, tree_, older_), "") << outcome.err;
            }
            EXPECT_EQ(find_broken(there, tree_, older_), "") << outcome.err;
            expect_bounded(root);
        }
        if (sync_ != "none") {
            EXPECT_FALSE(fs::exists(unsynced_)) << "a file had its name before it was synced";
        }
    }
    // There are no more unfinished files than the tree has, with a journal each, and no more bytes than the tree and
    // 1 MiB more.
    void expect_bounded(const std::string& root) const {
        std::uint64_t bytes = 0;
        std::uint64_t all = 0;
        const auto files = unfinished_in(root);
        for (const auto& [name, content] : tree_) all += content.size();
        for (const auto& file : files) {
            std::error_code link;  // that leads nowhere
            const auto size = fs::file_size(file, link);
            if (!link) bytes += size;
        }
        EXPECT_LE(bytes, all + (1 << 20));
        EXPECT_LE(files.size(), 2 * tree_.size());  // each staged file has a journal
    }
    void finish() {
        const auto last = attempt({}, {});
        EXPECT_EQ(last.exit, 0) << last.err;
        for (const auto& root : roots_) {
            EXPECT_EQ(find_unfinished(read_tree(root), tree_, older_), "");
            EXPECT_EQ(unfinished_in(root), std::vector<fs::path>{}) << "nothing is left of what was finished";
        }
        // Those of a group place each name by itself.
        if (command_ == Command::save_on_group || command_ == Command::fetch_from_group) return;
        for (const auto& [name, content] : tree_) {
            const auto first = first_name_of(tree_, name);
            if (first.empty()) continue;
            EXPECT_TRUE(fs::equivalent(roots_.front() + "/" + first, roots_.front() + "/" + name)) << name;
        }
    }

    std::mt19937_64 random_;
    support::Folder folder_{support::memory_folder()};
    const std::string on_ = folder_.at("on");
    const std::string unsynced_ = folder_.at("unsynced");
    const std::string extraneous_ = "tree/in no source";
    const Command command_ = draw_command(random_);
    const std::string sync_ = draw_sync(random_);
    const std::string listen_ = random_() % 2 == 0 ? "tcp://127.0.0.1:0" : "shm://";  // not of a group
    const bool push_ = random_() % 2 == 0 && command_ == Command::save;
    const bool deletes_ = random_() % 2 == 0 && (command_ == Command::save || command_ == Command::fetch);
    // The folders that have the tree, and those that get it.
    const Words sources_ = command_ == Command::fetch_from_group ? Words{folder_.at("source"), folder_.at("copy")}
                                                                 : Words{folder_.at("source")};
    const Words roots_ =
        command_ == Command::save_on_group ? Words{folder_.at("root"), folder_.at("other")} : Words{folder_.at("root")};
    const Contents tree_ = make_tree(random_);
    const Contents older_ = make_older(tree_, random_);
};

TEST(Crash, WhateverIsKilledOrFailsEveryNameIsWholeAndTheSameCommandFinishes) {
    if (support::address_sanitizer || support::thread_sanitizer)
        GTEST_SKIP() << "what is loaded before the C library does not go with a sanitizer";
    test::for_each_seed([](std::uint64_t seed) { Round(seed).run(); }, 10, 15);
}

// So that the rounds see a missing sync.
TEST(Crash, OnlyWithoutSyncAFileGetsItsNameBeforeItIsSynced) {
    if (support::address_sanitizer || support::thread_sanitizer)
        GTEST_SKIP() << "what is loaded before the C library does not go with a sanitizer";
    const support::Folder folder;
    const auto small = folder.put("small", support::pattern(1000));
    const auto large = folder.put("large", support::pattern(5u << 20));
    for (const std::string sync : {"each", "batch", "none"}) {
        const auto unsynced = folder.at("unsynced-" + sync);
        const auto root = folder.at("root-" + sync);
        fs::create_directory(root);
        Surroundings in;
        in.environment = {"LD_PRELOAD=" CINNABAR_FAULTS, "CINNABAR_UNSYNCED=" + unsynced};
        Serving serving(root, {}, in);
        const auto saved = tools::run({"save", "-q", "--sync=" + sync, small, large, serving.uri()});
        EXPECT_EQ(saved.exit, 0) << saved.err;
        EXPECT_EQ(fs::exists(unsynced), sync == "none") << sync;
    }
}

}  // namespace
}  // namespace cinnabar::crash
