// SPDX-License-Identifier: BSD-3-Clause
// What killed servers and fetches have left below a root is removed, and nothing else.
#include "root_fixture.hpp"

#include <cinnabar/files/name.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cinnabar::files {
namespace {

namespace fs = std::filesystem;
using support::Folder;
using support::pattern;

TEST_F(RootTest, WhatAKilledServerLeftIsRemovedAndNothingElse) {
    fs::create_directory(base / staging_folder);
    fs::permissions(base / staging_folder, fs::perms::owner_all);
    folder.put("root/.cinnabar-staging/.cinnabar-0123456789abcdef.part", "half");
    folder.put("root/.cinnabar-staging/notes", "somebody's");
    folder.put("root/.cinnabar-0123456789abcdef.part", "a user's file");
    {
        const auto root = serve();
        EXPECT_EQ(root.removed(), 1u);
    }
    EXPECT_EQ(folder.list(), (Names{"root", "root/.cinnabar-0123456789abcdef.part", "root/.cinnabar-staging",
                                    "root/.cinnabar-staging/notes"}));
}

TEST_F(RootTest, WhatKilledFetchesLeftIsRemovedAndNothingElse) {
    const std::string digits = "0123456789abcdef";
    folder.put("root/.cinnabar-" + digits + ".part", "half");
    folder.put("root/.cinnabar-" + digits + ".journal", "no journal");
    folder.put("root/.cinnabar-fedcba9876543210.journal", "alone");
    const Names others{".cinnabar-0123456789abcde.part", ".cinnabar-" + digits + "0.part", ".cinnabar-notes.part",
                       ".cinnabar-" + digits + ".parts", "a.part"};
    for (const auto& name : others) folder.put("root/" + name, "a user's file");
    fs::create_directory(base / ".cinnabar-1111111111111111.part");
    fs::create_symlink("a.part", base / ".cinnabar-2222222222222222.part");
    const auto other = Root::open(base.string()).value();
    fs::create_hard_link(base / "a.part", base / ".cinnabar-3333333333333333.part");
    const auto held = other.create("a", 4, 0644, Existing::keep).value();
    auto resumable = other.create("large", 8192, 0644, Existing::keep, {.block_bytes = 4096}).value();
    ASSERT_TRUE(resumable.write(0, as_bytes(pattern(4096))).ok());
    const auto before = folder.list();
    {
        const auto root = Root::open(base.string()).value();
        EXPECT_EQ(folder.list(), before) << "only when asked to";
        EXPECT_EQ(root.remove_leftovers(), 4u) << "a file with its journal, a journal, and two links";
    }
    EXPECT_EQ(folder.list().size(), before.size() - 5);
    EXPECT_EQ(folder.get("root/a.part"), "a user's file") << "the other name of the hard link";
    for (const auto& name : others) EXPECT_TRUE(fs::exists(base / name)) << name;
    resumable.park();
    EXPECT_EQ(other.remove_leftovers(), 0u);
    EXPECT_EQ(other.create("large", 8192, 0644, Existing::keep, {.block_bytes = 4096}).value().resumed_bytes(), 4096u);
    EXPECT_TRUE(Root::serve_read_only(base.string()).value().remove_leftovers() == 0);
}

TEST_F(RootTest, AnEmptyUnfinishedFileIsLeftOverWhateverItsJournalSays) {
    const auto root = Root::open(base.string()).value();
    auto resumable = root.create("large", 8192, 0644, Existing::keep, {.block_bytes = 4096}).value();
    ASSERT_TRUE(resumable.write(0, as_bytes(pattern(4096))).ok());
    resumable.park();
    EXPECT_EQ(root.remove_leftovers(), 0u);
    for (const auto& name : Folder::list_of(base)) {
        if (name.ends_with(".part")) fs::resize_file(base / name, 0);
    }
    EXPECT_EQ(root.remove_leftovers(), 1u);
    EXPECT_EQ(Folder::list_of(base), Names{});
}

// The name of its staged file is held meanwhile, and is free again afterwards.
TEST_F(RootTest, AJournalThatIsLeftAloneIsRemovedAndItsFileIsResumedAgain) {
    const auto root = Root::open(base.string()).value();
    const auto begin = [&] { return root.create("large", 8192, 0644, Existing::keep, {.block_bytes = 4096}).value(); };
    {
        auto killed = begin();
        ASSERT_TRUE(killed.write(0, as_bytes(pattern(4096))).ok());
        killed.park();
    }
    for (const auto& name : Folder::list_of(base)) {
        if (name.ends_with(".part")) fs::remove(base / name);
    }
    ASSERT_EQ(Folder::list_of(base).size(), 1u) << "its journal";
    EXPECT_EQ(root.remove_leftovers(), 1u);
    EXPECT_EQ(Folder::list_of(base), Names{});
    {
        auto interrupted = begin();
        EXPECT_EQ(interrupted.resumed_bytes(), 0u);
        ASSERT_TRUE(interrupted.write(0, as_bytes(pattern(4096))).ok());
        EXPECT_EQ(root.remove_leftovers(), 0u) << "it is under way";
        interrupted.park();
    }
    EXPECT_EQ(begin().resumed_bytes(), 4096u);
}

TEST_F(RootTest, UnfinishedFilesOfSomebodyElseAreNotRemoved) {
    if (::geteuid() != 0) GTEST_SKIP() << "giving a file away needs root";
    const auto path = folder.put("root/.cinnabar-0123456789abcdef.part", "half");
    ASSERT_EQ(::chown(path.c_str(), 65534, 65534), 0);
    EXPECT_EQ(Root::open(base.string()).value().remove_leftovers(), 0u);
    EXPECT_TRUE(fs::exists(path));
}

TEST_F(RootTest, AFileIsNotLeftOverWhileItIsMade) {
    const auto root = Root::open(base.string()).value();
    std::atomic<bool> over = false;
    std::thread sweeper([&] {
        while (!over) (void)root.remove_leftovers();
    });
    for (int i = 0; i < 300; ++i) {
        const auto name = std::to_string(i);
        auto small = root.create(name, name.size(), 0644, Existing::keep).value();
        EXPECT_TRUE(small.write(0, as_bytes(name)).ok());
        EXPECT_TRUE(small.commit({}, Sync::none).ok()) << name;
        auto large = root.create("large", 8192, 0644, Existing::replace, {.block_bytes = 4096}).value();
        EXPECT_TRUE(large.write(0, as_bytes(pattern(8192).substr(0, 4096))).ok());
        EXPECT_TRUE(large.write(4096, as_bytes(pattern(8192).substr(4096))).ok());
        EXPECT_TRUE(large.commit({}, Sync::none).ok());
    }
    over = true;
    sweeper.join();
    EXPECT_EQ(Folder::list_of(base).size(), 301u);
}

TEST_F(RootTest, AFileThatIsMadeIsNotLeftOverBecauseItHasAnotherName) {
    const auto root = Root::open(base.string()).value();
    auto held = root.create("a", 4, 0644, Existing::keep).value();
    for (const auto& name : Folder::list_of(base)) fs::create_hard_link(base / name, folder.at("backup"));
    EXPECT_EQ(root.remove_leftovers(), 0u);
    ASSERT_TRUE(held.write(0, as_bytes(std::string_view("text"))).ok());
    EXPECT_TRUE(held.commit().ok());
    EXPECT_EQ(folder.get("root/a"), "text");
}

// Sweeps begin only when another link was made, so that one link is not swept again and again.
TEST_F(RootTest, ALinkThatIsTakenForLeftOverIsMadeAgain) {
    const auto root = Root::open(base.string()).value();
    ASSERT_TRUE(save(root, "file", "content").ok());
    std::atomic<int> made = 0;
    std::atomic<bool> over = false;
    std::thread sweeper([&] {
        for (int seen = -1; !over;) {
            const int now = made;
            if (now != seen) (void)root.remove_leftovers();
            if (now == seen) std::this_thread::yield();
            seen = now;
        }
    });
    for (int i = 0; i < 200; ++i, ++made) {
        const auto linked = root.make_link("link-" + std::to_string(i), "anywhere", {}, Existing::keep);
        EXPECT_TRUE(linked.ok()) << i << ": " << linked.error().message();
        const auto named = root.make_hard_link("name-" + std::to_string(i), "file", Existing::keep);
        EXPECT_TRUE(named.ok()) << i << ": " << named.error().message();
    }
    over = true;
    sweeper.join();
    EXPECT_EQ(Folder::list_of(base).size(), 401u) << "and nothing else";
}

}  // namespace
}  // namespace cinnabar::files
