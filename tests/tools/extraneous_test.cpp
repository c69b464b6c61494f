// SPDX-License-Identifier: BSD-3-Clause
// What --delete would remove, in folders that the test makes up.
#include "commands/extraneous.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::tools {
namespace {

using files::Entry;
using files::EntryKind;
using files::Listing;
using Names = std::vector<std::string>;

struct ExtraneousTest : testing::Test {
    SourceNames source;
    files::Filter filter;
    std::map<std::string, Result<Listing>> there;
    Names listed;
    std::vector<std::pair<std::string, Errc>> failed;

    // A folder of the receiving side; names that end in '/' are folders, in '@' links.
    void put(const std::string& folder, const Names& names, std::uint32_t mode = 0755) {
        Listing listing;
        listing.attributes.mode = mode;
        for (auto name : names) {
            Entry entry;
            if (name.ends_with('/')) entry.kind = EntryKind::folder;
            if (name.ends_with('@')) entry.kind = EntryKind::link;
            if (entry.kind != EntryKind::file) name.pop_back();
            entry.name = name;
            listing.entries.push_back(std::move(entry));
        }
        there.insert_or_assign(folder, std::move(listing));
    }
    Result<Deletion> find(std::optional<std::uint64_t> limit = {}) {
        listed.clear();
        const ListBelow list = [this](const std::string& name, const std::string& given) {
            EXPECT_TRUE(given.empty() || name == given || name.starts_with(given + "/")) << name;
            return answer(name);
        };
        const CannotList cannot = [this](const std::string& name, const Error& error) {
            failed.emplace_back(name, error.code);
        };
        return hl::sync_wait(find_extraneous(source, filter, limit, list, cannot));
    }
    hl::Task<Result<Listing>> answer(std::string name) {
        listed.push_back(name);
        const auto found = there.find(name);
        if (found == there.end()) co_return Errc::not_found;
        co_return found->second;
    }
    static Names names_of(const Deletion& deletion) {
        Names names;
        for (const auto& entry : deletion.entries) names.push_back(entry.name);
        return names;
    }
    Names found() { return names_of(find().value()); }
};

TEST_F(ExtraneousTest, WhatIsInAFolderComesBeforeIt) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}, {"t/d", {}}};
    source.others = {"t/a", "t/d/b"};
    put("t", {"a", "d/", "gone/", "x", "link@"});
    put("t/d", {"b", "c"});
    put("t/gone", {"a", "deep/"});
    put("t/gone/deep", {"file"});
    EXPECT_EQ(found(), (Names{"t/gone/deep/file", "t/d/c", "t/gone/a", "t/gone/deep", "t/gone", "t/link", "t/x"}));
    EXPECT_EQ(listed, (Names{"t", "t/d", "t/gone", "t/gone/deep"})) << "no link is entered";
    const auto changed = find().value().changed;
    ASSERT_EQ(changed.size(), 2u) << "of the folders that stay";
    EXPECT_EQ(changed[0].name, "t/d");
    EXPECT_EQ(changed[1].name, "t");
}

TEST_F(ExtraneousTest, OnlyGivenFoldersAreCleaned) {
    source.others = {"file"};
    put("", {"file", "other"});
    EXPECT_EQ(found(), Names{});
    EXPECT_EQ(listed, Names{});
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}};
    put("t", {"x"});
    EXPECT_EQ(found(), Names{"t/x"});
    EXPECT_EQ(listed, Names{"t"});
}

TEST_F(ExtraneousTest, FoldersThatLieInEachOtherAreListedOnce) {
    source.given = {{"", ""}, {"t", "t/"}};
    source.folders = {{"t", {}}};
    source.others = {"file", "t/a"};
    put("", {"file", "x", "t/"});
    put("t", {"a", "y"});
    EXPECT_EQ(found(), (Names{"t/y", "x"}));
    EXPECT_EQ(listed.size(), 2u);
}

// As in rsync: a folder with something in it that is kept stays as well.
TEST_F(ExtraneousTest, WhatTheFilterExcludesIsKept) {
    source.given = {{"far/t", "t/"}};
    source.folders = {{"far/t", {}}};
    ASSERT_TRUE(filter.add(files::Filter::Verdict::exclude, "*.keep").ok());
    ASSERT_TRUE(filter.add(files::Filter::Verdict::exclude, "/t/cache/").ok());
    put("far/t", {"a.keep", "cache/", "gone/", "all/", "b"});
    put("far/t/gone", {"deep/", "x"});
    put("far/t/gone/deep", {"c.keep", "y"});
    put("far/t/all", {"cache/"});
    put("far/t/all/cache", {"z"});
    EXPECT_EQ(found(), (Names{"far/t/all/cache/z", "far/t/gone/deep/y", "far/t/all/cache", "far/t/gone/x", "far/t/all",
                              "far/t/b"}));
}

