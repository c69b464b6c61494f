// SPDX-License-Identifier: BSD-3-Clause
// A target that is offered more than it can take.
#include "frame.hpp"
#include "rpc_fixture.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

class OverloadTest : public RpcTest {
  protected:
    OverloadTest() {
        options_.context.initial_credits = 1;
        options_.credits_per_peer_max = 1;
    }
    // The handler keeps its requests, and with the first one the only credit.
    void serve_hold() {
        serve("hold", [this](Request& request) {
            order_ += as_text(request.input());
            held_.push_back(&request);
        });
    }
    void answer_all() {
        for (Request* request : std::exchange(held_, {})) {
            request->respond(0);
            request->release();
        }
    }

    std::string order_;
    std::vector<Request*> held_;
};

TEST_P(OverloadTest, ACallWhoseTimeIsHalfOverIsPassedBy) {
    serve_hold();
    Ending first;
    Ending stale;
    Ending fresh;
    send("hold", "1", first);
    ASSERT_TRUE(until([&] { return !held_.empty(); }));
    send("hold", "2", stale, Microseconds{1'000'000});
    pump_of({&origin_, &target_}).run_for(Microseconds{510'000});
    send("hold", "3", fresh);
    EXPECT_EQ(origin_.context->counts().queued, 2u);
    answer_all();
    ASSERT_TRUE(until([&] { return held_.size() == 1; }));
    EXPECT_EQ(order_, "13");
    answer_all();
    ASSERT_TRUE(until([&] {
        answer_all();
        return first.count + stale.count + fresh.count == 3;
    }));
    EXPECT_EQ(first.result, Errc::ok);
    EXPECT_EQ(fresh.result, Errc::ok);
}

TEST_P(OverloadTest, InTimeTheOldestGoesFirst) {
    serve_hold();
    Ending endings[4];
    send("hold", "1", endings[0], Microseconds{60'000'000});
    ASSERT_TRUE(until([&] { return !held_.empty(); }));
    send("hold", "2", endings[1], Microseconds{60'000'000});
    send("hold", "3", endings[2]);
    send("hold", "4", endings[3], Microseconds{60'000'000});
    ASSERT_TRUE(until([&] {
        answer_all();
        return order_.size() == 4;
    }));
    EXPECT_EQ(order_, "1234");
    ASSERT_TRUE(until([&] {
        answer_all();
        return endings[3].count == 1;
    }));
}

CINNABAR_OVER_ALL(OverloadTest);

// A foreign peer, which may send anything.
TEST_P(OverloadTest, APeerThatSendsBeyondItsCreditsIsCutOff) {
    if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
    serve_hold();
    support::Node rogue;
    rogue.transport = network_.open("rogue", {}).value();
    na::Transport* const transport = rogue.transport.get();
    na::ContextOptions one;
    one.threads = ThreadUse::one;
    rogue.context = na::Context::open({&transport, 1}, one, rogue.receiver).value();
    na::Peer* const peer = rogue.context->peer(to_).value();
    RequestHeader header;
    header.rpc = rpc_id("hold");
    std::array<na::Op, 3> ops;
    for (na::Op& op : ops) {
        op.kind = na::OpKind::send_unexpected;
        op.peer = peer;
        op.message = rogue.port().take_message();
        op.message_bytes = static_cast<std::uint32_t>(request_header_bytes);
        op.tag = 1;
        op.complete = [](na::Op&) noexcept {};
        encode_request(header, op.message->bytes());
        ASSERT_EQ(rogue.context->post(op), Errc::ok);
    }
    log_.allow("without credits");
    support::Pump both(network_.world_or_null());
    both.add(target_.context->na());
    both.add(*rogue.context);
    ASSERT_TRUE(both.until([&] { return rogue.receiver.count(na::PeerEvent::lost) == 1; }, std::chrono::seconds(20)));
    EXPECT_LE(held_.size(), 1u);
    answer_all();
    for (na::Op& op : ops) rogue.port().give_message(*op.message);
}

class FewHeldTest : public RpcTest {
  protected:
    FewHeldTest() {
        options_.context.initial_credits = 8;
        options_.requests_held_max = 4;
    }
};

// A peer may hold as many requests as it leaves free: two of four. After a refusal, the origin sends fewer at a time.
TEST_P(FewHeldTest, ARefusedRequestTakesItsCreditAlong) {
    std::vector<Request*> held;
    serve("hold", [&held](Request& request) {
        request.detach();
        held.push_back(&request);
    });
    Ending endings[8];
    for (Ending& ending : endings) send("hold", "", ending);
    const auto ended = [&] {
        return std::count_if(std::begin(endings), std::end(endings), [](const Ending& e) { return e.count == 1; });
    };
    ASSERT_TRUE(until([&] { return ended() == 6; }));
    for (const Ending& ending : endings) {
        if (ending.count == 1) {
            EXPECT_EQ(ending.result, Errc::overloaded);
        }
    }
    EXPECT_EQ(target_.context->counts().credits_granted, 2u);
    for (Request* request : std::exchange(held, {})) {
        request->respond(0);
        request->release();
    }
    ASSERT_TRUE(until([&] { return ended() == 8; }));
}

CINNABAR_OVER_ALL(FewHeldTest);

class CrowdedTest : public RpcTest {
  protected:
    CrowdedTest() {
        options_.context.initial_credits = 8;
        options_.requests_held_max = 12;
    }
    void TearDown() override {
        for (Side& side : others_) close(side);
        RpcTest::TearDown();
    }
    std::array<Side, 3> others_;
};

// However many peers have slow handlers, each may hold as many requests as all of them leave free, and the next peer
// finds room.
TEST_P(CrowdedTest, EachPeerHoldsWhatAllLeaveFree) {
    for (std::size_t i = 0; i < others_.size(); ++i) {
        open(others_[i], static_cast<std::uint16_t>(2 + i), false, ("other" + std::to_string(i)).c_str());
    }
    support::Pump all = pump_of({&origin_, &others_[0], &others_[1], &others_[2], &target_});
    std::vector<Request*> held;
    serve("hold", [&held](Request& request) {
        request.detach();
        held.push_back(&request);
    });
    std::array<std::array<Ending, 8>, 4> endings;
    const auto flood = [&](Side& from, std::array<Ending, 8>& ended, std::size_t taken) {
        for (Ending& ending : ended) {
            Errc why = Errc::ok;
            Call* const call = from.context->make_call(to_, why);
            ASSERT_NE(call, nullptr);
            call->args.rpc = rpc_id("hold");
            ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
        }
        const auto refused = [](const Ending& e) { return e.result == Errc::overloaded; };
        const std::size_t before = held.size();
        ASSERT_TRUE(all.until([&] {
            return held.size() == before + taken &&
                   std::count_if(ended.begin(), ended.end(), refused) == static_cast<long>(ended.size() - taken);
        }));
    };
    ASSERT_NO_FATAL_FAILURE(flood(origin_, endings[0], 6));
    ASSERT_NO_FATAL_FAILURE(flood(others_[0], endings[1], 3));
    ASSERT_NO_FATAL_FAILURE(flood(others_[1], endings[2], 1));
    ASSERT_NO_FATAL_FAILURE(flood(others_[2], endings[3], 1));
    for (Request* request : std::exchange(held, {})) {
        request->respond(0);
        request->release();
    }
    ASSERT_TRUE(all.until([&] {
        return origin_.context->counts().calls == 0 &&
               std::ranges::all_of(others_, [](const Side& side) { return side.context->counts().calls == 0; });
    }));
    for (const auto& ended : endings) {
        for (const Ending& ending : ended) EXPECT_EQ(ending.count, 1);
    }
}

CINNABAR_OVER_ALL(CrowdedTest);

class FewSlotsTest : public RpcTest {
  protected:
    FewSlotsTest() { transport_options_.send_slots_max = 256; }
};

// Two peers that spent all slots on calls to each other would wait for each other's answers for ever.
TEST_P(FewSlotsTest, CallsLeaveSomeForAnswers) {
    serve_echo();
    std::vector<Call*> calls;
    Errc why = Errc::ok;
    while (Call* const call = target_.context->make_call(to_, why)) calls.push_back(call);
    EXPECT_EQ(why, Errc::overloaded);
    EXPECT_EQ(calls.size(), 192u);
    Ending ending;
    send("echo", "answered", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.output, "answered");
    for (Call* const call : calls) call->release();
}

CINNABAR_OVER_ALL(FewSlotsTest);

}  // namespace
}  // namespace cinnabar::rpc
