// SPDX-License-Identifier: BSD-3-Clause
// Holes that are smaller than a window: what lies in them is not sent, in either direction.
#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

constexpr std::size_t holes_block = compared_block_bytes;
constexpr std::size_t holes_window = 1u << 20;

TEST(ZeroBlocks, HaveTheChecksumsOfZeros) {
    for (const std::size_t bytes : {std::size_t{1}, holes_block - 1, holes_block, holes_block + 1, holes_window + 5}) {
        const std::string zeros(bytes, '\0');
        EXPECT_EQ(zero_block_checksums(bytes), block_checksums(as_bytes(zeros), bytes)) << bytes;
        EXPECT_EQ(zero_block_bytes(as_bytes(zeros)), bytes);
    }
    EXPECT_TRUE(zero_block_checksums(0).empty());
}

TEST(ZeroBlocks, AreThoseWithoutAnyOtherByte) {
    std::string content(3 * holes_block + 7, '\0');
    content[holes_block] = 'x';
    EXPECT_EQ(zero_block_bytes(as_bytes(content)), 2 * holes_block + 7);
    content[3 * holes_block - 1] = 'x';
    EXPECT_EQ(zero_block_bytes(as_bytes(content)), holes_block + 7);
    content.back() = 'x';
    EXPECT_EQ(zero_block_bytes(as_bytes(content)), holes_block);
}

TEST(ZeroBlocks, AreFoundByTheirChecksums) {
    std::string content(3 * holes_block + 7, '\0');
    content[holes_block] = 'x';
    EXPECT_EQ(zero_bytes_by(block_checksums(as_bytes(content), content.size()), content.size()), 2 * holes_block + 7);
    EXPECT_EQ(zero_bytes_by({}, content.size()), 0u);
    EXPECT_EQ(zero_bytes_by(block_checksums(as_bytes(content), content.size()), 0), 0u) << "a window of no bytes";
}

enum class HolesWay : std::uint8_t { pull, push, fetch };

// The first window of the file has bytes in three of its blocks, the second one in all, and the third one, which is
// short, in none.
struct HolesTest : testing::TestWithParam<HolesWay> {
    Folder folder;
    std::unique_ptr<Server> server;
    std::optional<hl::Node> there;
    std::optional<hl::Node> here;
    std::optional<Client> client;
    std::string content = std::string(2 * holes_window + 5000, '\0');
    static constexpr std::size_t data_bytes = 3 * holes_block + holes_window;

    void SetUp() override {
        fs::create_directory(folder.at("here"));
        fs::create_directory(folder.at("root"));
        server = Server::make(Root::serve(folder.at("root")).value(), std::nullopt).value();
        there = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server->serve_on(*there).ok());
        here = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client.emplace(*here, here->lookup(there->endpoints().front()).value(), nullptr);
        ASSERT_TRUE(hl::sync_wait(client->open()).ok());
        make_source();
    }
    void TearDown() override {
        EXPECT_TRUE(hl::sync_wait(client->close()).ok());
        client.reset();
        here.reset();
        there.reset();
    }
    [[nodiscard]] std::string source() const { return GetParam() == HolesWay::fetch ? "root/a" : "here/a"; }
    [[nodiscard]] std::string target() const { return GetParam() == HolesWay::fetch ? "here/a" : "root/a"; }
    void make_source() {
        (void)folder.put(source(), "");
        ASSERT_EQ(::truncate(folder.at(source()).c_str(), static_cast<off_t>(content.size())), 0);
        std::fstream file(folder.at(source()), std::ios::in | std::ios::out | std::ios::binary);
        const auto write = [&](std::size_t at, const std::string& bytes) {
            content.replace(at, bytes.size(), bytes);
            file.seekp(static_cast<std::streamoff>(at));
            file << bytes;
        };
        write(0, pattern(4096));
        write(4 * holes_block, pattern(holes_block));
        write(holes_window - 100, pattern(100));
        write(holes_window, pattern(holes_window));
    }
    Result<Moved> move(SaveMode how = {}) {
        if (GetParam() != HolesWay::fetch) {
            how.push = GetParam() == HolesWay::push;
            return hl::sync_wait(client->save(folder.at("here/a"), "a", how));
        }
        const auto into = Root::open(folder.at("here")).value();
        return hl::sync_wait(client->fetch("a", into, {.existing = how.existing}));
    }
    void expect_moved(const Result<Moved>& moved) {
        ASSERT_TRUE(moved.ok()) << moved.error().message();
        EXPECT_TRUE(folder.get(target()) == content);
        struct stat status {};
        ASSERT_EQ(::stat(folder.at(target()).c_str(), &status), 0);
        EXPECT_LT(static_cast<std::size_t>(status.st_blocks) * 512, data_bytes + (64u << 10)) << "holes stay holes";
    }
};
INSTANTIATE_TEST_SUITE_P(By, HolesTest, testing::Values(HolesWay::pull, HolesWay::push, HolesWay::fetch),
                         [](const auto& each) {
                             if (each.param == HolesWay::fetch) return "fetch";
                             return each.param == HolesWay::pull ? "pull" : "push";
                         });

TEST_P(HolesTest, OnlyBlocksWithDataAreSent) {
    const auto moved = move();
    ASSERT_NO_FATAL_FAILURE(expect_moved(moved));
    EXPECT_EQ(moved->sent_bytes, data_bytes);
    EXPECT_EQ(moved->had_bytes, 0u) << "holes were not there before";
    Checksum sum;
    sum.update(as_bytes(content));
    EXPECT_EQ(moved->checksum, sum.digest());
}

TEST_P(HolesTest, AnOlderVersionIsUsedWhereItEnds) {
    (void)folder.put(target(), content.substr(0, 4 * holes_block + 100));
    const auto moved = move({.existing = Existing::replace});
    ASSERT_NO_FATAL_FAILURE(expect_moved(moved));
    EXPECT_LE(moved->sent_bytes, data_bytes - holes_block) << "the first block was there";
    EXPECT_GE(moved->sent_bytes, data_bytes - 2 * holes_block);
}

TEST_P(HolesTest, AnOlderVersionWithDataInTheHolesIsReplaced) {
    (void)folder.put(target(), pattern(holes_window + 3 * holes_block + 1));
    expect_moved(move({.existing = Existing::replace}));
}

TEST_P(HolesTest, WithoutChecksumsNothingIsCompared) {
    if (GetParam() == HolesWay::fetch) GTEST_SKIP() << "a fetch always has checksums";
    const auto moved = move({.checked = false});
    ASSERT_NO_FATAL_FAILURE(expect_moved(moved));
    EXPECT_EQ(moved->sent_bytes, 2 * holes_window);
}

}  // namespace
}  // namespace cinnabar::files
