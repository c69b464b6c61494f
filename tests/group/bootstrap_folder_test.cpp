// SPDX-License-Identifier: BSD-3-Clause
// The files by which members find each other, and the tree layout of a call.
#include "bootstrap_folder.hpp"

#include "support/folder.hpp"

#include <cinnabar/group/layout.hpp>

#include <gtest/gtest.h>

#include <set>

namespace cinnabar::group {
namespace {

TEST(folder, a_file_of_another_run_does_not_count_and_starts_are_counted) {
    const support::Folder place;
    const std::string path = place.path().string();
    EXPECT_FALSE(announced(path, "run", 3).value());
    ASSERT_TRUE(announce(path, "before", 3, "tcp://127.0.0.1:1").ok());
    EXPECT_FALSE(announced(path, "run", 3).value());
    ASSERT_TRUE(announce(path, "run", 3, "tcp://127.0.0.1:2").ok());
    EXPECT_EQ(announced(path, "run", 3).value()->incarnation, 1u);
    ASSERT_TRUE(announce(path, "run", 3, "tcp://127.0.0.1:3,shm://x").ok());
    EXPECT_EQ(announced(path, "run", 3).value()->incarnation, 2u);
    EXPECT_EQ(announced(path, "run", 3).value()->line, "tcp://127.0.0.1:3,shm://x");
}

TEST(folder, a_member_that_starts_anew_meanwhile_is_read_again) {
    const support::Folder place;
    const std::string path = place.path().string();
    std::vector<std::string> lines(2);
    ASSERT_TRUE(announce(path, "run", 0, "tcp://127.0.0.1:1").ok());
    EXPECT_FALSE(collect(path, "run", lines).value());
    ASSERT_TRUE(announce(path, "run", 0, "tcp://127.0.0.1:2").ok());
    ASSERT_TRUE(announce(path, "run", 1, "tcp://127.0.0.1:3").ok());
    EXPECT_TRUE(collect(path, "run", lines).value());
    EXPECT_EQ(lines, (std::vector<std::string>{"tcp://127.0.0.1:2", "tcp://127.0.0.1:3"}));
}

TEST(folder, what_is_no_file_of_a_group_is_refused) {
    const support::Folder place;
    const std::string path = place.path().string();
    for (const std::string text : {"x", "cinnabar member\nrun\n1\n", "cinnabar member\nrun\nx\ntcp://a:1\n",
                                   "cinnabar member\nrun\n1\ntcp://a:1\nmore\n"}) {
        (void)place.put("member-0", text);
        EXPECT_EQ(announced(path, "run", 0).code(), Errc::protocol) << text;
    }
    (void)place.put("member-0", std::string(100'000, 'x'));
    EXPECT_EQ(announced(path, "run", 0).code(), Errc::protocol);
    EXPECT_TRUE(find_roster(path, "run", 2).value().empty());
    ASSERT_TRUE(write_roster(path, "run", {"tcp://a:1", "tcp://a:2"}).ok());
    EXPECT_EQ(find_roster(path, "run", 2).value().size(), 2u);
    EXPECT_EQ(find_roster(path, "run", 3).code(), Errc::protocol);
    EXPECT_TRUE(find_roster(path, "other", 2).value().empty());
    EXPECT_FALSE(announce(path + "/none", "run", 0, "tcp://a:1").ok());
}

TEST(layout, each_present_member_is_below_one_that_comes_before_it) {
    std::vector<Member> members(40);
    for (Rank rank = 0; rank < members.size(); ++rank) members[rank].rank = rank;
    members[7].state = State::excluded;
    const View view({}, members);
    std::set<Rank> placed{no_rank};
    for (const Placed& each : layout_of(view, Tree::k_nomial, 2)) {
        EXPECT_TRUE(placed.contains(each.above)) << each.rank;
        EXPECT_EQ(each.depth == 0, each.above == no_rank);
        EXPECT_TRUE(placed.insert(each.rank).second);
    }
    EXPECT_EQ(placed.size(), 40u);
    EXPECT_FALSE(placed.contains(7));
}

}  // namespace
}  // namespace cinnabar::group