TEST_F(ExtraneousTest, UnfinishedFilesAreKept) {
    source.given = {{"", ""}};
    put("", {".cinnabar-0123456789abcdef.part", ".cinnabar-0123456789abcdef.journal", ".cinnabar-staging/", "gone/"});
    put("gone", {".cinnabar-00000000ffffffff.part", ".cinnabar-0123456789abcdef.part/", ".cinnabar-mine.part"});
    EXPECT_EQ(found(), (Names{"gone/.cinnabar-0123456789abcdef.part", "gone/.cinnabar-mine.part"}))
        << "a folder of such a name is none, and who has another name is none either";
}

TEST_F(ExtraneousTest, ANameThatTheSourceHasStaysWhateverItIs) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}, {"t/d", {}}};
    source.others = {"t/a"};
    put("t", {"a/", "d@"});
    put("t/a", {"x"});
    put("t/d", {"y"});
    EXPECT_EQ(found(), Names{});
    EXPECT_EQ(listed, Names{"t"});
}

TEST_F(ExtraneousTest, AListingThatFailsRemovesNothing) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}};
    put("t", {"a", "gone/", "vanished/"});
    put("t/gone", {"b"});
    EXPECT_EQ(found().size(), 4u) << "a folder that vanished meanwhile has nothing";
    there.insert_or_assign("t/gone", Result<Listing>(Errc::permission));
    const auto refused = find();
    ASSERT_TRUE(refused.ok());
    EXPECT_TRUE(refused->entries.empty());
    EXPECT_EQ(failed, (std::vector<std::pair<std::string, Errc>>{{"t/gone", Errc::permission}}));
    there.insert_or_assign("t/gone", Result<Listing>(Errc::peer_lost));
    EXPECT_EQ(find().code(), Errc::peer_lost);
    EXPECT_EQ(failed.size(), 1u);
}

TEST_F(ExtraneousTest, ALimitKeepsTheRestAndEachFolderOfIt) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}};
    put("t", {"a", "gone/"});
    put("t/gone", {"b", "c"});
    const auto two = find(2).value();
    EXPECT_EQ(names_of(two), (Names{"t/gone/b", "t/gone/c"}));
    EXPECT_EQ(two.left, 2u);
    EXPECT_TRUE(two.changed.empty()) << "nothing of it lies in a folder that stays";
    EXPECT_EQ(find(0).value().left, 4u);
    EXPECT_EQ(find(4).value().left, 0u);
}

TEST_F(ExtraneousTest, FoldersThatTheirOwnerMayNotWriteToAreOpened) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}, {"t/d", {}}};
    put("t", {"d/", "gone/"}, 0500);
    put("t/d", {}, 0500);
    put("t/gone", {"b"}, 0500);
    const auto all = find().value();
    EXPECT_EQ(all.closed, (Names{"t", "t/gone"})) << "nothing is removed in t/d";
    ASSERT_EQ(all.changed.size(), 1u);
    EXPECT_EQ(all.changed[0].name, "t");
}

TEST_F(ExtraneousTest, AFolderThatStaysIsClosedAgain) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}};
    put("t", {"gone/"});
    put("t/gone", {"b"}, 0500);
    const auto one = find(1).value();
    EXPECT_EQ(names_of(one), Names{"t/gone/b"});
    EXPECT_EQ(one.closed, Names{"t/gone"});
    ASSERT_EQ(one.changed.size(), 1u);
    EXPECT_EQ(one.changed[0].name, "t/gone") << "the limit keeps it";
    EXPECT_EQ(one.changed[0].attributes.mode, 0500u);
    ASSERT_TRUE(filter.add(files::Filter::Verdict::exclude, "*.keep").ok());
    put("t/gone", {"b", "c.keep"}, 0500);
    EXPECT_EQ(find().value().changed.at(0).attributes.mode, 0500u) << "something in it is kept";
}

TEST_F(ExtraneousTest, FoldersOfEqualDepthAreOpenedAndFinishedTogether) {
    source.given = {{"t", "t/"}};
    source.folders = {{"t", {}}, {"t/a", {}}, {"t/a/x", {}}, {"t/b", {}}, {"t/b/x", {}}};
    put("t", {"a/", "b/"});
    for (const char* folder : {"t/a", "t/b"}) put(folder, {"x/", "gone"}, 0500);
    for (const char* folder : {"t/a/x", "t/b/x"}) put(folder, {"gone"}, 0500);
    const auto deletion = find().value();
    EXPECT_EQ(deletion.closed, (Names{"t/b", "t/a", "t/b/x", "t/a/x"})) << "outer ones first";
    Names changed;
    for (const auto& folder : deletion.changed) changed.push_back(folder.name);
    EXPECT_EQ(changed, (Names{"t/a/x", "t/b/x", "t/a", "t/b"}));
}

// A server could report endlessly nested folders.
TEST_F(ExtraneousTest, ANameThatIsTooLongIsKept) {
    const std::string part(250, 'x');
    source.given = {{"", ""}};
    std::string folder;
    for (std::size_t bytes = 0; bytes <= files::name_bytes_max; bytes += part.size() + 1) {
        put(folder, {part + "/"});
        folder += (folder.empty() ? "" : "/") + part;
    }
    EXPECT_EQ(found(), Names{}) << "each has something in it that is kept";
    EXPECT_EQ(listed.size(), 17u) << "the top, and 16 folders whose names are possible";
}

}  // namespace
}  // namespace cinnabar::tools
