// SPDX-License-Identifier: BSD-3-Clause
// Space that is reserved on disk before the first byte of a file.
#include "file/staging.hpp"
#include "support/content.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace cinnabar::files {
namespace {

constexpr std::uint64_t reserve_file_bytes = 16u << 20;
constexpr std::uint32_t reserve_block = 1u << 20;
constexpr Resumable reserve_by_blocks{reserve_block, false, std::chrono::milliseconds(0)};

struct ReserveTest : testing::Test {
    support::Folder folder;
    std::string base = folder.at("root");
    std::filesystem::path part = std::filesystem::path(base) / staging_folder / staged_names_of("a").part;

    void SetUp() override {
        std::filesystem::create_directory(base);
        struct statfs system {};
        const UniqueFd file(::open(folder.at("try").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        ASSERT_EQ(::fstatfs(file.get(), &system), 0);
        if (system.f_type == TMPFS_MAGIC || ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, reserve_block) != 0)
            GTEST_SKIP() << "the file system of " << base << " reserves nothing";
    }
    [[nodiscard]] std::uint64_t on_disk() const {
        struct stat status {};
        EXPECT_EQ(::stat(part.c_str(), &status), 0);
        return static_cast<std::uint64_t>(status.st_blocks) * 512;
    }
    static NewFile begin(const Root& root, const Resumable& how = reserve_by_blocks) {
        return root.create("a", reserve_file_bytes, 0644, Existing::keep, how).value();
    }
    static void write(NewFile& file, std::uint64_t from, std::uint64_t to) {
        const auto content = support::pattern(reserve_block);
        for (auto i = from; i < to; ++i) ASSERT_TRUE(file.write(i * reserve_block, as_bytes(content)).ok());
    }
};

TEST_F(ReserveTest, AllOfAFileHasRoomBeforeItsFirstByte) {
    const auto root = Root::serve(base).value();
    auto file = begin(root);
    EXPECT_GE(on_disk(), reserve_file_bytes);
    EXPECT_EQ(std::filesystem::file_size(part), 0u) << "the size tells how much is written";
    write(file, 0, reserve_file_bytes / reserve_block);
    ASSERT_TRUE(file.commit().ok());
    EXPECT_EQ(std::filesystem::file_size(folder.at("root/a")), reserve_file_bytes);
}

// Reserved space cannot be used by others, so writes to it do not check the free space again.
TEST_F(ReserveTest, ReservedRoomIsNotCountedTwice) {
    Result<NewFile> file = Errc::no_space;
    for (unsigned tries = 0; !file && tries < 100; ++tries) {  // other processes may use this disk, too
        const auto kept = std::filesystem::space(base).available - reserve_file_bytes - reserve_block / 2;
        const auto root = Root::serve(base, {.bytes = kept, .files = 0}).value();
        file = root.create("a", reserve_file_bytes, 0644, Existing::keep, reserve_by_blocks);
    }
    ASSERT_TRUE(file.ok()) << file.error().message();
    write(*file, 0, reserve_file_bytes / reserve_block);
    EXPECT_TRUE(file->commit().ok());
}

TEST_F(ReserveTest, TwoFilesAtOnceDoNotTakeTheRoomThatIsKept) {
    constexpr std::uint64_t large = 1u << 30;
    const auto available = std::filesystem::space(base).available;
    if (available < 4 * large) GTEST_SKIP() << "too little room";
    const auto root = Root::serve(base, {.bytes = available - large - large / 2, .files = 0}).value();
    std::vector<std::thread> savers;
    std::atomic<unsigned> have_room{0};
    std::atomic<unsigned> ready{0};
    for (int i = 0; i < 4; ++i) {
        savers.emplace_back([&, name = std::to_string(i)] {
            for (++ready; ready < 4;) std::this_thread::yield();
            const auto file = root.create(name, large, 0644, Existing::keep);
            if (file) ++have_room;
            for (++ready; ready < 8;) std::this_thread::yield();  // the file keeps its room until all have tried
        });
    }
    for (auto& saver : savers) saver.join();
    EXPECT_LE(have_room, 1u);
}

TEST_F(ReserveTest, WhatIsLeftOfAnInterruptedFileKeepsNoRoom) {
    const auto root = Root::serve(base).value();
    auto file = begin(root);
    write(file, 0, 3);
    file.park();
    EXPECT_LT(on_disk(), 4 * reserve_block);
    file = begin(root);
    EXPECT_EQ(file.resumed_bytes(), 3 * reserve_block);
    EXPECT_GE(on_disk(), reserve_file_bytes) << "it goes on, and has room for all of it again";
}

TEST_F(ReserveTest, ASparseFileHasRoomForNothing) {
    const auto root = Root::serve(base).value();
    const auto file = begin(root, {reserve_block, true, std::chrono::milliseconds(0)});
    EXPECT_LT(on_disk(), reserve_block);
}

TEST_F(ReserveTest, WhatAKilledServerReservedIsGivenBackAndItsAgeStays) {
    ASSERT_FALSE(std::filesystem::exists(part));
    const auto killed = ::fork();
    if (killed == 0) {
        const auto root = Root::serve(base).value();
        auto file = begin(root);
        write(file, 0, 3);
        if (const auto journal = file.due_journal()) journal->checkpoint();
        ::_exit(0);
    }
    int how = 0;
    ASSERT_EQ(::waitpid(killed, &how, 0), killed);
    ASSERT_GE(on_disk(), reserve_file_bytes);
    const timespec times[2] = {{0, UTIME_OMIT}, {::time(nullptr) - 3600, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, part.c_str(), times, 0), 0);
    const auto root = Root::serve(base).value();
    EXPECT_LT(on_disk(), 4 * reserve_block);
    const auto remains = root.list_remains();
    ASSERT_EQ(remains.size(), 1u);
    EXPECT_EQ(remains[0].kept_bytes, 3 * reserve_block);
    EXPECT_GE(remains[0].age_seconds, 3600u);
}

}  // namespace
}  // namespace cinnabar::files
