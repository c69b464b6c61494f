// SPDX-License-Identifier: BSD-3-Clause
// Writes that notify the owner once their bytes are in place.
#include "remote_fixture.hpp"

#include <atomic>
#include <mutex>
#include <semaphore>
#include <thread>

namespace cinnabar {
namespace {

using namespace test;
using hl::RemoteNotice;

class RemoteNotify : public RemoteWords {
  protected:
    void SetUp() override {
        shared_.on_notified([this](const RemoteNotice& notice) {
            const std::lock_guard lock(mutex_);
            notices_.push_back(notice);
            seen_.push_back(memory_[notice.offset / 8]);
        });
    }
    std::mutex mutex_;
    std::vector<RemoteNotice> notices_;
    Words seen_;  // the first word at the time of each notice
};

TEST_P(RemoteNotify, the_owner_is_told_once_the_bytes_are_in_place) {
    for (const Names names : {Names::this_version, Names::any_version}) {
        const RemoteSpan<std::uint64_t> token = shared_.span(names).at(pair_.to);
        ASSERT_TRUE(token.subspan(5, 2).write(user(), Words{71, 72}, {.notify = 3}).wait().ok());
        ASSERT_TRUE(token.subspan(100, 50'000).write(user(), counted(50'000, 9), {.notify = 4}).wait().ok());
        ASSERT_TRUE(token.subspan(7, 1).write(user(), Words{1}).wait().ok());
        const std::lock_guard lock(mutex_);
        ASSERT_EQ(notices_.size(), 2u);
        EXPECT_EQ(notices_[0].value, 3u);
        EXPECT_EQ(notices_[0].offset, 40u);
        EXPECT_EQ(notices_[0].bytes, 16u);
        EXPECT_FALSE(notices_[0].from.empty());
        EXPECT_EQ(notices_[1].value, 4u);
        EXPECT_EQ(notices_[1].offset, 800u);
        EXPECT_EQ(notices_[1].bytes, 400'000u);
        EXPECT_EQ(seen_, (Words{71, 9}));
        notices_.clear();
        seen_.clear();
    }
}

TEST_P(RemoteNotify, a_write_of_many_parts_is_told_once) {
    const auto token = this->token();
    const Words from{8, 9};
    const std::vector<hl::RemoteWrite> parts{{token[3].token(), std::as_bytes(std::span(from).first(1))},
                                             {token[1].token(), std::as_bytes(std::span(from).last(1))}};
    ASSERT_TRUE(hl::write_many(user(), parts, {.notify = 5}).wait().ok());
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(notices_.size(), 1u);
    EXPECT_EQ(notices_[0].offset, 24u);
    EXPECT_EQ(notices_[0].bytes, 16u);
    EXPECT_EQ(memory_[1], 9u);
}

// Two calls would tell the owner of the first before the second is in place.
TEST_P(RemoteNotify, a_write_that_needs_two_calls_cannot_tell) {
    const auto token = this->token();
    const Words from(hl::remote_parts_max + 1, 6);
    std::vector<hl::RemoteWrite> parts;
    for (const std::uint64_t& word : from)
        parts.push_back({token[parts.size() % 4].token(), std::as_bytes(std::span(&word, 1))});
    EXPECT_EQ(hl::write_many(user(), parts, {.notify = 5}).wait().code(), Errc::too_large);
    parts.pop_back();
    ASSERT_TRUE(hl::write_many(user(), parts, {.notify = 6}).wait().ok());
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(notices_.size(), 1u);
    EXPECT_EQ(notices_[0].value, 6u);
    EXPECT_EQ(notices_[0].bytes, hl::remote_parts_max * sizeof(std::uint64_t));
}

TEST_P(RemoteNotify, a_write_that_is_refused_is_not_told) {
    const auto old = token();
    shared_.renew();
    EXPECT_EQ(old.subspan(0, 2).write(user(), Words{1, 2}, {.notify = 1}).wait().code(), Errc::stale);
    EXPECT_EQ(old.write(user(), Words(count), {.notify = 2}).wait().code(), Errc::stale);
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(notices_.empty());
}

TEST_P(RemoteNotify, the_function_is_let_go_when_the_memory_is_withdrawn) {
    const auto held = std::make_shared<int>(1);
    shared_.on_notified([held](const RemoteNotice&) {});
    EXPECT_EQ(shared_.withdraw(), Errc::ok);
    EXPECT_EQ(held.use_count(), 1);
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteNotify);

// Whatever the notice function uses may be freed once the memory is withdrawn.
TEST(RemoteNotifyTcp, withdrawing_waits_for_a_running_notice_function) {
    Pair pair(way_named("tcp"));
    Words memory(8);
    auto shared = share(pair.owner, std::span(memory)).value();
    std::binary_semaphore told(0);
    std::binary_semaphore go_on(0);
    std::atomic<bool> over = false;
    shared.on_notified([&](const RemoteNotice&) {
        told.release();
        go_on.acquire();
        over = true;
    });
    const auto token = shared.span().at(pair.to);
    const Words word{1};
    auto writing = token.subspan(0, 1).write(pair.user, word, {.notify = 1}).future();
    told.acquire();
    EXPECT_TRUE(shared.in_use());
    std::thread withdraws([&] {
        EXPECT_EQ(shared.withdraw(), Errc::ok);
        EXPECT_TRUE(over);
    });
    while (!shared.token().empty()) std::this_thread::yield();  // until withdraw() has begun
    go_on.release();
    withdraws.join();
    EXPECT_TRUE(writing.get().ok());
}

}  // namespace
}  // namespace cinnabar
