// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/partner.hpp"

#include "bench/harness/subject.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

const int core = pick_cores().server;

// Counts while a slice is on.
void count_slices(PartnerSide& side) {
    side.announce("hello there");
    while (side.wait_slice()) {
        while (side.running()) side.page().server_work.fetch_add(1);
        side.end_slice();
    }
}

TEST(Partner, WorksOnlyInItsSlices) {
    Partner partner{core, count_slices};
    EXPECT_EQ(partner.announced(), "hello there");
    for (int i = 0; i < 3; ++i) {
        const auto slice = measure(partner, [&] {
            while (partner.page().server_work.load() < 10'000) {
            }
            return 1.0;
        });
        EXPECT_GT(slice.seconds, 0);
        EXPECT_GT(slice.server.cpu_seconds, 0);
        const auto counted = partner.page().server_work.load();
        EXPECT_GE(counted, 10'000u);
        EXPECT_EQ(partner.page().server_work.load(), counted);
    }
}

// What the partner holds is destroyed, instead of being lost when the partner is killed.
TEST(Partner, OneThatWaitsForASliceReturns) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const UniqueFd from{ends[0]};
    UniqueFd to{ends[1]};
    {
        const Partner partner{core, [&](PartnerSide& side) {
                                  count_slices(side);
                                  (void)!write(to.get(), "x", 1);
                              }};
        to.reset();
    }
    char byte = 0;
    EXPECT_EQ(read(from.get(), &byte, 1), 1);
}

TEST(Partner, OneThatDiesIsAnError) {
    Partner partner{core, [](PartnerSide& side) {
                        side.announce("");
                        side.wait_slice();
                        _exit(3);
                    }};
    partner.begin_slice();
    EXPECT_THROW(partner.finish_slice(), std::runtime_error);
}

TEST(Partner, OneThatNeverStartsIsAnError) {
    EXPECT_THROW((Partner{core, [](PartnerSide&) { throw std::runtime_error{"no luck"}; }}), std::runtime_error);
}

}  // namespace
}  // namespace cinnabar::bench
