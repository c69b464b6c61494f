// SPDX-License-Identifier: BSD-3-Clause
// The copies of variables that a process keeps, their limits, and the position of a process in the tree of a key.
#include "variable_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace cinnabar::test {
namespace {

using group::Copy;
using group::Flight;
using group::Member;
using group::Rank;
using group::State;
using group::TreePosition;
using group::VariableCopies;
using group::Version;
using group::View;

na::Addr stranger(const char* port) { return na::Addr::parse(std::string("tcp://127.0.0.1:") + port).value(); }

Copy value_of(std::uint64_t number, std::size_t bytes, TimeUs until = 1000) {
    return {{number, 1}, 7, std::make_shared<const group::detail::Encoded>(bytes), until};
}

View view_of(const std::vector<Rank>& present, const std::vector<Rank>& gone = {}) {
    std::vector<Member> members;
    std::set<Rank> all(present.begin(), present.end());
    all.insert(gone.begin(), gone.end());
    for (const Rank rank : all) {
        const bool is_gone = std::find(gone.begin(), gone.end(), rank) != gone.end();
        members.push_back({rank, 1, is_gone ? State::excluded : State::alive, 1, {}});
    }
    return View({}, members);
}

std::vector<Rank> ranks_below(Rank count) {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < count; ++rank) ranks.push_back(rank);
    return ranks;
}

constexpr VariableCopies::Here member_at(TimeUs now, unsigned depth = 1) {
    VariableCopies::Here here;
    here.position.depth = depth;
    here.position.reign = {5, 1, 0};
    here.life = 1;
    here.now = now;
    return here;
}

TEST(position, each_member_asks_one_that_is_nearer_to_the_root) {
    for (const Rank members : {1u, 2u, 9u, 60u}) {
        const View view = view_of(ranks_below(members));
        std::set<Rank> roots;
        for (int key = 0; key < 200; ++key) {
            const std::string name = "key" + std::to_string(key);
            const Rank root = group::position_of(name, view, 0, 0).reign.root;
            roots.insert(root);
            for (Rank rank = 0; rank < members && key < 3; ++rank) {
                const TreePosition position = group::position_of(name, view, rank, 0);
                EXPECT_EQ(position.reign.root, root);
                EXPECT_EQ(position.is_root(), rank == root);
                if (position.is_root()) continue;
                EXPECT_EQ(group::position_of(name, view, position.parent, 0).depth + 1, position.depth);
            }
        }
        EXPECT_GE(roots.size(), std::min<std::size_t>(members, 30)) << "keys are spread";
    }
}

TEST(position, only_keys_of_a_member_that_goes_get_another_root_and_each_reign_is_another) {
    const View before = view_of(ranks_below(20));
    std::vector<Rank> rest = ranks_below(20);
    std::erase(rest, 4);
    const View after = view_of(rest, {4});
    int moved = 0;
    for (int key = 0; key < 500; ++key) {
        const std::string name = "key" + std::to_string(key);
        const auto was = group::position_of(name, before, 0, 0).reign;
        const auto is = group::position_of(name, after, 0, 0).reign;
        EXPECT_EQ(was == is, was.root != 4);
        moved += was.root != is.root;
        // As if rank 4 had never existed: the reign of its successor would have been another one.
        if (was.root != 4) continue;
        EXPECT_NE(is, group::position_of(name, view_of(rest), 0, 0).reign);
    }
    EXPECT_GT(moved, 5);
    EXPECT_LT(moved, 60);
}

TEST(copies, one_request_is_under_way_for_all_that_ask_from_further_below) {
    VariableCopies copies({}, 1);
    const auto first = copies.find({"key", {}, 4, stranger("1")}, member_at(0, 2));
    EXPECT_TRUE(first.fresh);
    const auto second = copies.find({"key", {}, 3, stranger("2")}, member_at(0, 2));
    EXPECT_FALSE(second.fresh);
    EXPECT_EQ(second.flight, first.flight);
    const auto above = copies.find({"key", {}, 2, stranger("3")}, member_at(0, 2));
    EXPECT_EQ(above.code, Errc::again) << "or requests could wait for each other in a circle";
    copies.end("key", *first.flight, Errc::ok, value_of(3, 10), member_at(5, 2));
    EXPECT_TRUE(first.flight->ended->is_set());
    EXPECT_EQ(copies.find({"key", {}, 4, {}}, member_at(999, 2)).copy->version.number, 3u);
    EXPECT_TRUE(copies.find({"key", {}, 4, {}}, member_at(1000, 2)).fresh) << "its time is over";
}

TEST(copies, a_copy_of_another_life_or_older_than_what_was_seen_is_not_used) {
    VariableCopies copies({}, 1);
    copies.hear("key", value_of(3, 10), {}, member_at(0));
    auto excluded_since = member_at(1);
    excluded_since.life = 2;
    EXPECT_FALSE(copies.find({"key", {}, 4, {}}, excluded_since).copy);
    EXPECT_FALSE(copies.find({"key", {4, 1}, 4, {}}, member_at(1)).copy) << "the asker has seen a newer one";
    copies.hear("key", value_of(2, 10), {}, member_at(1));
    EXPECT_EQ(copies.held("key").version.number, 3u);
    copies.hear("key", {{5, 1}, 7, nullptr, 0}, {}, member_at(1));
    EXPECT_FALSE(copies.find({"key", {}, 4, {}}, member_at(1)).copy) << "dropped";
    EXPECT_EQ(copies.seen("key").number, 5u);
}

