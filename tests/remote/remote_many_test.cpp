// SPDX-License-Identifier: BSD-3-Clause
// One operation over many tokens, of one owner and of several.
#include "remote_fixture.hpp"

#include <algorithm>
#include <deque>
#include <future>

namespace cinnabar {
namespace {

using namespace test;
using hl::read_many;
using hl::RemoteRead;
using hl::RemoteWrite;
using hl::write_many;

class RemoteMany : public RemoteWords {
  protected:
    // Reads of every third word.
    [[nodiscard]] std::vector<RemoteRead> thirds(const RemoteSpan<std::uint64_t>& token, Words& into) {
        std::vector<RemoteRead> parts;
        for (std::size_t i = 0; i < into.size(); ++i)
            parts.push_back({token[3 * i].token(), std::as_writable_bytes(std::span(&into[i], 1))});
        return parts;
    }
};

TEST_P(RemoteMany, words_here_and_there_are_read_at_once) {
    const auto token = this->token();
    Words into(500);
    EXPECT_EQ(read_many(user(), thirds(token, into)).wait().value(), 4000u);
    for (std::size_t i = 0; i < into.size(); ++i) EXPECT_EQ(into[i], 3 * i);
}

TEST_P(RemoteMany, words_here_and_there_are_written_at_once) {
    for (const Names names : {Names::this_version, Names::any_version}) {
        const RemoteSpan<std::uint64_t> token = shared_.span(names).at(pair_.to);
        Words from = counted(300, 1'000'000);
        std::vector<RemoteWrite> parts;
        for (std::size_t i = 0; i < from.size(); ++i)
            parts.push_back({token[2 * i].token(), std::as_bytes(std::span(&from[i], 1))});
        EXPECT_EQ(write_many(user(), parts).wait().value(), 2400u);
        for (std::size_t i = 0; i < from.size(); ++i) {
            EXPECT_EQ(memory_[2 * i], from[i]);
            EXPECT_EQ(memory_[2 * i + 1], 2 * i + 1);
        }
    }
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteMany);

// More than 4,096 parts, or more than 64 grants, need several calls; parts of 2 MiB are staged in steps.
class RemoteManyTcp : public RemoteMany {
  protected:
    RemoteManyTcp() = default;
};
INSTANTIATE_TEST_SUITE_P(Over, RemoteManyTcp, testing::Values(way_named("tcp")),
                         [](const auto& each) { return each.param.name; });

TEST_P(RemoteManyTcp, more_parts_than_a_call_has) {
    const auto token = this->token();
    Words into(20'000);
    EXPECT_EQ(read_many(user(), thirds(token, into)).wait().value(), 160'000u);
    for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], 3 * i);
}

TEST_P(RemoteManyTcp, more_grants_than_a_call_has) {
    std::deque<Shared<std::uint64_t>> shares;
    Words into(200);
    std::vector<RemoteRead> parts;
    for (std::size_t i = 0; i < into.size(); ++i) {
        shares.push_back(share(owner(), std::span(memory_).subspan(i, 1)).value());
        parts.push_back({shares.back().span().token(), std::as_writable_bytes(std::span(&into[i], 1))});
    }
    EXPECT_EQ(read_many(user(), parts).wait().value(), 1600u);
    EXPECT_EQ(into, counted(200));
    shares[150].renew();
    EXPECT_EQ(read_many(user(), parts).wait().code(), Errc::stale);
}

TEST_P(RemoteManyTcp, parts_beyond_the_staging_buffer) {
    Words large(1 << 20), from = counted(1 << 20, 5);
    auto shared = share(owner(), std::span(large)).value();
    const auto token = shared.span();
    std::vector<RemoteWrite> parts;
    const std::vector<std::size_t> sizes{1, 400'000, 3, 500'000, 148'572};
    for (std::size_t i = 0, at = 0; i < sizes.size(); at += sizes[i++])
        parts.push_back({token.subspan(large.size() - at - sizes[i], sizes[i]).token(),
                         std::as_bytes(std::span(from).subspan(at, sizes[i]))});
    EXPECT_EQ(write_many(user(), parts).wait().value(), (1u << 20) * 8);
    for (std::size_t i = 0, at = 0; i < sizes.size(); at += sizes[i++])
        EXPECT_TRUE(std::equal(from.begin() + static_cast<std::ptrdiff_t>(at),
                               from.begin() + static_cast<std::ptrdiff_t>(at + sizes[i]),
                               large.end() - static_cast<std::ptrdiff_t>(at + sizes[i])))
            << i;
}

TEST_P(RemoteManyTcp, several_owners_in_each_ending) {
    Pair other(way_named("tcp")), third(way_named("shm"));
    Node user = Node::open({"tcp://", "shm://"}).value();
    Words theirs = counted(1000, 500), more = counted(10, 70);
    auto shared_theirs = share(other.owner, std::span(theirs)).value();
    auto shared_more = share(third.owner, std::span(more)).value();
    Words into(3);
    const std::vector<RemoteRead> parts{
        {shared_.span()[9].token(), std::as_writable_bytes(std::span(into).first(1))},
        {shared_theirs.span()[9].token(), std::as_writable_bytes(std::span(into).subspan(1, 1))},
        {shared_more.span()[9].token(), std::as_writable_bytes(std::span(into).last(1))}};
    const Words expected{9, 509, 79};
    const auto check = [&](const Result<std::uint64_t>& moved) {
        EXPECT_EQ(moved.value(), 24u);
        EXPECT_EQ(into, expected);
        into.assign(3, 0);
    };
    check(read_many(user, parts).wait());
    check(read_many(user, parts).future().get());
    check(sync_wait(read_many(user, parts)));
    std::promise<Result<std::uint64_t>> promise;
    read_many(user, parts).then([&](Result<std::uint64_t> moved) { promise.set_value(std::move(moved)); });
    check(promise.get_future().get());
    // If one owner refuses, the operation ends with the error of that owner.
    shared_theirs.renew();
    EXPECT_EQ(read_many(user, parts).wait().code(), Errc::stale);
}

TEST_P(RemoteManyTcp, nothing_and_what_does_not_fit) {
    EXPECT_EQ(read_many(user(), {}).wait().value(), 0u);
    std::promise<std::uint64_t> none;
    write_many(user(), {}).then([&](Result<std::uint64_t> moved) { none.set_value(moved.value()); });
    EXPECT_EQ(none.get_future().get(), 0u);
    Words into(2);
    const auto token = this->token();
    const std::vector<RemoteRead> parts{{token[0].token(), std::as_writable_bytes(std::span(into))}};
    EXPECT_EQ(read_many(user(), parts).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(sync_wait(read_many(user(), parts)).code(), Errc::invalid_argument);
}

}  // namespace
}  // namespace cinnabar
