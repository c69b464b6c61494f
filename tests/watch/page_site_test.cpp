// SPDX-License-Identifier: BSD-3-Clause
// How often the documents of `cinnabar page` query the node.
#include "watch/page_site.hpp"

#include "commands/reach.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

namespace cinnabar::tools::watch {
namespace {

using namespace std::chrono_literals;

struct PageSiteTest : testing::Test {
    const std::string address = "shm://page-site-" + std::to_string(::getpid());
    const hl::Connected reached = reach(address).value();

    [[nodiscard]] hl::Node start() const {
        hl::NodeOptions options;
        options.introspection = hl::Introspection::own_user;
        return hl::Node::listen(address, std::move(options)).value();
    }
};

// Otherwise each viewer would query a node that is too busy to answer, and wait for it.
TEST_F(PageSiteTest, AFailedQueryIsNotRepeatedBeforeItsTime) {
    PageSite seldom(reached, address, 1h);
    const auto failed = seldom.answer("/metrics");
    ASSERT_EQ(failed.status, 503u) << failed.body;
    const auto node = start();
    const auto again_reached = reach(address).value();
    PageSite fresh(again_reached, address, 1h);
    ASSERT_EQ(fresh.answer("/metrics").status, 200u);
    for (const auto* path : {"/metrics", "/", "/calls.json", "/state.json"}) {
        const auto again = seldom.answer(path);
        EXPECT_EQ(again.status, 503u) << path;
        EXPECT_EQ(again.body, failed.body) << path;
    }
}

TEST_F(PageSiteTest, WhenItIsTimeTheNodeIsQueriedAgain) {
    PageSite always(reached, address, 0s);
    EXPECT_EQ(always.answer("/metrics").status, 503u);
    {
        const auto node = start();
        // A peer that refused is not dialled again at once.
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (always.answer("/metrics").status != 200u) ASSERT_LT(std::chrono::steady_clock::now(), end);
    }
    EXPECT_EQ(always.answer("/metrics").status, 503u) << "not what it told before";
}

}  // namespace
}  // namespace cinnabar::tools::watch