TEST(copies, a_request_that_brings_less_than_came_meanwhile_is_made_again) {
    VariableCopies copies({}, 1);
    const auto request = copies.find({"key", {}, 4, {}}, member_at(0));
    ASSERT_TRUE(request.fresh);
    copies.hear("key", value_of(5, 10), {}, member_at(1));
    copies.end("key", *request.flight, Errc::ok, value_of(4, 10), member_at(2));
    EXPECT_EQ(request.flight->code, Errc::again);
    EXPECT_EQ(copies.find({"key", {}, 4, {}}, member_at(3)).copy->version.number, 5u);
}

TEST(copies, a_version_that_cannot_be_does_not_take_the_numbers_that_are_left) {
    VariableCopies copies({}, 1);
    copies.hear("key", value_of(~std::uint64_t{0}, 10), stranger("1"), member_at(0));
    copies.hear("key", value_of(VariableCopies::step_max + 1, 10), stranger("1"), member_at(0));
    EXPECT_EQ(copies.seen("key"), Version{});
    copies.hear("key", value_of(VariableCopies::step_max, 10), stranger("1"), member_at(0));
    EXPECT_EQ(copies.seen("key").number, VariableCopies::step_max);
}

VariableCopies::Found put(VariableCopies& copies, const std::string& key, std::size_t bytes, const na::Addr& source) {
    const auto here = member_at(0, 0);
    const VariableCopies::Asked asked{key, {}, 4, source};
    auto found = copies.put(asked, value_of(0, bytes), here);
    if (!found.flight) return found;
    copies.settle(key, *found.flight, {}, here);
    return copies.put(asked, value_of(0, bytes), here);
}

TEST(copies, keys_of_one_peer_are_half_and_those_that_this_process_uses_stay) {
    group::VariableLimits limits;
    limits.keys_max = 20;
    VariableCopies copies(limits, 1);
    for (int i = 0; i < 8; ++i) copies.hear("own" + std::to_string(i), value_of(1, 1), {}, member_at(0));
    for (int i = 0; i < 100; ++i)
        copies.hear("theirs" + std::to_string(i), value_of(1, 1), stranger("1"), member_at(0));
    EXPECT_EQ(copies.keys(), 18u) << "eight, and half of 20";
    for (int i = 0; i < 100; ++i)
        copies.hear("others" + std::to_string(i), value_of(1, 1), stranger("2"), member_at(0));
    EXPECT_EQ(copies.keys(), 20u);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(copies.seen("own" + std::to_string(i)).number, 1u);
    for (int i = 0; i < 12; ++i) copies.hear("more" + std::to_string(i), value_of(1, 1), {}, member_at(0));
    const auto root_of_one_more = copies.find({"one more", {}, 4, {}}, member_at(0, 0));
    EXPECT_EQ(root_of_one_more.code, Errc::overloaded);
    const auto one_more = copies.find({"one more", {}, 4, {}}, member_at(0));
    EXPECT_TRUE(one_more.fresh) << "it is asked for, and not kept";
    copies.end("one more", *one_more.flight, Errc::ok, value_of(1, 1), member_at(0));
    EXPECT_EQ(one_more.flight->copy.version.number, 1u);
    EXPECT_EQ(copies.keys(), 20u);
}

TEST(copies, bytes_are_bounded_and_values_of_a_root_are_not_dropped_for_copies) {
    group::VariableLimits limits;
    limits.bytes_max = 1000;
    VariableCopies copies(limits, 1);
    EXPECT_EQ(put(copies, "a", 300, stranger("1")).copy->version.number, 1u);
    EXPECT_EQ(put(copies, "b", 300, stranger("1")).code, Errc::overloaded) << "one peer has half of them";
    EXPECT_EQ(put(copies, "b", 300, {}).code, Errc::ok);
    copies.hear("c", value_of(1, 300), {}, member_at(0));
    copies.hear("d", value_of(1, 300), {}, member_at(0));
    EXPECT_EQ(copies.bytes(), 900u);
    EXPECT_FALSE(copies.held("c").bytes) << "the copy that was not used for the longest time makes room";
    EXPECT_EQ(put(copies, "e", 401, {}).code, Errc::overloaded);
    EXPECT_EQ(put(copies, "e", 400, {}).code, Errc::ok);
    EXPECT_EQ(copies.bytes(), 1000u);
    EXPECT_EQ(put(copies, "a", 500, stranger("1")).code, Errc::overloaded);
    EXPECT_EQ(copies.held("a").bytes->size(), 300u);
}

TEST(copies, who_has_agreed_that_another_rules_gives_no_versions) {
    VariableCopies copies({}, 1);
    EXPECT_EQ(put(copies, "key", 10, {}).copy->version.number, 1u);
    auto joined = member_at(0, 1);
    joined.position.reign = {6, 1, 0};
    EXPECT_EQ(copies.yield("key", 7, joined).code(), Errc::again) << "not by this member's view";
    EXPECT_EQ(copies.yield("key", 6, joined)->version.number, 1u);
    const auto put_again = copies.put({"key", {}, 4, {}}, value_of(0, 10), member_at(0, 0));
    ASSERT_TRUE(put_again.fresh) << "all have to be asked anew";
    (void)copies.yield("key", 6, joined);
    copies.settle("key", *put_again.flight, {}, member_at(0, 0));
    EXPECT_TRUE(copies.put({"key", {}, 4, {}}, value_of(0, 10), member_at(0, 0)).fresh) << "and that one was in vain";
}

}  // namespace
}  // namespace cinnabar::test
