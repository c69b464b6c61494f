// SPDX-License-Identifier: BSD-3-Clause
// The progress of a transfer, and what it reports when it ends early.
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <stop_token>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<std::uint64_t(Bulk)> move_it{"move_it"};

class TransferEnd : public testing::TestWithParam<Way> {
  protected:
    static constexpr std::size_t bytes = std::size_t{48} << 20;

    // Serves the call with a pull or a push of the lent memory.
    void serve(bool pull, std::stop_source* stop = nullptr) {
        const auto move = [this, pull, stop](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const std::function<void(std::uint64_t)> progress = [this, stop](std::uint64_t done) {
                told_.push_back(done);
                if (stop) stop->request_stop();
            };
            const TransferOptions options{.progress = &progress, .moved = &moved_};
            const auto local = Region::expose(std::span(here_).first(request->size()), Access::read_write).value();
            auto transfer = pull ? request->pull(local, options) : request->push(local, options);
            const std::stop_token token = stop ? stop->get_token() : std::stop_token();
            auto ended = co_await with_stop(std::move(transfer), token);
            if (!ended) said_ = ended.error().message();
            co_return ended;
        };
        ASSERT_TRUE(server_.serve(move_it, move).ok());
    }
    [[nodiscard]] Errc call(std::span<std::byte> lent) {
        const auto region = client_.expose(lent).value();
        return client_.call(move_it, to_, region, 60s).wait().code();
    }
    // Each report is larger than the previous one, and the last one is the total.
    void expect_progress(std::uint64_t all) const {
        ASSERT_FALSE(told_.empty());
        EXPECT_TRUE(std::adjacent_find(told_.begin(), told_.end(), std::greater_equal<>()) == told_.end());
        EXPECT_EQ(told_.back(), all);
        EXPECT_EQ(moved_, all);
    }

    std::vector<std::byte> here_ = std::vector<std::byte>(bytes, std::byte{1});
    std::vector<std::byte> there_ = std::vector<std::byte>(bytes, std::byte{2});
    std::vector<std::uint64_t> told_;
    std::uint64_t moved_ = 0;
    std::string said_;
    Node server_ = Node::listen(GetParam().listen).value();
    Node client_ = Node::open(GetParam().open).value();
    Addr to_ = client_.lookup(server_.address()).value();
};

TEST_P(TransferEnd, progress_is_told_chunk_by_chunk) {
    serve(true);
    EXPECT_EQ(call(there_), Errc::ok);
    expect_progress(bytes);
    EXPECT_GE(told_.size(), 4u);
    EXPECT_EQ(here_, there_);
    told_.clear();
    EXPECT_EQ(call(std::span(there_).first(100)), Errc::ok);  // sent in the call itself
    expect_progress(100);
}

TEST_P(TransferEnd, a_push_tells_it_as_well) {
    serve(false);
    EXPECT_EQ(call(there_), Errc::ok);
    expect_progress(bytes);
    EXPECT_EQ(here_, there_);
}

TEST_P(TransferEnd, one_that_ends_early_says_how_many_bytes_were_moved) {
    std::stop_source stop;
    serve(true, &stop);
    EXPECT_EQ(call(there_), Errc::canceled);
    EXPECT_GT(moved_, 0u);
    EXPECT_LT(moved_, bytes);
    EXPECT_EQ(moved_, told_.back());
    const std::string count = std::to_string(moved_) + " of " + std::to_string(bytes) + " bytes were moved";
    EXPECT_NE(said_.find(count), std::string::npos) << said_;
    const auto copied = std::count(here_.begin(), here_.end(), std::byte{2});
    EXPECT_GE(static_cast<std::uint64_t>(copied), moved_) << "those that are counted are in place";
}

TEST_P(TransferEnd, one_that_never_began_has_moved_nothing) {
    moved_ = 77;
    const Node node = Node::open(GetParam().open).value();
    const bulk::RemoteRegion nothing;
    const auto local = node.expose(std::span(here_)).value();
    const auto pull = [&]() -> Task<Result<std::uint64_t>> {
        const TransferOptions options{.offset = 1, .moved = &moved_};
        co_return co_await node.pull(nothing, to_, local, options);
    };
    EXPECT_EQ(sync_wait(pull()).code(), Errc::invalid_argument);
    EXPECT_EQ(moved_, 0u);
}

CINNABAR_ON_EACH_WAY(TransferEnd);

// A client that lends memory and then does not drive its node. Only over tcp: shared memory can be read without the
// client.
class TransferStall : public testing::Test {
  protected:
    static NodeOptions undriven() {
        NodeOptions options;
        options.progress_thread = false;
        return options;
    }
    std::vector<std::byte> there_ = std::vector<std::byte>(std::size_t{32} << 20);
    std::vector<std::byte> here_ = there_;
    Node server_ = Node::listen("tcp://127.0.0.1:0").value();
    Node client_ = Node::open("tcp://", undriven()).value();
    Addr to_ = client_.lookup(server_.address()).value();
};

TEST_F(TransferStall, a_limit_of_its_own_ends_it_and_says_how_far_it_came) {
    std::promise<Error> ended;
    const auto pull = [&](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
        const auto into = Region::expose(std::span(here_), Access::read_write).value();
        auto moved = co_await request->pull(into, {.stall = 20ms});
        ended.set_value(moved ? Error(Errc::ok) : moved.error());
        co_return moved;
    };
    ASSERT_TRUE(server_.serve(move_it, pull).ok());
    auto call = client_.call(move_it, to_, client_.expose(std::span(there_)).value(), 60s).future();
    auto error = ended.get_future();
    // Drives the client only until the server has the call.
    while (server_.rpc_context().mover().transfers() == 0 && error.wait_for(0s) != std::future_status::ready)
        client_.poll();
    const Error told = error.get();
    EXPECT_EQ(told.code, Errc::timed_out);
    EXPECT_NE(told.message().find("stall"), std::string::npos) << told.message();
    EXPECT_NE(told.message().find("of 33554432 bytes were moved"), std::string::npos) << told.message();
    while (!call.ready()) client_.poll();
    EXPECT_EQ(call.get().code(), Errc::timed_out);
}

TEST_F(TransferStall, an_answer_that_arrived_counts_although_the_deadline_has_passed) {
    std::promise<void> served;
    ASSERT_TRUE(server_
                    .serve(move_it,
                           [&](const Bulk&) -> std::uint64_t {
                               served.set_value();
                               return 7;
                           })
                    .ok());
    constexpr auto deadline = 100ms;
    auto call = client_.call(move_it, to_, Bulk(), deadline).future();
    auto done = served.get_future();
    while (done.wait_for(0s) != std::future_status::ready) client_.poll();
    // The answer arrives in the kernel, then the deadline passes, and only then the client reads the answer.
    std::promise<void> never;
    (void)never.get_future().wait_for(2 * deadline);
    while (!call.ready()) client_.poll();
    EXPECT_EQ(call.get().value(), 7u);
}

}  // namespace
}  // namespace cinnabar
