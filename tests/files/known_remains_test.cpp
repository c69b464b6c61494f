// SPDX-License-Identifier: BSD-3-Clause
// What tells that a staged file and a source were not changed, and what a server remembers by it.
#include "session/known_remains.hpp"

#include "file/dated.hpp"
#include "session/source_mark.hpp"
#include "support/content.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/remains.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

namespace cinnabar::files {
namespace {

KnownRemains::Sender sender_number(std::uint8_t number, const std::string& client = "key:ann") {
    SourceMark mark{};
    mark[0] = number;
    return {client, mark};
}

FileStamp stamp_number(std::uint64_t number) {
    FileStamp stamp;
    stamp.inode = number;
    return stamp;
}

KnownRemains::Part arrived(const std::string& content) {
    Checksum sum;
    sum.update(as_bytes(content));
    return {content.size(), std::move(sum)};
}

TEST(KnownRemains, AreTakenOnce) {
    KnownRemains known;
    known.put("a", stamp_number(1), sender_number(1), arrived("content"));
    const auto part = known.take("a", stamp_number(1), sender_number(1));
    ASSERT_TRUE(part);
    EXPECT_EQ(part->bytes, 7u);
    EXPECT_EQ(part->sum.digest(), xxh3(as_bytes(std::string("content"))));
    EXPECT_FALSE(known.take("a", stamp_number(1), sender_number(1)));
}

TEST(KnownRemains, AreForgottenIfOneSideHasChanged) {
    for (const bool source : {false, true}) {
        KnownRemains known;
        known.put("a", stamp_number(1), sender_number(1), arrived("content"));
        EXPECT_FALSE(known.take("a", stamp_number(source ? 1 : 2), sender_number(source ? 2 : 1)));
        EXPECT_FALSE(known.take("a", stamp_number(1), sender_number(1)));
    }
}

TEST(KnownRemains, AreOfOneClient) {
    KnownRemains known;
    known.put("a", stamp_number(1), sender_number(1, "key:bob"), arrived("content"));
    EXPECT_FALSE(known.take("a", stamp_number(1), sender_number(1)));
}

TEST(KnownRemains, WithoutAMarkNothingIsKnown) {
    KnownRemains known;
    known.put("a", stamp_number(1), {"key:ann", {}}, arrived("content"));
    EXPECT_FALSE(known.take("a", stamp_number(1), {"key:ann", {}}));
    known.put("a", stamp_number(1), sender_number(1), arrived(""));
    EXPECT_FALSE(known.take("a", stamp_number(1), sender_number(1))) << "nothing of it had arrived";
}

TEST(KnownRemains, OfMoreThanAreKeptTheOldestAreForgotten) {
    KnownRemains known;
    const auto name = [](std::size_t i) { return std::to_string(remains_max - i); };  // the order is not that of names
    for (std::size_t i = 0; i <= remains_max; ++i) known.put(name(i), stamp_number(i), sender_number(1), arrived("c"));
    EXPECT_FALSE(known.take(name(0), stamp_number(0), sender_number(1)));
    for (std::size_t i = 1; i <= remains_max; ++i)
        EXPECT_TRUE(known.take(name(i), stamp_number(i), sender_number(1))) << i;
}

struct DatedTest : testing::Test {
    support::Folder folder{support::memory_folder()};
    UniqueFd file{::open(folder.at("a").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};

    [[nodiscard]] FileStamp stamp() const {
        struct stat status {};
        EXPECT_EQ(::fstat(file.get(), &status), 0);
        return stamp_of(status);
    }
    void write(char byte) const { ASSERT_EQ(::pwrite(file.get(), &byte, 1, 0), 1); }
};

// Without the wait, several of these changes would have one time.
TEST_F(DatedTest, AChangeAfterTheFinalStampGivesAnother) {
    write('0');
    ASSERT_TRUE(dates_changes(file.get(), stamp())) << "these tests need tmpfs at /dev/shm";
    for (int i = 0; i < 50; ++i) {
        write('1');
        const auto before = final_stamp(file.get());
        ASSERT_TRUE(before);
        EXPECT_EQ(*before, stamp()) << "to be looked at is no change";
        write('2');
        EXPECT_NE(*before, stamp()) << i;
    }
}

TEST_F(DatedTest, WholeSecondsAreNoDates) {
    write('0');
    FileStamp whole = stamp();
    whole.changed_ns = 0;
    EXPECT_FALSE(dates_changes(file.get(), whole));
    const UniqueFd proc(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    EXPECT_FALSE(final_stamp(proc.get()));
}

TEST_F(DatedTest, ASourceThatWasJustWrittenHasNoMark) {
    write('0');
    EXPECT_EQ(mark_of(SourceFile::open(folder.at("a")).value(), "tcp://a:1", "a"), SourceMark{});
}

}  // namespace
}  // namespace cinnabar::files
