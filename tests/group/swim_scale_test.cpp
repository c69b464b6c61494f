// SPDX-License-Identifier: BSD-3-Clause
// Failure detection among many members: what one of them costs, and the curves of docs/groups.md.
#include "support/heap_in_use.hpp"
#include "support/sanitizers.hpp"
#include "support/seeds.hpp"
#include "swim_death.hpp"
#include "swim_world.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <vector>

namespace cinnabar::test {
namespace {

using group::Change;
using group::Happened;
using group::Rank;
using group::SwimOptions;
using support::heap_bytes_in_use;

#ifdef CINNABAR_FULL_TESTS
constexpr std::size_t large = 30'000;
#else
constexpr std::size_t large = 5'000;
#endif

// No table has room for claims beyond this, so that none of the simulated members is left out.
constexpr SwimOptions roomy{.members_max = 1u << 20};

double bytes_each(std::size_t before, std::size_t members) {
    const std::size_t now = heap_bytes_in_use();
    return static_cast<double>(now > before ? now - before : 0) / static_cast<double>(members);
}

// How many members have heard of a death after at most twice the binary logarithm of their number, and some periods.
std::size_t hear_of_a_death(std::size_t members) {
    SwimWorld world(members, roomy, {}, 7);
    const Rank victim = world.random_rank();
    std::size_t heard = 0;
    world.on_change = [&](Rank, const Change& change) {
        heard += change.rank == victim && change.happened == Happened::suspected;
    };
    world.kill(victim);
    const int periods_max = 10 + 2 * static_cast<int>(std::bit_width(members));
    for (int period = 0; period < periods_max && heard + 1 < members; ++period) world.run_for(period_us);
    return heard;
}

TEST(swim_scale, all_hear_of_a_death_in_logarithmic_time) {
    EXPECT_EQ(hear_of_a_death(500), 499u);
    EXPECT_EQ(hear_of_a_death(large), large - 1);
}

// Of each member, with the messages in flight, ten periods after a death.
double bytes_after_a_death(std::size_t members) {
    const std::size_t before = heap_bytes_in_use();
    SwimWorld world(members, roomy, {}, 7);
    world.kill(world.random_rank());
    world.run_for(10 * period_us);
    return bytes_each(before, members);
}

TEST(swim_scale, the_memory_of_a_member_does_not_grow_with_their_number) {
    if (support::sanitized) GTEST_SKIP() << "a sanitizer has a heap of its own";
    const double few = bytes_after_a_death(250);
    const double many = bytes_after_a_death(2'000);
    EXPECT_LT(few, 8'192);
    EXPECT_LT(many, 8'192);
    EXPECT_LT(many - few, 1'750) << "a byte for each further member";
}

// A death every 50 periods, and with it the other faults: members that are cut off together, or whose clocks stop, for
// five periods.
struct Faults {
    std::uint64_t cut = number_from_environment("CINNABAR_GROUP_CUT", 0);
    std::uint64_t stopped = number_from_environment("CINNABAR_GROUP_STOPPED", 0);
    static constexpr TimeUs span = 5 * period_us;

    [[nodiscard]] static Rank living(SwimWorld& world) {
        Rank rank = world.random_rank();
        while (world.dead(rank)) rank = world.random_rank();
        return rank;
    }
    void strike(SwimWorld& world) const {
        std::vector<Rank> aside;
        for (std::uint64_t i = 0; i < cut; ++i) aside.push_back(living(world));
        for (const Rank rank : aside) world.put_on_side(rank, 1);
        for (std::uint64_t i = 0; i < stopped; ++i) world.stop_clock(living(world), span);
        world.run_for(span);
        for (const Rank rank : aside) world.put_on_side(rank, 0);
    }
};

// One row of the table, for `./dev curves`: CINNABAR_GROUP_MEMBERS=1000 CINNABAR_GROUP_PERIODS=3600.
TEST(swim_scale, curves) {
    const std::uint64_t members = number_from_environment("CINNABAR_GROUP_MEMBERS", 100);
    const std::uint64_t periods = number_from_environment("CINNABAR_GROUP_PERIODS", 100);
    const std::uint64_t slow = number_from_environment("CINNABAR_GROUP_SLOW", 5);
    const std::uint64_t loss = number_from_environment("CINNABAR_GROUP_LOSS", 10);
    const Faults faults;
    const std::size_t before = heap_bytes_in_use();
    SwimWorld world(members, roomy,
                    {.loss_per_mille = unsigned(loss),
                     .slow_per_cent = unsigned(slow),
                     .slow_us = number_from_environment("CINNABAR_GROUP_SLOW_US", 300'000)},
                    9);
    std::size_t wronged = 0;
    double suspected = 0;
    double worst = 0;
    double excluded = 0;
    double all = 0;
    const std::uint64_t deaths = std::max<std::uint64_t>(periods / 50, 1);
    for (std::uint64_t i = 0; i < deaths; ++i) {
        const DeathWatch watch(world);
        if (faults.cut + faults.stopped == 0) {
            world.run_for(50 * period_us);
        } else {
            faults.strike(world);
            world.run_for(50 * period_us - Faults::span);
        }
        wronged += watch.wronged();
        const Death& death = watch.death();
        suspected += death.first_suspicion;
        worst = std::max(worst, death.first_suspicion);
        excluded += death.first_exclusion;
        all += death.last_exclusion;
    }
    const auto mean = [&](double sum) { return sum / static_cast<double>(deaths); };
    std::printf(
        "members %lu, periods %lu, loss %lu/1000, slow %lu%%, cut off %lu, stopped %lu: suspected after, mean "
        "(most); excluded by the first; by all, in periods; living members excluded; messages per member and "
        "period; KiB per member:\n",
        members, periods, loss, slow, faults.cut, faults.stopped);
    std::printf("curve: %.1f (%.1f) | %.1f | %.1f | %zu | %.1f | %.1f |\n", mean(suspected), worst, mean(excluded),
                mean(all), wronged, static_cast<double>(world.messages()) / static_cast<double>(members * deaths * 50),
                bytes_each(before, members) / 1024);
    if (faults.cut + faults.stopped == 0) {
        EXPECT_EQ(wronged, 0u);
    }
}

}  // namespace
}  // namespace cinnabar::test
