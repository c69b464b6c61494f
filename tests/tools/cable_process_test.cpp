// SPDX-License-Identifier: BSD-3-Clause
// Saves and fetches over a bad cable: its connections break, stop and become slow at random points. With --wait the
// same command goes on from what is verified, until everything is there.
#include "crash/random_tree.hpp"
#include "process.hpp"
#include "relay.hpp"
#include "support/content.hpp"
#include "support/limited_path.hpp"
#include "support/seeds.hpp"

#include <gtest/gtest.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// The client connects to another port than the server's, for which there is no key.
Words open_to_all() { return {"--listen", "tcp://127.0.0.1:0", "--insecure"}; }

std::vector<CableFault> random_faults(std::mt19937_64& random) {
    constexpr std::uint64_t bytes_max = 6u << 20;
    std::vector<CableFault> faults;
    for (auto left = 1 + random() % 4; left > 0; --left) {
        CableFault fault;
        fault.kind = static_cast<CableFault::Kind>(random() % 5);
        fault.after = (64u << 10) + random() % bytes_max;
        fault.lasts = std::chrono::milliseconds(static_cast<std::int64_t>(1 + random() % 100));
        faults.push_back(fault);
    }
    return faults;
}

std::string told(const std::vector<CableFault>& faults) {
    std::string text;
    for (const auto& fault : faults)
        text += "fault " + std::to_string(static_cast<int>(fault.kind)) + " after " + std::to_string(fault.after) +
                " bytes for " + std::to_string(fault.lasts.count()) + " ms; ";
    return text;
}

void save_and_fetch(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const Folder folder(support::memory_folder());
    fs::create_directories(folder.at("source"));
    fs::create_directory(folder.at("root"));
    fs::create_directory(folder.at("back"));
    auto tree = crash::make_tree(random);
    tree["tree/large"] = pattern(5u << 20, static_cast<unsigned>(seed));  // so that faults find something to break
    crash::write_tree(tree, folder.at("source"));
    const Serving serving(folder.at("root"), open_to_all());
    const auto over_cable = [&](const std::string& what, const std::vector<CableFault>& faults, const auto& words) {
        const Relay relay(serving.uri(), faults);
        Process client(words(relay.endpoint()));
        EXPECT_EQ(client.wait(), 0) << what << ": " << client.err() << told(faults);
    };
    const bool push = random() % 2 == 0;
    over_cable("save", random_faults(random), [&](const std::string& uri) {
        Words words{"save", "-q", "--insecure", "--wait", "60", folder.at("source/tree"), uri};
        if (push) words.insert(words.begin() + 1, "--push");
        return words;
    });
    EXPECT_EQ(crash::find_unfinished(crash::read_tree(folder.at("root")), tree, {}), "") << "at the server";
    over_cable("fetch", random_faults(random), [&](const std::string& uri) {
        return Words{"fetch", "-q", "--insecure", "--wait", "60", "-o", folder.at("back"), uri + "/tree"};
    });
    EXPECT_EQ(crash::find_unfinished(crash::read_tree(folder.at("back")), tree, {}), "") << "at the client";
}

TEST(CableProcess, WhateverTheCableDoesTheSameCommandFinishes) { test::for_each_seed(save_and_fetch, 150); }

// A file that takes a second, so that a part of it is promised by a journal before it ends.
struct LongCable : testing::Test {
    Folder folder{support::memory_folder()};
    std::string root = folder.at("root");
    std::string content;
    LongCable() {
        fs::create_directory(root);
        fs::create_directory(folder.at("back"));
        const auto one = pattern(1u << 20);
        for (char i = 0; i < 24; ++i) {
            content += one;
            content[content.size() - one.size()] = i;
        }
    }
    static bool promised(const fs::path& where) {
        return eventually([&] {
            std::error_code ignored;
            for (const auto& entry : fs::directory_iterator(where, ignored)) {
                if (entry.path().extension() == ".journal" && entry.file_size(ignored) > 80) return true;
            }
            return false;
        });
    }
    // According to the summary of --json.
    static std::uint64_t had_bytes(const std::string& out) {
        constexpr std::string_view key = "\"had_bytes\": ";
        const auto at = out.rfind(key);
        std::uint64_t bytes = 0;
        if (at != out.npos) (void)std::from_chars(out.data() + at + key.size(), out.data() + out.size(), bytes);
        return bytes;
    }
    // Cuts the cable when `where` has a journal.
    static void expect_to_go_on(Process& client, Relay& relay, const fs::path& where) {
        ASSERT_TRUE(promised(where)) << client.err();
        relay.cut();
        EXPECT_EQ(client.wait(), 0) << client.out();
        EXPECT_NE(client.out().find("\"waiting\""), std::string::npos) << client.out();
        EXPECT_GT(had_bytes(client.out()), 0u) << client.out();
    }
};

TEST_F(LongCable, ASaveGoesOnFromWhatIsVerified) {
    const Serving serving(root, open_to_all());
    Relay relay(serving.uri());
    Process client({"save", "--json", "--insecure", "--wait", "60", "--rate", "24M", folder.put("large", content),
                    relay.endpoint()});
    expect_to_go_on(client, relay, root + "/.cinnabar-staging");
    EXPECT_TRUE(folder.get("root/large") == content);
}

TEST_F(LongCable, AFetchGoesOnFromWhatIsVerified) {
    (void)folder.put("root/large", content);
    const Serving serving(root, open_to_all());
    Relay relay(serving.uri());
    Process client({"fetch", "--json", "--insecure", "--wait", "60", "--rate", "24M", "-o", folder.at("back"),
                    relay.endpoint() + "/large"});
    expect_to_go_on(client, relay, folder.at("back"));
    EXPECT_TRUE(folder.get("back/large") == content);
    EXPECT_EQ(Folder::list_of(folder.at("back")), Words{"large"});
}

// On a path that limits each connection, one tells of several.
TEST(LimitedCable, TheSummaryTellsHowManyConnectionsMovedAFile) {
    constexpr double of_each = 16e6;
    const Folder folder(support::memory_folder());
    for (const char* name : {"root", "back"}) fs::create_directory(folder.at(name));
    std::string content;
    while (content.size() < (96u << 20)) content += pattern(8u << 20, static_cast<unsigned>(content.size()));
    (void)folder.put("large", content);
    const Serving serving(folder.at("root"), open_to_all());
    const support::LimitedPath path(serving.uri(), of_each);
    Process save({"save", "--json", "--insecure", folder.at("large"), path.endpoint()});
    ASSERT_EQ(save.wait(), 0) << save.err();
    const auto file = save.out().find("\"connections\": ");
    ASSERT_NE(file, std::string::npos) << save.out();
    EXPECT_NE(save.out().find("\"connections\": ", file + 1), std::string::npos) << "the summary: " << save.out();
    Process fetch({"fetch", "--insecure", "-o", folder.at("back"), path.endpoint() + "/large"});
    ASSERT_EQ(fetch.wait(), 0) << fetch.err();
    EXPECT_NE(fetch.out().find(" connections"), std::string::npos) << fetch.out();
    EXPECT_TRUE(folder.get("back/large") == content);
}

}  // namespace
}  // namespace cinnabar::tools
