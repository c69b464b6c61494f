// SPDX-License-Identifier: BSD-3-Clause
// A folder with a million names is listed, parts of it are saved and fetched by patterns, and it is removed, in bounded
// memory and time. Only if CINNABAR_MANY_NAMES is set, as in `./dev test --full`: it takes minutes on a small machine,
// and an inode for each name.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;

constexpr std::uint64_t names_wanted = 1'000'000;
constexpr std::uint64_t names_at_least = 200'000;
// In memory, an inode and a name take about 1 KiB.
constexpr std::uint64_t memory_of_inode = 2048;
// The server holds one page of a listing. Its buffers take 32 MiB; the rest is the program with its libraries.
constexpr std::size_t server_memory_max = 160u << 20;
// A client holds the listing of a folder as a whole, up to twice while it grows, at about 150 bytes an entry.
constexpr std::size_t memory_of_name = 400;
constexpr auto names_patience = std::chrono::minutes(10);

std::uint64_t free_inodes(const fs::path& at) {
    struct statvfs status {};
    if (::statvfs(at.c_str(), &status) != 0) return 0;
    if (status.f_files == 0) return std::numeric_limits<std::uint64_t>::max();  // made as they are needed
    const std::uint64_t kept = status.f_files / 50;                             // the server keeps a hundredth
    return status.f_favail > kept ? status.f_favail - kept : 0;
}

std::uint64_t available_memory() {
    std::ifstream lines("/proc/meminfo");
    std::string word;
    std::uint64_t kilobytes = 0;
    while (lines >> word) {
        if (word == "MemAvailable:" && lines >> kilobytes) return kilobytes * 1024;
    }
    return 0;
}

// Where the folder is made: in memory, if that has room for all names.
fs::path place_of_names() {
    const fs::path memory = "/dev/shm";
    const bool room = fs::exists(memory) && free_inodes(memory) > names_wanted &&
                      available_memory() > names_wanted * memory_of_inode;
    return room ? memory : fs::temp_directory_path();
}

struct ManyNames : testing::Test {
    Folder folder{place_of_names()};
    std::string root = folder.at("root");
    std::uint64_t names = names_wanted;

    void SetUp() override {
        if (!std::getenv("CINNABAR_MANY_NAMES")) GTEST_SKIP() << "a million names are for ./dev test --full";
        if (free_inodes(folder.path()) < names + names / 10) names = names_at_least;
        if (free_inodes(folder.path()) < names + names / 10)
            GTEST_SKIP() << "NO INODES FOR " << names << " NAMES BELOW " << root;
        if (names < names_wanted)
            std::cout << "ONLY " << names << " NAMES: THERE ARE NO INODES FOR MORE BELOW " << root << "\n";
        fs::create_directories(root + "/many");
        const UniqueFd many(::open((root + "/many").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        for (std::uint64_t i = 0; i < names; ++i) {
            const UniqueFd file(::openat(many.get(), name_of(i).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
            ASSERT_GE(file.get(), 0) << i;
        }
    }
    // Of seven digits.
    static std::string name_of(std::uint64_t number) { return std::to_string(10'000'000 + number).substr(1); }
    static std::uint64_t count_in(const std::string& path) {
        return static_cast<std::uint64_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator()));
    }
    // Returns what the command says.
    std::string expect_done(const Words& words) const {
        Process client(words);
        EXPECT_EQ(client.wait(names_patience), 0) << words.front() << ": " << client.err();
        EXPECT_LT(client.memory_most(), server_memory_max + names * memory_of_name) << words.front();
        RecordProperty(words.front() + "_memory", std::to_string(client.memory_most()));
        return client.out();
    }
};

TEST_F(ManyNames, AreListedMovedInPartAndRemovedInBoundedMemoryAndTime) {
    const std::uint64_t part = names / 1000;
    Serving serving(root, {"--drain", "60"});
    const auto many = serving.uri() + "/many";
    {
        const auto listed = expect_done({"list", many});
        EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(listed, '\n')), names);
        EXPECT_TRUE(listed.starts_with("0000000\n0000001\n")) << listed.substr(0, 100);
        EXPECT_TRUE(listed.ends_with(name_of(names - 1) + "\n"));
    }
    const Words some{"--include", "*000", "--exclude", "*"};
    Words save{"save", "--as", "part", root + "/many", serving.uri()};
    save.insert(save.begin() + 1, some.begin(), some.end());
    (void)expect_done(save);
    EXPECT_EQ(count_in(root + "/part"), part);
    Words fetch{"fetch", "-o", folder.at("back"), many};
    fetch.insert(fetch.begin() + 1, some.begin(), some.end());
    Words planned = fetch;
    planned.insert(planned.begin() + 1, "--dry-run");
    const auto plan = expect_done(planned);
    EXPECT_NE(plan.find(name_of(names - 1000) + "\n"), std::string::npos) << plan.substr(0, 1000);
    EXPECT_EQ(plan.find("0000001"), std::string::npos);
    EXPECT_FALSE(fs::exists(folder.at("back/many/0000000")));
    (void)expect_done(fetch);
    EXPECT_EQ(count_in(folder.at("back/many")), part);
    (void)expect_done({"remove", "-r", many});
    EXPECT_FALSE(fs::exists(root + "/many"));
    EXPECT_EQ(count_in(root + "/part"), part);
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait(names_patience), 0) << serving.process().err();
    EXPECT_LT(serving.process().memory_most(), server_memory_max);
    RecordProperty("serve_memory", std::to_string(serving.process().memory_most()));
}

}  // namespace
}  // namespace cinnabar::tools
