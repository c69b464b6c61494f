// SPDX-License-Identifier: BSD-3-Clause
// What the servers of a group have together.
#include "group_files/union.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::group_files {
namespace {

files::Entry file_entry(std::uint32_t mode, std::uint64_t bytes) {
    files::Entry entry;
    entry.name = "file";
    entry.kind = files::EntryKind::file;
    entry.bytes = bytes;
    entry.attributes.mode = mode;
    return entry;
}

TEST(UnionOfServers, AServerCountsOnceForEachName) {
    Union all;
    all.add(file_entry(0644, 5), 1);
    all.add(file_entry(0644, 5), 1);
    all.add(file_entry(0644, 5), 2);
    const auto& found = all.by_name().at("file");
    EXPECT_EQ(found.copies, 2u);
    EXPECT_FALSE(found.differ);
}

TEST(UnionOfServers, AServerThatListsANameTwiceHasOneKindOfIt) {
    auto folder = file_entry(0755, 0);
    folder.kind = files::EntryKind::folder;
    Union all;
    all.add(file_entry(0644, 5), 1);
    all.add(folder, 1);
    EXPECT_TRUE(all.by_name().at("file").of_many_kinds);
}

TEST(UnionOfServers, CopiesDifferInSizeModeOrKind) {
    auto link = file_entry(0644, 5);
    link.kind = files::EntryKind::link;
    for (const auto& other : {file_entry(0600, 5), file_entry(0644, 6), link}) {
        Union all;
        all.add(file_entry(0644, 5), 1);
        all.add(other, 2);
        EXPECT_TRUE(all.by_name().at("file").differ);
        EXPECT_EQ(all.by_name().at("file").of_many_kinds, other.kind == files::EntryKind::link);
    }
}

TEST(UnionOfServers, TheLargestSizeIsKept) {
    Union all;
    all.add(file_entry(0644, 5), 1);
    all.add(file_entry(0644, 7), 2);
    all.add(file_entry(0644, 6), 3);
    EXPECT_EQ(all.by_name().at("file").entry.bytes, 5u);
    EXPECT_EQ(all.by_name().at("file").largest_bytes, 7u);
}

TEST(UnionOfServers, OfFoldersTheNewestIsKept) {
    const auto folder = [](std::int64_t modified, std::uint32_t mode) {
        auto entry = file_entry(mode, 0);
        entry.kind = files::EntryKind::folder;
        entry.attributes.modified_s = modified;
        return entry;
    };
    Union all;
    all.add(folder(5, 0755), 1);
    all.add(folder(9, 0700), 2);
    all.add(folder(7, 0711), 3);
    EXPECT_EQ(all.by_name().at("file").entry.attributes.mode, 0700u);
    EXPECT_FALSE(all.by_name().at("file").differ);
}

}  // namespace
}  // namespace cinnabar::tools::group_files
