// SPDX-License-Identifier: BSD-3-Clause
// Files of 16 GiB with holes, and of 6 GiB without, are saved and fetched, and the memory of both sides is checked.
// Only if CINNABAR_LARGE_FILES is set, as in `./dev test --full`: it takes minutes on a small machine, and space for
// two dense files.
#include "process.hpp"
#include "support/content.hpp"

#include <cinnabar/base/unique_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace cinnabar::tools {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
// More than 32 bits can count, signed or unsigned, and not a multiple of the window.
constexpr std::uint64_t odd_bytes = (3 << 20) + 12'345;
constexpr std::uint64_t sparse_bytes = 16 * gib + odd_bytes;
constexpr std::uint64_t dense_bytes = 6 * gib + odd_bytes;
// Buffers take 32 MiB at the server and 24 MiB at the client; the rest is the program with its libraries.
constexpr std::size_t memory_max = 160u << 20;
constexpr auto patience = std::chrono::minutes(20);

enum class Kind : std::uint8_t { sparse, dense };
struct Case {
    Kind kind;
    bool push;
};

void write_at(int file, const std::string& bytes, std::uint64_t at) {
    ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(at)), static_cast<ssize_t>(bytes.size()));
}

// Mostly holes, with data across borders where something could go wrong.
void write_sparse(int file) {
    ASSERT_EQ(::ftruncate(file, static_cast<off_t>(sparse_bytes)), 0);
    const auto part = pattern(3'000'000);
    for (const std::uint64_t at : {std::uint64_t{0}, 2 * gib - 1'000'001, 4 * gib - 1'000'003, 8 * gib - 1'000'005,
                                   16 * gib - 1'000'007, sparse_bytes - part.size()})
        write_at(file, part, at);
}

// Each piece differs from all others, so that none can stand in for another.
void write_dense(int file) {
    auto piece = pattern(8 << 20);
    for (std::uint64_t at = 0; at < dense_bytes; at += piece.size()) {
        std::memcpy(piece.data(), &at, sizeof at);
        piece.resize(std::min<std::uint64_t>(piece.size(), dense_bytes - at));
        write_at(file, piece, at);
    }
}

// Where the next data of the file begin; the size of the file if only a hole is left. What cannot be told is data.
std::uint64_t next_data(int file, std::uint64_t from, std::uint64_t size) {
    const off_t found = ::lseek(file, static_cast<off_t>(from), SEEK_DATA);
    if (found >= 0) return static_cast<std::uint64_t>(found);
    return errno == ENXIO ? size : from;
}

std::uint64_t bytes_on_disk(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

// Skips what is a hole in both.
bool same(const std::string& a, const std::string& b) {
    const std::uint64_t size = fs::file_size(a);
    if (size != fs::file_size(b)) return false;
    const UniqueFd first(::open(a.c_str(), O_RDONLY | O_CLOEXEC));
    const UniqueFd second(::open(b.c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<char> of_first(4 << 20);
    std::vector<char> of_second(of_first.size());
    for (std::uint64_t at = 0;;) {
        at = std::min(next_data(first.get(), at, size), next_data(second.get(), at, size));
        if (at >= size) return true;
        const ssize_t got = ::pread(first.get(), of_first.data(), of_first.size(), static_cast<off_t>(at));
        if (got <= 0 || ::pread(second.get(), of_second.data(), of_second.size(), static_cast<off_t>(at)) != got ||
            std::memcmp(of_first.data(), of_second.data(), static_cast<std::size_t>(got)) != 0)
            return false;
        at += static_cast<std::uint64_t>(got);
    }
}

struct LargeProcess : testing::TestWithParam<Case> {
    Folder folder;
    std::string root = folder.at("root");
    std::string large = folder.put("large", "");

    void SetUp() override {
        if (!std::getenv("CINNABAR_LARGE_FILES")) GTEST_SKIP() << "files of 16 GiB are for ./dev test --full";
        fs::create_directory(root);
        const bool dense = GetParam().kind == Kind::dense;
        if (fs::space(root).available < (dense ? 2 * dense_bytes + gib : gib))
            GTEST_SKIP() << "NO ROOM FOR TWO FILES OF 6 GIB BELOW " << root;
        const UniqueFd file(::open(large.c_str(), O_WRONLY | O_CLOEXEC));
        dense ? write_dense(file.get()) : write_sparse(file.get());
    }
    static void expect_done(const Words& words) {
        Process client(words);
        EXPECT_EQ(client.wait(patience), 0) << client.err();
        EXPECT_LT(client.memory_most(), memory_max);
        RecordProperty(words.front() + "_memory", std::to_string(client.memory_most()));
    }
    void expect_the_same(const std::string& copy) const {
        EXPECT_TRUE(same(large, copy));
        expect_holes(copy);
    }
    static void expect_holes(const std::string& file) {
        if (GetParam().kind == Kind::dense) return;
        EXPECT_LT(bytes_on_disk(file), gib / 8) << file << ": its holes were written";
    }
};
INSTANTIATE_TEST_SUITE_P(By, LargeProcess,
                         testing::Values(Case{Kind::sparse, false}, Case{Kind::sparse, true}, Case{Kind::dense, false},
                                         Case{Kind::dense, true}),
                         [](const auto& each) {
                             return std::string(each.param.kind == Kind::sparse ? "sparse_" : "dense_") +
                                    (each.param.push ? "push" : "pull");
                         });

TEST_P(LargeProcess, LargeFilesGoThereAndBackInBoundedMemory) {
    Serving serving(root, {"--drain", "60"});
    Words save{"save", large, serving.uri()};
    if (GetParam().push) save.insert(save.begin() + 1, "--push");
    expect_done(save);
    const std::string saved = root + "/large";
    expect_the_same(saved);
    fs::remove(large);
    expect_done({"fetch", serving.uri() + "/large", "-o", folder.path().string()});
    expect_the_same(saved);
    expect_holes(large);
    serving.process().send(SIGTERM);
    EXPECT_EQ(serving.process().wait(), 0) << serving.process().err();
    EXPECT_LT(serving.process().memory_most(), memory_max);
    RecordProperty("serve_memory", std::to_string(serving.process().memory_most()));
}

}  // namespace
}  // namespace cinnabar::tools
