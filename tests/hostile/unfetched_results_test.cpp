// SPDX-License-Identifier: BSD-3-Clause
// A peer that asks for large results, reads every reply, but fetches no result. It gets no more credits until it has
// fetched the results or they have been given up, so no handler works for it, and memory does not fill up.
#include "hostile_fixture.hpp"
#include "rude_peer.hpp"

#include <cstdint>
#include <optional>

namespace cinnabar::rpc {
namespace {

constexpr std::uint64_t result_bytes = 1u << 20;

class UnfetchedResults : public HostileTest {
  protected:
    UnfetchedResults() {
        options_.context.initial_credits = 2;
        options_.large_bytes_max = 256u << 20;
        options_.unfetched_bytes_max = result_bytes;
        options_.result_kept_max = Microseconds{60'000'000};
    }
    void SetUp() override {
        RpcTest::SetUp();
        if (IsSkipped()) return;
        if (network_.one_process()) GTEST_SKIP() << "nobody is a stranger in a process";
        serve_all();
        greedy_.emplace(rude_transport(0), rude_context(0), hostile::RudePeer::Sends::in_batches);
        greedy_->remember();
        greedy_->meet(to_);
        ASSERT_TRUE(greedy_->request(hostile::answered, {}, flag_wants_credits));  // the first message dials
        ASSERT_TRUE(read_until([&] { return greedy_->replies() == 1; }));
    }
    void TearDown() override {
        greedy_.reset();
        RpcTest::TearDown();
    }
    [[nodiscard]] bool read_until(const std::function<bool()>& done) {
        return until([&] {
            greedy_->look();
            return done();
        });
    }
    // Sends requests as long as there are credits, beside an honest client.
    void ask_for_all() {
        unsigned idle = 0;
        for (unsigned rounds = 0; rounds < 2'000 && idle < 50; ++rounds) {
            const bool asks =
                greedy_->credits() != 0 && greedy_->request(hostile::large_result, {}, flag_wants_credits);
            idle = asks ? 0 : idle + 1;
            Ending ending;
            call_echo(ending);
            ASSERT_TRUE(read_until([&] { return ending.count == 1; }));
            ASSERT_EQ(ending.result, Errc::ok);
        }
        EXPECT_EQ(idle, 50u) << "it is given credits without end";
    }
    std::optional<hostile::RudePeer> greedy_;
};

TEST_P(UnfetchedResults, HoldBackCredits) {
    ask_for_all();
    // Two before the server notices, those that the credits in these replies allow, and those for earlier credits.
    EXPECT_LE(target_.context->counts().large_bytes, 8 * result_bytes);
    EXPECT_EQ(target_.context->counts().sessions_ended, 0u);
    const std::uint64_t replies = greedy_->replies();
    ASSERT_GE(greedy_->results().size(), 3u);
    for (hostile::RudePeer::Result& result : greedy_->results()) {
        ASSERT_TRUE(greedy_->give_back(result));
        ASSERT_TRUE(read_until([&] { return !greedy_->awaits_ack(); }));
    }
    ASSERT_TRUE(read_until([&] { return greedy_->credits() != 0; })) << "no credits after all was fetched";
    ASSERT_TRUE(read_until([&] { return target_.context->counts().large_bytes == 0; }));
    ASSERT_TRUE(greedy_->request(hostile::large_result, {}, flag_wants_credits));
    EXPECT_TRUE(read_until([&] { return greedy_->replies() == replies + 1; }));
}

CINNABAR_OVER_ALL(UnfetchedResults);

class ForgottenResults : public UnfetchedResults {
  protected:
    ForgottenResults() { options_.result_kept_max = patience; }
};

TEST_P(ForgottenResults, HoldBackCreditsUntilTheyAreGivenUp) {
    const auto held = [this] { return target_.context->counts().large_bytes; };
    ASSERT_TRUE(read_until([&] {
        if (greedy_->credits() != 0) (void)greedy_->request(hostile::large_result, {}, flag_wants_credits);
        return held() > 2 * result_bytes;
    }));
    ASSERT_TRUE(read_until([&] { return held() == 0; })) << "results are kept for ever";
    ASSERT_TRUE(read_until([&] { return greedy_->credits() != 0; })) << "no credits after all was given up";
    const std::uint64_t replies = greedy_->replies();
    ASSERT_TRUE(greedy_->request(hostile::answered, {}, flag_wants_credits));
    EXPECT_TRUE(read_until([&] { return greedy_->replies() == replies + 1; }));
}

CINNABAR_OVER_ALL(ForgottenResults);

}  // namespace
}  // namespace cinnabar::rpc
