// SPDX-License-Identifier: BSD-3-Clause
// What the servers of a group have together.
#include "spread/union.hpp"

#include <gtest/gtest.h>

namespace cinnabar::tools::spread {
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

TEST(UnionOfServers, CopiesDifferInSizeModeOrKind) {
    auto link = file_entry(0644, 5);
    link.kind = files::EntryKind::link;
    for (const auto& other : {file_entry(0600, 5), file_entry(0644, 6), link}) {
        Union all;
        all.add(file_entry(0644, 5), 1);
        all.add(other, 2);
        EXPECT_TRUE(all.by_name().at("file").differ);
    }
}

}  // namespace
}  // namespace cinnabar::tools::spread
