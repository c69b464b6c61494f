// SPDX-License-Identifier: BSD-3-Clause
// Arguments and results that do not fit in a message are transparently transferred in bulk, up to a limit.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/rpc/context.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using Numbers = std::vector<std::uint64_t>;
constexpr Rpc<Numbers(Numbers)> reversed{"reversed"};
constexpr Rpc<std::uint64_t(std::span<const std::uint64_t>)> total{"total"};

class LargeValues : public testing::TestWithParam<std::string> {
  protected:
    Node server_ = Node::listen(GetParam(), small()).value();
    Node client_ = Node::open(GetParam().substr(0, GetParam().find(':')) + "://", small()).value();
    Node& caller() { return GetParam() == "self://" ? server_ : client_; }
    static NodeOptions small() {
        NodeOptions options;
        options.rpc.argument_bytes_max = 8u << 20;
        return options;
    }
    static Numbers numbers(std::size_t count) {
        Numbers all(count);
        std::iota(all.begin(), all.end(), 1u);
        return all;
    }
};

TEST_P(LargeValues, both_ways_around_the_size_of_a_message) {
    ASSERT_TRUE(server_.serve(reversed, [](Numbers all) { return Numbers(all.rbegin(), all.rend()); }).ok());
    for (const std::size_t count : {1u, 500u, 2'000u, 2'030u, 2'040u, 2'048u, 2'060u, 8'192u, 500'000u}) {
        const Numbers sent = numbers(count);
        const auto back = caller().call(reversed, server_.self_addr(), sent, 20s).wait();
        ASSERT_TRUE(back.ok()) << count << ": " << back.error().message();
        EXPECT_TRUE(std::equal(sent.rbegin(), sent.rend(), back->begin(), back->end())) << count;
    }
    // The target keeps a large result until the origin reports that it has fetched it.
    const auto held = [this] { return server_.rpc_context().counts().large_bytes; };
    for (int i = 0; i < 10'000 && held() != 0; ++i) {
        ASSERT_TRUE(caller().call(reversed, server_.self_addr(), numbers(1)).wait().ok());
    }
    EXPECT_EQ(held(), 0u);
    EXPECT_EQ(caller().rpc_context().counts().large_bytes, 0u);
}

TEST_P(LargeValues, a_view_of_a_large_argument_in_a_coroutine) {
    ASSERT_TRUE(server_
                    .serve(total,
                           [this](std::span<const std::uint64_t> all) -> Task<std::uint64_t> {
                               (void)co_await server_.sleep_for(1us);
                               co_return std::accumulate(all.begin(), all.end(), std::uint64_t{0});
                           })
                    .ok());
    const Numbers sent = numbers(300'000);
    EXPECT_EQ(caller().call(total, server_.self_addr(), sent, 20s).wait().value(), 300'000ull * 300'001 / 2);
}

TEST_P(LargeValues, what_is_too_large_names_the_limit) {
    ASSERT_TRUE(server_.serve(reversed, [](Numbers all) { return all; }).ok());
    const auto refused = caller().call(reversed, server_.self_addr(), numbers(2u << 20)).wait();
    ASSERT_EQ(refused.code(), Errc::too_large);
    EXPECT_NE(refused.error().message().find("argument_bytes_max"), std::string::npos) << refused.error().message();
}

TEST(LargeValueDefaults, a_value_of_64_mib_fits) {
    constexpr Rpc<std::string(std::string)> echo{"echo"};
    const auto server = Node::listen("tcp://127.0.0.1:0").value();
    const auto client = Node::open("tcp://").value();
    ASSERT_TRUE(server.serve(echo, [](std::string text) { return text; }).ok());
    const std::string text(std::size_t{64} << 20, 'x');
    const auto back = client.call(echo, server.self_addr(), text, 60s).wait();
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_TRUE(*back == text);
}

TEST_P(LargeValues, beyond_the_limit_is_too_large_at_both_ends) {
    static constexpr Rpc<Numbers(std::uint64_t)> make{"make"};
    ASSERT_TRUE(server_.serve(reversed, [](Numbers all) { return all; }).ok());
    ASSERT_TRUE(server_.serve(make, [](std::uint64_t count) { return Numbers(count); }).ok());
    EXPECT_EQ(caller().call(reversed, server_.self_addr(), numbers(2u << 20)).wait().code(), Errc::too_large);
    EXPECT_EQ(caller().call(make, server_.self_addr(), 2u << 20).wait().code(), Errc::too_large);
    EXPECT_EQ(caller().call(make, server_.self_addr(), 3).wait().value().size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(Transports, LargeValues, testing::Values("self://", "tcp://127.0.0.1:0", "shm://"),
                         [](const auto& tested) { return tested.param.substr(0, tested.param.find(':')); });

}  // namespace
}  // namespace cinnabar
