// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"

namespace cinnabar::rpc {
namespace {

class LargeTest : public RpcTest {
  protected:
    LargeTest() {
        options_.argument_bytes_max = 4u << 20;
        options_.overflow_bytes_max = 8u << 20;
    }
    static std::string pattern(std::size_t bytes) {
        std::string text(bytes, '\0');
        for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 131 >> 3);
        return text;
    }
    void serve_large_echo() {
        serve("echo", [](Request& request) {
            const ConstBytes input = request.input();
            Bytes room = request.output_room();
            if (room.size() < input.size() && request.grow_output(input.size(), room) != Errc::ok) {
                request.respond_error(Errc::too_large);
            } else {
                std::copy(input.begin(), input.end(), room.begin());
                request.respond(input.size());
            }
            request.release();
        });
    }
    void send_large(const std::string& text, Ending& ending) {
        Call* call = make("echo");
        Bytes room;
        ASSERT_EQ(call->grow_input(text.size(), room), Errc::ok);
        const ConstBytes bytes = as_bytes(text);
        std::copy(bytes.begin(), bytes.end(), room.begin());
        ASSERT_EQ(call->forward(text.size(), &Ending::take, &ending), Errc::ok);
    }
};

TEST_P(LargeTest, ArgumentsAndResultsGoByBulk) {
    serve_large_echo();
    for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{1'000'003}, std::size_t{4u << 20}}) {
        Ending ending;
        send_large(pattern(bytes), ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        EXPECT_TRUE(ending.output == pattern(bytes));
        ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; })) << "the result was released";
    }
}

TEST_P(LargeTest, OverTheLimitIsTooLarge) {
    Call* call = make("echo");
    Bytes room;
    EXPECT_EQ(call->grow_input((4u << 20) + 1, room), Errc::too_large);
    call->release();
}

TEST_P(LargeTest, TheByteBudgetIsOverloaded) {
    Call* first = make("echo");
    Call* second = make("echo");
    Call* third = make("echo");
    Bytes room;
    EXPECT_EQ(first->grow_input(4u << 20, room), Errc::ok);
    EXPECT_EQ(second->grow_input(4u << 20, room), Errc::ok);
    EXPECT_EQ(third->grow_input(4u << 20, room), Errc::overloaded);
    for (Call* call : {first, second, third}) call->release();
}

TEST_P(LargeTest, CancelDuringThePullReleasesBothSides) {
    serve_large_echo();
    for (int rounds = 0; rounds < 12; ++rounds) {
        Ending ending;
        Call* call = make("echo");
        Bytes room;
        ASSERT_EQ(call->grow_input(4u << 20, room), Errc::ok);
        ASSERT_EQ(call->forward(room.size(), &Ending::take, &ending), Errc::ok);
        for (int i = 0; i < rounds; ++i) pump();
        if (ending.count == 0) call->cancel();
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_TRUE(ending.result == Errc::canceled || ending.result == Errc::ok) << to_string(ending.result);
        ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
    }
}

// Both sides number their calls alike: an ending of the one must not be taken for that of the other.
TEST_P(LargeTest, ACanceledCallTheOtherWayDoesNotReleaseTheResult) {
    na::Addr back;
    serve("big", [&back](Request& request) {
        back = request.source();
        Bytes room;
        ASSERT_EQ(request.grow_output(1'000'000, room), Errc::ok);
        request.respond(room.size());
        request.release();
    });
    std::vector<Request*> held;
    serve(origin_, "hold", [&held](Request& request) {
        request.detach();
        held.push_back(&request);
    });
    const auto release_held = [&held] {
        for (Request* request : std::exchange(held, {})) request->release();
    };
    for (int rounds = 0; rounds < 40; ++rounds) {
        Ending there;
        Ending here;
        const Call* call = send("big", "", there);
        if (rounds == 0) {
            ASSERT_TRUE(until([&] { return there.count == 1; }));
        }
        Errc why = Errc::ok;
        Call* other = target_.context->make_call(back, why);
        ASSERT_NE(other, nullptr) << to_string(why);
        if (rounds == 0) {
            other->release();
            continue;
        }
        ASSERT_EQ(other->id(), call->id()) << "what this test is about";
        other->args.rpc = rpc_id("hold");
        ASSERT_EQ(other->forward(0, &Ending::take, &here), Errc::ok);
        for (int i = 0; i < rounds; ++i) pump();
        if (here.count == 0) other->cancel();
        ASSERT_TRUE(until([&] { return there.count == 1 && here.count == 1; }));
        EXPECT_EQ(there.result, Errc::ok) << to_string(there.result) << " after " << rounds << " rounds";
        release_held();
    }
}

