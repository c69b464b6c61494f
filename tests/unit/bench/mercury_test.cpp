// SPDX-License-Identifier: BSD-3-Clause
// Mercury's own programs as a peer; scripts stand in for them.
#include "bench/peers/mercury.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <stdexcept>

namespace cinnabar::bench {
namespace {

Slice run_slice() {
    return make_mercury(pick_cores(), MercuryWire::sm, MercuryTool::rate, 64, 1)->run_slice(std::chrono::seconds{2});
}

TEST(MercuryPeer, TakesTheRateThatItsClientReports) {
    const auto slice = run_slice();
    EXPECT_EQ(slice.seconds, 2);
    EXPECT_EQ(slice.work, 10'000);
}

TEST(MercuryPeer, AServerThatEndsIsAnErrorWithItsWords) {
    ::setenv("HG_PERF_SERVER_ENDS", "no such domain", 1);
    try {
        (void)run_slice();
        ADD_FAILURE() << "there was a slice without a server";
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "hg_perf_server has ended: no such domain\n");
    }
    ::unsetenv("HG_PERF_SERVER_ENDS");
}

}  // namespace
}  // namespace cinnabar::bench
