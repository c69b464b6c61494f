// SPDX-License-Identifier: BSD-3-Clause
#include "pending_calls.hpp"

#include "two_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace std::chrono_literals;

namespace cinnabar::test {

bool drive_until(const Node& client, const std::function<bool()>& happened, std::chrono::seconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!happened()) {
        if (std::chrono::steady_clock::now() > end) return false;
        (void)client.run_for(1ms);
    }
    return true;
}

void PendingCalls::make(const Node& client, const na::Addr& to, int count, Microseconds deadline) {
    for (int i = 0; i < count; ++i) {
        const std::size_t index = each_->size();
        each_->push_back({.made = Clock::now(), .ended = {}});
        client.call(hang, to, deadline).then([each = each_, index](const Result<void>& result) {
            Each& over = each->at(index);
            over.ended = Clock::now();
            ++over.endings;
            over.result = result.code();
        });
    }
}

std::size_t PendingCalls::ended() const {
    return static_cast<std::size_t>(
        std::count_if(each_->begin(), each_->end(), [](const Each& each) { return each.endings != 0; }));
}

void PendingCalls::expect_to_end(const Node& client, Errc result, Clock::time_point since, Clock::duration span) const {
    EXPECT_TRUE(drive_until(client, [this] { return pending() == 0; })) << pending() << " calls are still pending";
    (void)client.run_for(20ms);  // so that a call that ends twice is noticed
    Clock::time_point last = since;
    for (const Each& each : *each_) {
        ASSERT_EQ(each.endings, 1u);
        ASSERT_EQ(each.result, result) << to_string(each.result);
        last = std::max(last, each.ended);
    }
    EXPECT_LE(last - since, span) << std::chrono::duration<double>(last - since).count() << " s";
}

}  // namespace cinnabar::test