// Its answers hold half of the slots, and there is no memory for copies.
TEST_P(LargeTest, AnOriginWithoutRoomForTheReplyGivesTheResultBack) {
    serve("big", [](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(1'000'000, room), Errc::ok);
        request.respond(room.size());
        request.release();
    });
    serve_echo();
    options_.overflow_bytes_max = 1;
    close(origin_);
    open(origin_, 1, false);
    std::vector<Call*> kept;
    std::uint32_t before = 0;
    do {
        before = origin_.context->counts().replies_kept;
        Errc why = Errc::ok;
        Call* call = origin_.context->make_call(to_, why);
        ASSERT_NE(call, nullptr) << to_string(why);
        call->args.rpc = rpc_id("echo");
        const auto keep = [](Call& over, void* all) noexcept {
            static_cast<std::vector<Call*>*>(all)->push_back(&over);
        };
        ASSERT_EQ(call->forward(1, keep, &kept), Errc::ok);
        const std::size_t count = kept.size() + 1;
        ASSERT_TRUE(until([&] { return kept.size() == count; }));
    } while (origin_.context->counts().replies_kept > before);
    Ending ending;
    (void)send("big", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::overloaded) << to_string(ending.result);
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; })) << "the result was released";
    for (Call* call : kept) call->release();
}

TEST_P(LargeTest, ClosingTheTargetTakesBackAResultThatNobodyFetched) {
    if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
    bool answered = false;
    serve("big", [&answered](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(1'000'000, room), Errc::ok);
        request.respond(room.size());
        request.release();
        answered = true;
    });
    Ending ending;
    send("big", "", ending);
    ASSERT_TRUE(until([&] { return answered; }));
    const std::weak_ptr<na::Transport> transport = target_.transport;
    close(target_);
    EXPECT_TRUE(transport.expired()) << "the result is still lent and registered";
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_NE(ending.result, Errc::ok);
}

TEST_P(LargeTest, OnePeerTakesHalfOfTheBudgetForItsArguments) {
    std::vector<Request*> held;
    serve("echo", [&held](Request& request) { held.push_back(&request); });
    Ending first;
    Ending second;
    Ending third;
    send_large(pattern(3u << 20), first);
    ASSERT_TRUE(until([&] { return held.size() == 1; }));
    send_large(pattern(3u << 20), second);
    ASSERT_TRUE(until([&] { return second.count == 1; }));
    EXPECT_EQ(second.result, Errc::overloaded) << to_string(second.result);
    held.front()->release_input();
    send_large(pattern(3u << 20), third);
    ASSERT_TRUE(until([&] { return held.size() == 2; })) << "what was released is free again";
    for (Request* request : held) {
        request->respond(0);
        request->release();
    }
    ASSERT_TRUE(until([&] { return first.count + third.count == 2; }));
    EXPECT_EQ(first.result, Errc::ok);
    EXPECT_EQ(third.result, Errc::ok);
}

CINNABAR_OVER_ALL(LargeTest);

class StalledTest : public LargeTest {
  protected:
    StalledTest() { options_.stall_max = Microseconds{50'000}; }
};

// Its call has no deadline, so nothing else would ever end this.
TEST_P(StalledTest, ArgumentsThatDoNotComeTimeOut) {
    bool served = false;
    serve("echo", [&served](Request& request) {
        served = true;
        request.respond(0);
        request.release();
    });
    Ending ending;
    send_large(pattern(4u << 20), ending);
    ASSERT_TRUE(until([&] { return served || target_.context->counts().overflow_bytes != 0; }));
    if (network_.is_sim()) network_.world().partition("origin", "target");
    const auto target_alone = [&](const std::function<bool()>& done) {
        return pump_of({&target_}).until(done, std::chrono::seconds(20));
    };
    if (network_.is_one_sided()) {
        // Here the target fetches them alone, so there is nothing to wait for.
        ASSERT_TRUE(target_alone([&] { return served; }));
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        return;
    }
    ASSERT_TRUE(target_alone([&] { return target_.context->counts().overflow_bytes == 0; }));
    if (network_.is_sim()) network_.world().heal("origin", "target");
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    // A fabric gives its peer up before that.
    const bool given_up = network_.kind() == support::NetworkKind::sim_strict;
    EXPECT_EQ(ending.result, given_up ? Errc::peer_lost : Errc::timed_out) << to_string(ending.result);
    EXPECT_FALSE(served);
}

CINNABAR_OVER_ALL(StalledTest);

}  // namespace
}  // namespace cinnabar::rpc
