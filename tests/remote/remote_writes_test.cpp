// SPDX-License-Identifier: BSD-3-Clause
// Writes in progress at the same time: how far they have come, their order behind a fence, and their errors.
#include "remote_fixture.hpp"

#include <cinnabar/hl/remote_writes.hpp>

#include <algorithm>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;
using hl::RemoteNotice;
using hl::RemoteWrites;
using hl::WriteLevel;

class RemoteWritesEach : public RemoteWords {
  protected:
    // Told by the owner for each write with a number.
    struct Told {
        std::uint32_t value;
        bool all_before;  // the bulk write that precedes it is in place
    };
    static constexpr std::size_t many = 50'000;

    void SetUp() override {
        shared_.on_notified([this](const RemoteNotice& notice) {
            const std::lock_guard lock(mutex_);
            const auto words = std::span(memory_).first(many);
            told_.push_back({notice.value, std::ranges::all_of(words, [](std::uint64_t word) { return word == 7; })});
        });
    }
    std::mutex mutex_;
    std::vector<Told> told_;
};

TEST_P(RemoteWritesEach, a_flush_waits_for_all_of_them) {
    const auto token = this->token();
    RemoteWrites writes(user());
    ASSERT_TRUE(writes.flush().wait().ok()) << "nothing was written";
    for (std::size_t i = 0; i < 200; ++i) ASSERT_TRUE(writes.write(token[2 * i], 1'000'000 + i).ok());
    const Words from = counted(20'000, 500);
    ASSERT_TRUE(writes.write(token.subspan(1000, 20'000), from).ok());
    EXPECT_TRUE(writes.flush(WriteLevel::placed).wait().ok());
    EXPECT_EQ(writes.in_progress(), 0u);
    Words expected = counted(count);
    for (std::size_t i = 0; i < 200; ++i) expected[2 * i] = 1'000'000 + i;
    std::ranges::copy(from, expected.begin() + 1000);
    EXPECT_EQ(memory_, expected);
}

// What was sent may be overwritten here; the owner gets what it was.
TEST_P(RemoteWritesEach, after_sent_the_local_memory_may_be_used_again) {
    for (const Names names : {Names::this_version, Names::any_version}) {
        const RemoteSpan<std::uint64_t> token = shared_.span(names).at(pair_.to);
        RemoteWrites writes(user());
        Words few{1, 2, 3}, more(many, 8);
        ASSERT_TRUE(writes.write(token.subspan(90'000, 3), few).ok());
        ASSERT_TRUE(writes.flush(WriteLevel::sent).wait().ok());
        few.assign(3, 9);
        ASSERT_TRUE(writes.write(token.subspan(0, many), more).ok());
        ASSERT_TRUE(writes.flush(WriteLevel::sent).wait().ok());
        more.assign(many, 9);
        ASSERT_TRUE(writes.flush(WriteLevel::visible).wait().ok());
        EXPECT_EQ(memory_[90'002], 3u);
        EXPECT_EQ(std::count(memory_.begin(), memory_.end(), 8u), static_cast<long>(many));
        std::iota(memory_.begin(), memory_.end(), 0u);
    }
}

TEST_P(RemoteWritesEach, what_follows_a_fence_is_written_after_what_precedes_it) {
    const RemoteSpan<std::uint64_t> token = shared_.span(Names::any_version).at(pair_.to);
    const Words from(many, 7);
    const auto region = user().expose(std::span(from)).value();
    for (std::uint32_t round = 0; round < 3; ++round) {
        std::iota(memory_.begin(), memory_.end(), 10u);
        RemoteWrites writes(user());
        ASSERT_TRUE(writes.write(token.subspan(0, many).token(), region).ok());
        writes.fence();
        ASSERT_TRUE(writes.write(token[many], 1, 2 * round).ok());
        writes.fence();
        ASSERT_TRUE(writes.write(token[many + 1], 1, 2 * round + 1).ok());
        ASSERT_TRUE(writes.flush().wait().ok());
    }
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(told_.size(), 6u);
    for (std::uint32_t i = 0; i < 6; ++i) {
        EXPECT_EQ(told_[i].value, i);
        EXPECT_TRUE(told_[i].all_before) << i;
    }
}

TEST_P(RemoteWritesEach, a_failed_write_is_told_by_a_flush_and_nothing_behind_its_fence_is_written) {
    RemoteWrites writes(user());
    const RemoteSpan<std::uint64_t> lasting = shared_.span(Names::any_version).at(pair_.to);
    const auto old = token();
    shared_.renew();
    const Words from(many, 7);
    ASSERT_TRUE(writes.write(old.subspan(0, many), from).ok());
    writes.fence();
    const auto held = writes.write(lasting[many], 55);
    EXPECT_TRUE(held.ok() || held.code() == Errc::stale) << "whichever comes first";
    EXPECT_EQ(writes.flush().wait().code(), Errc::stale);
    EXPECT_EQ(memory_, counted(count));
    ASSERT_TRUE(writes.write(lasting[many], 56).ok()) << "the error was told";
    EXPECT_TRUE(writes.flush().wait().ok());
    EXPECT_EQ(memory_[many], 56u);
}

TEST_P(RemoteWritesEach, it_is_awaited_and_called_back) {
    const auto token = this->token();
    RemoteWrites writes(user());
    const auto task = [&](WriteLevel level) -> Task<Result<void>> {
        for (std::size_t i = 0; i < 20; ++i) CINNABAR_CO_TRY_VOID(writes.write(token[i], 5));
        co_return co_await writes.flush(level);
    };
    EXPECT_TRUE(sync_wait(task(WriteLevel::sent)).ok());
    EXPECT_TRUE(sync_wait(task(WriteLevel::visible)).ok());
    EXPECT_EQ(std::count(memory_.begin(), memory_.begin() + 20, 5u), 20);
    if (GetParam().name == "sim") return;  // no thread drives it, so nobody would call back
    ASSERT_TRUE(writes.write(token[0], 6).ok());
    std::promise<Result<void>> promise;
    writes.flush().then([&](Result<void> done) { promise.set_value(std::move(done)); });
    EXPECT_TRUE(promise.get_future().get().ok());
    EXPECT_EQ(memory_[0], 6u);
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteWritesEach);

// An owner that is not driven, so it never answers.
class RemoteWritesSilence : public testing::Test {
  protected:
    static NodeOptions undriven() {
        NodeOptions options;
        options.progress_thread = false;
        return options;
    }
    Words memory_ = counted(100);
    Node owner_ = Node::listen("tcp://127.0.0.1:0", undriven()).value();
    Node user_ = Node::open("tcp://").value();
    Shared<std::uint64_t> shared_ = share(owner_, std::span(memory_)).value();
    RemoteSpan<std::uint64_t> token_ = shared_.span();
};

TEST_F(RemoteWritesSilence, their_number_is_bounded) {
    RemoteWrites writes(user_, {.writes_max = 4});
    ASSERT_TRUE(writes.write(token_[0], 1).ok());
    writes.fence();
    for (std::size_t i = 1; i < 4; ++i) ASSERT_TRUE(writes.write(token_[i], 1).ok());
    EXPECT_EQ(writes.write(token_[4], 1).code(), Errc::overloaded);
    EXPECT_EQ(writes.in_progress(), 4u);
    EXPECT_TRUE(writes.flush(WriteLevel::sent).wait().ok()) << "few bytes are copied, also those held back";
    EXPECT_EQ(writes.in_progress(), 4u);
}

TEST_F(RemoteWritesSilence, a_flush_ends_by_the_deadlines) {
    RemoteWrites writes(user_, {.deadline = 20ms});
    ASSERT_TRUE(writes.write(token_[0], 1).ok());
    EXPECT_EQ(writes.flush().wait().code(), Errc::timed_out);
    EXPECT_EQ(writes.in_progress(), 0u);
    EXPECT_TRUE(writes.flush().wait().ok()) << "it was told";
}

TEST_F(RemoteWritesSilence, what_is_wrong_with_a_token_is_told_at_once) {
    RemoteWrites writes(user_);
    const Words three{1, 2, 3};
    EXPECT_EQ(writes.write(token_.subspan(0, 2), three).code(), Errc::invalid_argument);
    EXPECT_EQ(writes.write(hl::RemoteBytes(), std::as_bytes(std::span(three))).code(), Errc::invalid_argument);
    EXPECT_EQ(writes.write(shared_.span(0, 3, Access::read), three).code(), Errc::permission);
    EXPECT_EQ(writes.in_progress(), 0u);
}

TEST_F(RemoteWritesSilence, they_are_canceled_when_nobody_waits_for_them) {
    std::promise<Result<void>> promise;
    {
        RemoteWrites writes(user_);
        ASSERT_TRUE(writes.write(token_[0], 1).ok());
        writes.fence();
        ASSERT_TRUE(writes.write(token_[1], 1).ok());
        writes.flush().then([&](Result<void> done) { promise.set_value(std::move(done)); });
    }
    EXPECT_EQ(promise.get_future().get().code(), Errc::canceled);
    EXPECT_EQ(memory_, counted(100));
}

TEST_F(RemoteWritesSilence, waiting_inside_a_task_would_deadlock) {
    RemoteWrites writes(user_, {.deadline = 50ms});
    const auto task = [&]() -> Task<Errc> {
        (void)writes.write(token_[0], 1);
        const Errc refused = writes.flush().wait().code();
        (void)co_await writes.flush();
        co_return refused;
    };
    EXPECT_EQ(sync_wait(task()).code(), Errc::would_deadlock);
}

}  // namespace
}  // namespace cinnabar
