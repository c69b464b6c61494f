// SPDX-License-Identifier: BSD-3-Clause
// An honest client beside a hostile one: its calls, transfers and large arguments succeed while the other does its
// worst, and everything that the hostile one held is free when it has gone.
#include "hostile_fixture.hpp"

#include <algorithm>
#include <deque>

namespace cinnabar::rpc {
namespace {

constexpr unsigned rude_peers = 3;
constexpr unsigned steps = 60;

class Hostile : public HostileTest {
  protected:
    void TearDown() override {
        rude_.clear();
        HostileTest::TearDown();
    }
    // Makes one more call of each kind.
    void call_honestly() {
        call_echo(endings_.emplace_back());
        call_pulled(endings_.emplace_back());
        call_large(endings_.emplace_back());
    }
    [[nodiscard]] bool all_ended() const {
        return std::ranges::all_of(endings_, [](const Ending& ending) { return ending.count == 1; });
    }
    void expect_all_ok() const {
        for (std::size_t i = 0; i < endings_.size(); ++i) {
            const char* const kinds[] = {"an echo", "what was pulled", "large arguments"};
            const Errc result = endings_[i].result;
            ASSERT_EQ(result, Errc::ok) << kinds[i % 3] << ", " << i << ": " << to_string(result);
        }
    }
    void meet_rude_peers() {
        for (unsigned i = 0; i < rude_peers; ++i) {
            rude_.push_back(std::make_unique<hostile::RudePeer>(rude_transport(i), rude_context(i)));
            rude_.back()->meet(to_);
            (void)rude_.back()->request(hostile::answered, {});  // the first message dials
        }
        ASSERT_TRUE(until([&] {
            for (auto& rude : rude_) rude->look();
            return std::ranges::all_of(rude_, [](const auto& rude) { return rude->connected(); });
        }));
    }
    void survive(const char* behaviour);

    std::deque<Ending> endings_;
    std::vector<std::unique_ptr<hostile::RudePeer>> rude_;
};

// All calls of the honest client succeed while three such peers do their worst.
void Hostile::survive(const char* name) {
    const hostile::Behaviour* const behaviour = hostile::behaviour(name);
    log_.allow("");  // the server logs what hostile peers do
    serve_all();
    call_honestly();
    ASSERT_TRUE(until([&] { return all_ended(); })) << "before anybody was rude";
    meet_rude_peers();
    unsigned rude_steps = 0;
    for (unsigned step = 1; step <= steps; ++step) {
        for (auto& rude : rude_) {
            if (rude->connected()) {
                behaviour->step(*rude, step);
                ++rude_steps;
            }
            if (behaviour->reads) rude->look();
        }
        if (step % 3 == 0) call_honestly();
        pump();
        release_some();
    }
    ASSERT_TRUE(until([&] {
        release_all();
        return all_ended();
    })) << "honest calls stand still";
    expect_all_ok();
    EXPECT_GE(rude_steps, rude_peers) << "they were cut off before they did anything";

    rude_.clear();
    EXPECT_TRUE(until([&] {
        release_all();
        const Context::Counts left = target_.context->counts();
        return left.requests == 0 && left.large_bytes == 0 && left.transfers == 0 && left.leases == 0;
    })) << "what the rude peers held is not free";
    call_honestly();
    EXPECT_TRUE(until([&] { return all_ended(); })) << "afterwards";
    expect_all_ok();
}

TEST_P(Hostile, FloodsUnread) { survive("FloodsUnread"); }
TEST_P(Hostile, AsksForEverything) { survive("AsksForEverything"); }
TEST_P(Hostile, WantsCreditsThenSilent) { survive("WantsCreditsThenSilent"); }
TEST_P(Hostile, SendsNoFrames) { survive("SendsNoFrames"); }
TEST_P(Hostile, LiesInControl) { survive("LiesInControl"); }
TEST_P(Hostile, PingsWithoutEnd) { survive("PingsWithoutEnd"); }
TEST_P(Hostile, CancelsWhatIsNotThere) { survive("CancelsWhatIsNotThere"); }
TEST_P(Hostile, CancelsWithoutEnd) { survive("CancelsWithoutEnd"); }
TEST_P(Hostile, CancelsWhatItAsks) { survive("CancelsWhatItAsks"); }
TEST_P(Hostile, FetchesNoResults) { survive("FetchesNoResults"); }
TEST_P(Hostile, LendsAndIsSilent) { survive("LendsAndIsSilent"); }
TEST_P(Hostile, SendsOneWay) { survive("SendsOneWay"); }
TEST_P(Hostile, ReadsAndTakesNothing) { survive("ReadsAndTakesNothing"); }

CINNABAR_OVER_ALL(Hostile);

}  // namespace
}  // namespace cinnabar::rpc
