// SPDX-License-Identifier: BSD-3-Clause
// Values by rank: a map of the standard library says what they should be.
#include "rank_map.hpp"

#include <cinnabar/base/random.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>

namespace cinnabar::test {
namespace {

using group::Rank;
using group::RankMap;

// Of each rank below `end`.
void expect_same(const RankMap<int>& tested, const std::map<Rank, int>& model, Rank end) {
    EXPECT_EQ(tested.size(), model.size());
    for (Rank rank = 0; rank < end; ++rank) {
        const int* const value = tested.find(rank);
        const auto expected = model.find(rank);
        ASSERT_EQ(value != nullptr, expected != model.end()) << rank;
        if (value) {
            EXPECT_EQ(*value, expected->second) << rank;
        }
    }
}

TEST(rank_map, keeps_what_a_map_keeps_in_any_order) {
    for (const Rank end : {20u, 300u, 5'000u}) {
        Random random(end);
        RankMap<int> tested;
        std::map<Rank, int> model;
        for (int i = 0; i < 1'000; ++i) {
            const auto rank = static_cast<Rank>(random.below(end));
            if (random.chance(3)) {
                tested.erase(rank);
                model.erase(rank);
            } else {
                tested[rank] = i;
                model[rank] = i;
            }
        }
        expect_same(tested, model, end);
        const RankMap<int> copy = tested;
        for (Rank rank = 0; rank < end; ++rank) tested.erase(rank);
        expect_same(tested, {}, end);
        expect_same(copy, model, end);
    }
}

TEST(rank_map, a_value_that_was_erased_is_gone_and_a_new_one_begins_anew) {
    RankMap<std::shared_ptr<int>> values;
    values[8] = std::make_shared<int>(1);
    const std::weak_ptr<int> first = values[8];
    values[9] = std::make_shared<int>(2);
    values.erase(8);
    EXPECT_TRUE(first.expired());
    EXPECT_EQ(values.find(8), nullptr);
    EXPECT_EQ(values[8], nullptr);
    EXPECT_EQ(**values.find(9), 2);
}

TEST(rank_map, references_stay_valid_while_other_ranks_come_and_go) {
    RankMap<int> values;
    int& kept = values[1'000];
    kept = 7;
    for (Rank rank = 0; rank < 3'000; ++rank) values[rank] += 1;
    for (Rank rank = 0; rank < 3'000; ++rank) {
        if (rank != 1'000) values.erase(rank);
    }
    EXPECT_EQ(&kept, values.find(1'000));
    EXPECT_EQ(kept, 8);
    EXPECT_EQ(values.size(), 1u);
}

}  // namespace
}  // namespace cinnabar::test
