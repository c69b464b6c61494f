// SPDX-License-Identifier: BSD-3-Clause
// The slot pool: slots never move, an index finds its slot, the limit holds, and no slot has two holders under threads.
#include <cinnabar/base/slot_pool.hpp>
#include <cinnabar/base/spare_slot.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace cinnabar {
namespace {

struct Slot : PoolSlot {
    std::atomic<int> holders{0};
    int uses = 0;  // deliberately not atomic: only the holder may touch it, and the thread sanitizer watches
};
using Pool = SlotPool<Slot>;

class SlotPoolOfBothKinds : public ::testing::TestWithParam<ThreadUse> {};
INSTANTIATE_TEST_SUITE_P(ThreadUse, SlotPoolOfBothKinds, ::testing::Values(ThreadUse::one, ThreadUse::many),
                         [](const auto& kind) { return kind.param == ThreadUse::one ? "One" : "Many"; });

TEST_P(SlotPoolOfBothKinds, GivesDistinctSlotsUpToTheLimit) {
    Pool pool(GetParam(), 100);
    EXPECT_EQ(pool.slots_max(), 128u) << "the limit is rounded up to whole blocks";
    std::set<Slot*> slots;
    for (std::uint32_t i = 0; i < pool.slots_max(); ++i) {
        Slot* slot = pool.acquire();
        ASSERT_NE(slot, nullptr);
        ASSERT_TRUE(slots.insert(slot).second);
        EXPECT_EQ(pool.at(slot->slot_index), slot);
        EXPECT_EQ(pool.taken(), i + 1);
    }
    EXPECT_EQ(pool.acquire(), nullptr);
    EXPECT_EQ(pool.taken(), pool.slots_max());
    std::set<std::uint32_t> indices;
    for (Slot* slot : slots) indices.insert(slot->slot_index);
    EXPECT_EQ(indices.size(), slots.size());
    EXPECT_EQ(*indices.rbegin(), pool.slots_max() - 1);

    Slot* freed = *slots.begin();
    pool.release(*freed);
    EXPECT_EQ(pool.acquire(), freed) << "the limit is for slots that are out";
    EXPECT_EQ(pool.acquire(), nullptr);
    for (Slot* slot : slots) pool.release(*slot);
    EXPECT_EQ(pool.taken(), 0u);
}

TEST_P(SlotPoolOfBothKinds, SlotsAreReusedWithTheirState) {
    Pool pool(GetParam(), 64);
    Slot* slot = pool.acquire();
    slot->uses = 42;
    pool.release(*slot);
    Slot* again = pool.acquire();
    EXPECT_EQ(again, slot) << "the warmest slot comes first";
    EXPECT_EQ(again->uses, 42);
    pool.release(*again);
}

TEST_P(SlotPoolOfBothKinds, AnyIndexMayBeAsked) {
    Pool pool(GetParam(), 128);
    EXPECT_EQ(pool.at(0), nullptr) << "nothing is made before it is needed";
    Slot* slot = pool.acquire();
    EXPECT_NE(pool.at(63), nullptr) << "a block is made whole";
    EXPECT_EQ(pool.at(64), nullptr);
    EXPECT_EQ(pool.at(128), nullptr);
    EXPECT_EQ(pool.at(0xffffffff), nullptr);
    pool.release(*slot);
}

TEST_P(SlotPoolOfBothKinds, NoSlotsAreNoSlots) {
    Pool pool(GetParam(), 0);
    EXPECT_EQ(pool.slots_max(), 0u);
    EXPECT_EQ(pool.acquire(), nullptr);
    EXPECT_EQ(pool.at(0), nullptr);
}

TEST_P(SlotPoolOfBothKinds, ForEachVisitsEverySlotEverMade) {
    Pool pool(GetParam(), 192);
    std::vector<Slot*> out;
    for (int i = 0; i < 65; ++i) out.push_back(pool.acquire());
    std::set<std::uint32_t> visited;
    pool.for_each([&](Slot& slot) { visited.insert(slot.slot_index); });
    EXPECT_EQ(visited.size(), 128u);
    for (Slot* slot : out) pool.release(*slot);
}

TEST_P(SlotPoolOfBothKinds, NewSlotsAreReadiedAWholeBlockAtATime) {
    Pool pool(GetParam(), 128);
    int blocks = 0;
    const auto ready = [&](Slot* first) {
        for (std::uint32_t i = 0; i < Pool::block_slots; ++i) first[i].uses = 7;
        ++blocks;
        return true;
    };
    EXPECT_EQ(pool.acquire([](Slot*) { return false; }), nullptr) << "memory was short";
    EXPECT_EQ(pool.at(0), nullptr) << "what was not readied is not there";
    std::vector<Slot*> out;
    while (Slot* slot = pool.acquire(ready)) {
        EXPECT_EQ(slot->uses, 7);
        out.push_back(slot);
        ASSERT_EQ(blocks, out.size() > Pool::block_slots ? 2 : 1);
    }
    EXPECT_EQ(out.size(), 128u);
    for (Slot* slot : out) pool.release(*slot);
}

TEST_P(SlotPoolOfBothKinds, AnyOrderOfReleaseIsFine) {
    Pool pool(GetParam(), 256);
    for (int round = 0; round < 3; ++round) {
        std::vector<Slot*> out;
        while (Slot* slot = pool.acquire()) out.push_back(slot);
        ASSERT_EQ(out.size(), 256u);
        ASSERT_EQ(std::set<Slot*>(out.begin(), out.end()).size(), 256u);
        if (round == 1) std::reverse(out.begin(), out.end());
        if (round == 2) std::rotate(out.begin(), out.begin() + 100, out.end());
        for (Slot* slot : out) pool.release(*slot);
        ASSERT_EQ(pool.taken(), 0u);
    }
}

TEST_P(SlotPoolOfBothKinds, ASlotThatIsOutWhenThePoolGoesIsABug) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            Pool pool(GetParam(), 64);
            (void)pool.acquire();
        },
        "bug: taken\\(\\) == 0");
}

