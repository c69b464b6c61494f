// SPDX-License-Identifier: BSD-3-Clause
// The effects of the operations, over each transport.
#include "remote_fixture.hpp"

#include <algorithm>
#include <numeric>

namespace cinnabar {
namespace {

using namespace test;

struct Point {
    std::int32_t x = 0;
    std::int32_t y = 0;
    double weight = 0;
    friend bool operator==(const Point&, const Point&) = default;
};

constexpr Rpc<std::uint64_t(RemoteSpan<std::uint64_t>)> add_up{"add_up"};

class RemoteOps : public RemoteWords {};

TEST_P(RemoteOps, few_bytes_and_many_are_read) {
    const auto token = this->token();
    ASSERT_EQ(token.size(), count);
    Words few(5), many(count);
    EXPECT_EQ(token.subspan(40, 5).read(user(), few).wait().value(), 40u);
    EXPECT_EQ(few, counted(5, 40));
    EXPECT_EQ(token.read(user(), many).wait().value(), count * sizeof(std::uint64_t));
    EXPECT_EQ(many, memory_);
    Words some(1000);
    ASSERT_TRUE(token.subspan(count - 1000, 1000).read(user(), some).wait().ok());
    EXPECT_EQ(some, counted(1000, count - 1000));
}

TEST_P(RemoteOps, few_bytes_and_many_are_written) {
    const auto token = this->token();
    EXPECT_EQ(token.subspan(1, 3).write(user(), counted(3, 500)).wait().value(), 24u);
    EXPECT_EQ(token.subspan(100, 90'000).write(user(), counted(90'000, 7)).wait().value(), 720'000u);
    Words expected = counted(count);
    std::iota(expected.begin() + 1, expected.begin() + 4, 500);
    std::iota(expected.begin() + 100, expected.begin() + 90'100, 7);
    EXPECT_EQ(memory_, expected);
}

TEST_P(RemoteOps, a_token_that_names_no_version_is_written_straight) {
    const RemoteSpan<std::uint64_t> token = shared_.span(Names::any_version).at(pair_.to);
    EXPECT_FALSE(token.token().names_version());
    ASSERT_TRUE(token.write(user(), counted(count, 9)).wait().ok());
    EXPECT_EQ(memory_, counted(count, 9));
}

TEST_P(RemoteOps, regions_that_were_registered_before) {
    Words local(count);
    const auto region = user().expose(std::span(local)).value();
    const auto token = this->token();
    ASSERT_TRUE(token.read(user(), region).wait().ok());
    EXPECT_EQ(local, memory_);
    std::reverse(local.begin(), local.end());
    ASSERT_TRUE(token.write(user(), region).wait().ok());
    EXPECT_EQ(local, memory_);
    Words few(2);
    ASSERT_TRUE(token.subspan(0, 2).read(user(), user().expose(std::span(few)).value()).wait().ok());
    EXPECT_EQ(few[0], count - 1);
}

TEST_P(RemoteOps, words_are_counted_swapped_and_exchanged) {
    const Remote<std::uint64_t> word = token()[10];
    EXPECT_EQ(word.fetch_add(user(), 5).wait().value(), 10u);
    EXPECT_EQ(word.fetch_add(user(), ~std::uint64_t{0}).wait().value(), 15u);
    EXPECT_EQ(word.compare_swap(user(), 3, 99).wait().value(), 14u);
    EXPECT_EQ(word.compare_swap(user(), 14, 99).wait().value(), 14u);
    EXPECT_EQ(word.exchange(user(), 1).wait().value(), 99u);
    EXPECT_EQ(word.read(user()).wait().value(), 1u);
    EXPECT_EQ(memory_[10], 1u);
    EXPECT_EQ(memory_[9], 9u);
    EXPECT_EQ(memory_[11], 11u);
}

TEST_P(RemoteOps, words_of_four_bytes_and_with_signs) {
    std::vector<std::int32_t> small{1, -2, 3};
    std::vector<std::int64_t> large{-4};
    auto shared_small = share(owner(), std::span(small)).value();
    auto shared_large = share(owner(), std::span(large)).value();
    const Remote<std::int32_t> word = shared_small.span().at(pair_.to)[1];
    EXPECT_EQ(word.fetch_add(user(), -5).wait().value(), -2);
    EXPECT_EQ(word.compare_swap(user(), -7, 8).wait().value(), -7);
    EXPECT_EQ(small, (std::vector<std::int32_t>{1, 8, 3}));
    EXPECT_EQ(shared_large.span().at(pair_.to)[0].exchange(user(), -1).wait().value(), -4);
    EXPECT_EQ(large[0], -1);
}

TEST_P(RemoteOps, many_counts_at_once_are_all_counted) {
    const Remote<std::uint64_t> word = token()[0];
    std::vector<decltype(word.fetch_add(user(), 1).future())> counts;
    for (std::uint64_t i = 1; i <= 200; ++i) counts.push_back(word.fetch_add(user(), i).future());
    for (auto& each : counts) EXPECT_TRUE(each.get().ok());
    EXPECT_EQ(memory_[0], 200u * 201 / 2);
}

TEST_P(RemoteOps, objects_are_read_and_written_whole) {
    std::vector<Point> points{{1, 2, 3.5}, {4, 5, 6.5}};
    auto shared = share(owner(), std::span(points)).value();
    const RemoteSpan<Point> token = shared.span().at(pair_.to);
    EXPECT_EQ(token[1].read(user()).wait().value(), points[1]);
    ASSERT_TRUE(token[0].write(user(), {7, 8, 9}).wait().ok());
    EXPECT_EQ(points[0], (Point{7, 8, 9}));
}

// A token from the caller is used over the connection of the call, whether the caller listens or not.
TEST_P(RemoteOps, a_handler_reads_the_memory_of_its_caller) {
    const auto add = [](Request<RemoteSpan<std::uint64_t>> request) -> Task<Result<std::uint64_t>> {
        Words words(request->size());
        const auto read = co_await request->read(request.node(), words);
        if (!read) co_return read.error();
        co_return std::accumulate(words.begin(), words.end(), std::uint64_t{0});
    };
    ASSERT_TRUE(owner().serve(add_up, add).ok());
    Words own = counted(10'000);
    auto shared = share(user(), std::span(own)).value();
    EXPECT_EQ(user().call(add_up, pair_.to, shared.span()).wait().value(), 10'000u * 9'999 / 2);
}

TEST_P(RemoteOps, the_owner_uses_its_own_tokens) {
    Words words(count);
    EXPECT_TRUE(shared_.span().read(owner(), words).wait().ok());
    EXPECT_EQ(words, memory_);
    EXPECT_EQ(shared_.span()[7].fetch_add(owner(), 1).wait().value(), 7u);
    if (GetParam().name == "sim") return;  // on that network a node that does not listen cannot call itself
    Words own{3};
    auto of_user = share(user(), std::span(own)).value();
    EXPECT_EQ(of_user.span()[0].fetch_add(user(), 1).wait().value(), 3u);
    EXPECT_EQ(own[0], 4u);
}

TEST_P(RemoteOps, allocated_memory_of_several_segments) {
    Words first = counted(3000), second = counted(3000, 3000);
    const std::array segments{na::Segment{reinterpret_cast<std::byte*>(first.data()), 24'000},
                              na::Segment{reinterpret_cast<std::byte*>(second.data()), 24'000}};
    auto shared = share<std::uint64_t>(owner(), Region::expose(segments, Access::read_write).value()).value();
    const auto token = shared.span().at(pair_.to);
    Words words(4000);
    ASSERT_TRUE(token.subspan(1000, 4000).read(user(), words).wait().ok());
    EXPECT_EQ(words, counted(4000, 1000));
    ASSERT_TRUE(token.subspan(2900, 200).write(user(), counted(200)).wait().ok());
    EXPECT_EQ(first[2999], 99u);
    EXPECT_EQ(second[0], 100u);
    EXPECT_EQ(token[3000].fetch_add(user(), 1).wait().value(), 100u);
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteOps);

TEST(RemoteShapes, other_types_do_not_fit) {
    constexpr Rpc<RemoteSpan<float>()> as_float{"get_words"};
    constexpr Rpc<RemoteSpan<std::int64_t>()> as_signed{"get_words"};
    Pair pair(way_named("tcp"));
    ASSERT_TRUE(pair.owner.serve(get_words, [] { return RemoteSpan<std::uint64_t>(); }).ok());
    EXPECT_EQ(pair.user.call(as_float, pair.to).wait().code(), Errc::bad_signature);
    EXPECT_EQ(pair.user.call(as_signed, pair.to).wait().code(), Errc::bad_signature);
    EXPECT_TRUE(pair.user.call(get_words, pair.to).wait().value().empty());
}

}  // namespace
}  // namespace cinnabar
