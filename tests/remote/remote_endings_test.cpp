// SPDX-License-Identifier: BSD-3-Clause
// The four ways to wait for the end of an operation, and operations that end early.
#include "remote_fixture.hpp"

#include <future>
#include <optional>
#include <stop_token>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

class RemoteEndings : public RemoteWords {
  protected:
    RemoteEndings() : RemoteWords(way_named("tcp")) {}
};

template <typename Op>
auto awaited(Op op) {
    const auto task = [](Op taken) -> Task<decltype(op.wait())> { co_return co_await taken; };
    return sync_wait(task(std::move(op)));
}

template <typename Op>
auto called_back(Op op) {
    std::promise<decltype(op.wait())> promise;
    op.then([&](auto outcome) { promise.set_value(std::move(outcome)); });
    return promise.get_future().get();
}

TEST_F(RemoteEndings, wait_await_then_and_future_tell_the_same) {
    const auto token = this->token();
    const auto word = token[5];
    EXPECT_EQ(word.fetch_add(user(), 1).wait().value(), 5u);
    EXPECT_EQ(awaited(word.fetch_add(user(), 1)).value(), 6u);
    EXPECT_EQ(called_back(word.fetch_add(user(), 1)).value(), 7u);
    EXPECT_EQ(word.fetch_add(user(), 1).future().get().value(), 8u);
    for (const std::size_t size : {10u, 50'000u}) {
        const auto part = token.subspan(20, size);
        Words words(size);
        EXPECT_EQ(awaited(part.read(user(), words)).value(), size * 8);
        EXPECT_EQ(words, counted(size, 20));
        words.assign(size, 0);
        EXPECT_EQ(called_back(part.read(user(), words)).value(), size * 8);
        EXPECT_EQ(words, counted(size, 20));
        words.assign(size, 0);
        auto future = part.read(user(), words).future();
        EXPECT_EQ(future.get().value(), size * 8);
        EXPECT_FALSE(future.valid());
        EXPECT_EQ(words, counted(size, 20));
    }
}

TEST_F(RemoteEndings, what_does_not_fit_is_refused_here_in_each_ending) {
    const auto token = this->token();
    Words few(3);
    const auto op = [&] { return token.read(user(), few); };
    EXPECT_EQ(op().wait().code(), Errc::invalid_argument);
    EXPECT_EQ(awaited(op()).code(), Errc::invalid_argument);
    EXPECT_EQ(called_back(op()).code(), Errc::invalid_argument);
    EXPECT_EQ(op().future().get().code(), Errc::invalid_argument);
    const auto error = op().wait().error();
    EXPECT_NE(error.message().find("use RemoteBytes::part"), std::string::npos) << error.message();
    EXPECT_EQ(token.write(user(), few).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(RemoteSpan<std::uint64_t>().read(user(), few).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(Remote<std::uint64_t>().fetch_add(user(), 1).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(memory_, counted(count));
}

TEST_F(RemoteEndings, a_word_that_is_not_aligned_is_refused_by_the_owner) {
    const Remote<std::uint64_t> askew(token().token().part(4, 8));
    EXPECT_EQ(askew.fetch_add(user(), 1).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(askew.read(user()).wait().value(), std::uint64_t{1} << 32);
    EXPECT_EQ(memory_, counted(count));
}

TEST_F(RemoteEndings, an_owner_that_does_not_listen_is_unreachable_for_others) {
    Words own = counted(4);
    auto shared = share(user(), std::span(own)).value();
    const Node third = Node::open("tcp://").value();
    const auto ended = shared.span()[0].read(third).wait();
    EXPECT_EQ(ended.code(), Errc::unreachable);
    EXPECT_NE(ended.error().message().find("at()"), std::string::npos);
}

// An owner that is not driven, so it never answers.
class RemoteSilence : public testing::Test {
  protected:
    static NodeOptions undriven() {
        NodeOptions options;
        options.progress_thread = false;
        return options;
    }
    Words memory_ = counted(100'000);
    Node owner_ = Node::listen("tcp://127.0.0.1:0", undriven()).value();
    Node user_ = Node::open("tcp://").value();
    Shared<std::uint64_t> shared_ = share(owner_, std::span(memory_)).value();
    RemoteSpan<std::uint64_t> token_ = shared_.span();
};

TEST_F(RemoteSilence, operations_end_at_their_deadline) {
    Words words(memory_.size());
    EXPECT_EQ(token_.read(user_, words, {.deadline = 20ms}).wait().code(), Errc::timed_out);
    EXPECT_EQ(token_.write(user_, words, {.deadline = 20ms}).wait().code(), Errc::timed_out);
    EXPECT_EQ(token_[0].fetch_add(user_, 1, {.deadline = 20ms}).wait().code(), Errc::timed_out);
}

TEST_F(RemoteSilence, operations_end_when_they_are_stopped) {
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    Words words(memory_.size());
    auto read = token_.read(user_, words, {.stop = &token}).future();
    auto count = token_[0].fetch_add(user_, 1, {.stop = &token}).future();
    auto canceled = token_[0].read(user_).future();
    EXPECT_FALSE(read.ready());
    stop.request_stop();
    canceled.cancel();
    EXPECT_EQ(read.get().code(), Errc::canceled);
    EXPECT_EQ(count.get().code(), Errc::canceled);
    EXPECT_EQ(canceled.get().code(), Errc::canceled);
}

TEST_F(RemoteSilence, waiting_inside_a_task_would_deadlock) {
    const auto task = [this]() -> Task<Errc> { co_return token_[0].read(user_).wait().code(); };
    EXPECT_EQ(sync_wait(task()).code(), Errc::would_deadlock);
}

}  // namespace
}  // namespace cinnabar