// Fewer slots than the threads ask for, so that the threads contend for the free list and reach the limit.
TEST(SlotPoolThreads, NoSlotHasTwoHolders) {
    constexpr int threads = 4;
    constexpr int rounds = 4000;
    constexpr std::size_t hold_max = 24;
    Pool pool(ThreadUse::many, 64);
    std::atomic<int> doubles{0};
    std::atomic<std::uint64_t> uses{0};
    std::vector<std::jthread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            std::vector<Slot*> held;
            std::uint64_t mine = 0;
            for (int i = 0; i < rounds; ++i) {
                const std::size_t want = static_cast<std::size_t>(i * 7 + t * 5) % hold_max;
                while (held.size() < want) {
                    Slot* slot = pool.acquire();
                    if (!slot) break;
                    if (slot->holders.fetch_add(1) != 0) ++doubles;
                    ++slot->uses;
                    ++mine;
                    held.push_back(slot);
                }
                while (held.size() > want / 2) {
                    held.back()->holders.fetch_sub(1);
                    pool.release(*held.back());
                    held.pop_back();
                }
            }
            for (Slot* slot : held) {
                slot->holders.fetch_sub(1);
                pool.release(*slot);
            }
            uses += mine;
        });
    }
    all.clear();
    EXPECT_EQ(doubles.load(), 0);
    EXPECT_EQ(pool.taken(), 0u);
    std::uint64_t counted = 0;
    pool.for_each([&](Slot& slot) { counted += static_cast<std::uint64_t>(slot.uses); });
    EXPECT_EQ(counted, uses.load());
    std::set<Slot*> left;
    while (Slot* slot = pool.acquire()) left.insert(slot);
    EXPECT_EQ(left.size(), 64u) << "no slot was lost or doubled";
    for (Slot* slot : left) pool.release(*slot);
}

// Growth under threads: the other threads find every new slot under its index.
TEST(SlotPoolThreads, GrowsUnderThreads) {
    constexpr int threads = 4;
    constexpr std::uint32_t slots_max = 1024;
    Pool pool(ThreadUse::many, slots_max);
    std::vector<std::vector<Slot*>> held(threads);
    std::vector<std::jthread> all;
    for (auto& mine : held) {
        all.emplace_back([&pool, &mine] {
            while (Slot* slot = pool.acquire()) {
                if (pool.at(slot->slot_index) != slot) break;
                mine.push_back(slot);
            }
        });
    }
    all.clear();
    std::set<Slot*> distinct;
    for (const auto& mine : held) distinct.insert(mine.begin(), mine.end());
    EXPECT_EQ(distinct.size(), slots_max);
    EXPECT_EQ(pool.taken(), slots_max);
    for (Slot* slot : distinct) pool.release(*slot);
}

TEST_P(SlotPoolOfBothKinds, ASpareIsKeptForTheLengthOfAScope) {
    Pool pool(GetParam(), 64);
    Pool other(GetParam(), 64);
    SpareSlot<Slot> spare;
    spare.release(pool, *spare.acquire(pool));
    EXPECT_EQ(pool.taken(), 0u) << "nothing is kept outside";
    {
        const SpareScope<Slot> scope(spare, pool);
        Slot* const first = spare.acquire(pool);
        Slot* const second = spare.acquire(pool);
        spare.release(pool, *first);
        spare.release(pool, *second);
        EXPECT_EQ(pool.taken(), 1u) << "one is kept, no more";
        spare.release(other, *spare.acquire(other));
        EXPECT_EQ(other.taken(), 0u);
        {
            const SpareScope<Slot> inner(spare, pool);
            Slot* const third = spare.acquire(pool);
            EXPECT_NE(third, first);
            spare.release(pool, *third);
            EXPECT_EQ(pool.taken(), 2u);
        }
        EXPECT_EQ(pool.taken(), 1u);
        EXPECT_EQ(spare.acquire(pool), first);
        spare.release(pool, *first);
    }
    EXPECT_EQ(pool.taken(), 0u);
}

}  // namespace
}  // namespace cinnabar
