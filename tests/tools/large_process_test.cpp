// SPDX-License-Identifier: BSD-3-Clause
// A file of more than 4 GiB is saved and fetched, and the memory of both sides is checked. Only if CINNABAR_LARGE_FILES
// is set, as in `./dev test --full`: it takes minutes on a small machine, and space for two such files.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

// More than 32 bits can count, signed or unsigned, and not a multiple of the window.
constexpr std::uint64_t large_bytes = (std::uint64_t{4} << 30) + (3 << 20) + 12'345;
// Buffers take 32 MiB at the server and 24 MiB at the client; the rest is the program with its libraries.
constexpr std::size_t memory_max = 160u << 20;
constexpr auto patience = std::chrono::minutes(20);

struct LargeProcess : testing::TestWithParam<bool> {
    Folder folder;
    std::string root = folder.at("root");
    std::string large = folder.put("large", "");

    void SetUp() override {
        if (!std::getenv("CINNABAR_LARGE_FILES")) GTEST_SKIP() << "files of 4 GiB are for ./dev test --full";
        fs::create_directory(root);
        if (fs::space(root).available < 2 * large_bytes + (std::uint64_t{1} << 30))
            GTEST_SKIP() << "NO ROOM FOR TWO FILES OF 4 GIB BELOW " << root;
        // Mostly holes, with data across each border of 2 GiB, where something could go wrong.
        const UniqueFd file(::open(large.c_str(), O_WRONLY | O_CLOEXEC));
        ASSERT_EQ(::ftruncate(file.get(), static_cast<off_t>(large_bytes)), 0);
        const auto part = pattern(3'000'000);
        for (const std::uint64_t at : {std::uint64_t{0}, (std::uint64_t{2} << 30) - 1'000'001,
                                       (std::uint64_t{4} << 30) - 1'000'003, large_bytes - part.size()})
            ASSERT_EQ(::pwrite(file.get(), part.data(), part.size(), static_cast<off_t>(at)),
                      static_cast<ssize_t>(part.size()));
    }
    static bool same(const std::string& a, const std::string& b) {
        if (fs::file_size(a) != fs::file_size(b)) return false;
        std::ifstream first(a, std::ios::binary);
        std::ifstream second(b, std::ios::binary);
        std::vector<char> of_first(4 << 20);
        std::vector<char> of_second(of_first.size());
        while (first && second) {
            first.read(of_first.data(), static_cast<std::streamsize>(of_first.size()));
            second.read(of_second.data(), static_cast<std::streamsize>(of_second.size()));
            if (first.gcount() != second.gcount() || of_first != of_second) return false;
        }
        return true;
    }
    static void expect_done(const Words& words) {
        Process client(words);
        EXPECT_EQ(client.wait(patience), 0) << client.err();
        EXPECT_LT(client.memory_most(), memory_max);
        RecordProperty(words.front() + "_memory", std::to_string(client.memory_most()));
    }
};
INSTANTIATE_TEST_SUITE_P(By, LargeProcess, testing::Bool(),
                         [](const auto& each) { return each.param ? "push" : "pull"; });

TEST_P(LargeProcess, FilesOverFourGigabytesGoThereAndBackInBoundedMemory) {
    Serving serving(root, {"--drain", "60"});
    Words save{"save", large, serving.uri()};
    if (GetParam()) save.insert(save.begin() + 1, "--push");
    expect_done(save);
    EXPECT_TRUE(same(large, root + "/large"));
    fs::remove(large);
    expect_done({"fetch", serving.uri() + "/large", "-o", folder.path().string()});
    EXPECT_TRUE(same(large, root + "/large"));
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait(), 0) << serving.process().err();
    EXPECT_LT(serving.process().memory_most(), memory_max);
    RecordProperty("serve_memory", std::to_string(serving.process().memory_most()));
}

}  // namespace
}  // namespace cinnabar::tools
