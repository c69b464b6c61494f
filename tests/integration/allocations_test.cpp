// SPDX-License-Identifier: BSD-3-Clause
// A typed call of trivially copyable types allocates nothing on either side in the steady state.
#include "support/allocation_count.hpp"
#include "support/missing_here.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <optional>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

struct Pair {
    int a = 0;
    int b = 0;
};
constexpr Rpc<int(Pair)> sum{"sum"};
constexpr Rpc<int(Pair)> slow_sum{"slow_sum"};
constexpr Rpc<int(Pair)> soon{"sum_on_arrival"};
constexpr int warm_up_calls = 2'000;
constexpr int counted_calls = 1'000;

class Allocations : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        auto listening = Node::listen(GetParam(), {.progress_thread = false});
        const std::string missing = GetParam().starts_with("ofi") ? support::missing_here(listening) : "";
        if (!missing.empty()) GTEST_SKIP() << missing;
        node_.emplace(std::move(listening).value());
        // Only this transport: self_addr() also has the `self` endpoint, which would be preferred.
        to_ = Addr::parse(node_->address()).value();
    }

    // Both sides run on this thread, so exactly the allocations of the call are counted.
    std::optional<Node> node_;
    Addr to_;

    Task<int> many(const Rpc<int(Pair)>& rpc, int calls) {
        int good = 0;
        for (int i = 0; i < calls; ++i) {
            Result<int> result = co_await node_->call(rpc, to_, {i, 1});
            good += result && *result == i + 1 ? 1 : 0;
        }
        co_return good;
    }
};

TEST_P(Allocations, calls_of_a_task_to_a_plain_function_and_to_a_coroutine) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "coroutine frames are not pooled under AddressSanitizer";
#endif
    ASSERT_TRUE(node_->serve(sum, [](Pair p) { return p.a + p.b; }).ok());
    ASSERT_TRUE(node_
                    ->serve(
                        soon, [](Pair p) { return p.a + p.b; }, on_arrival)
                    .ok());
    ASSERT_TRUE(node_
                    ->serve(slow_sum,
                            [](Request<Pair> request) -> Task<int> {
                                const Result<int> nested =
                                    co_await request.node().call(sum, request.source(), *request);
                                co_return nested.ok() ? *nested : 0;
                            })
                    .ok());
    for (const auto* rpc : {&sum, &slow_sum, &soon}) {
        const auto counted = [this, rpc]() -> Task<std::uint64_t> {
            EXPECT_EQ(co_await many(*rpc, warm_up_calls), warm_up_calls);
            const std::uint64_t before = support::allocations();
            EXPECT_EQ(co_await many(*rpc, counted_calls), counted_calls);
            co_return support::allocations() - before;
        };
        EXPECT_EQ(sync_wait(counted()).value(), 0u) << rpc->name().text;
    }
}

INSTANTIATE_TEST_SUITE_P(Transports, Allocations,
                         testing::Values("self://", "tcp://127.0.0.1:0", "shm://", "ofi+tcp;ofi_rxm://127.0.0.1:0"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find_first_of("+:")); });

}  // namespace
}  // namespace cinnabar
