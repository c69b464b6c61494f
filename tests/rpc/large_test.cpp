// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"

#include <algorithm>
#include <array>

namespace cinnabar::rpc {
namespace {

class LargeTest : public RpcTest {
  protected:
    LargeTest() {
        leave_soon();
        options_.argument_bytes_max = 4u << 20;
        options_.large_bytes_max = 16u << 20;
        options_.decoded_bytes_max = 16u << 20;
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
    // An origin that is another peer for the target.
    void open_another(Side& side) { open(side, network_.one_process() ? 2 : 0, false, "other"); }
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

TEST_P(LargeTest, TheMemoryOfAResultIsUsedForTheNextOne) {
    constexpr std::size_t result_bytes = 1'000'003;
    std::vector<const std::byte*> memory;
    serve("big", [&memory](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(result_bytes, room), Errc::ok);
        memory.push_back(room.data());
        request.respond(room.size());
        request.release();
    });
    for (int i = 0; i < 3; ++i) {
        Ending ending;
        (void)send("big", "", ending);
        ASSERT_TRUE(until([&] { return ending.count == 1 && target_.context->counts().requests == 0; }));
        ASSERT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        EXPECT_EQ(target_.context->counts().large_bytes, 0u);
        EXPECT_GE(target_.context->counts().large_bytes_kept, result_bytes);
        EXPECT_GE(origin_.context->counts().large_bytes_kept, result_bytes) << "what it fetched into, too";
    }
    EXPECT_EQ(memory, std::vector(3, memory.front()));
}

struct HugeTest : LargeTest {
    HugeTest() { options_.argument_bytes_max = options_.large_bytes_max = std::uint64_t{1} << 33; }
};

TEST_P(HugeTest, FourGiBAreTooLargeWhateverTheLimit) {
    Call* call = make("echo");
    Bytes room;
    EXPECT_EQ(call->grow_input(std::size_t{1} << 32, room), Errc::too_large);
    call->release();
}

TEST_P(LargeTest, OverTheLimitIsTooLarge) {
    Call* call = make("echo");
    Bytes room;
    EXPECT_EQ(call->grow_input((4u << 20) + 1, room), Errc::too_large);
    call->release();
}

TEST_P(LargeTest, TheByteBudgetIsOverloaded) {
    std::vector<Call*> calls;
    Bytes room;
    for (int i = 0; i < 5; ++i) {
        calls.push_back(make("echo"));
        EXPECT_EQ(calls.back()->grow_input(4u << 20, room), i < 4 ? Errc::ok : Errc::overloaded);
    }
    for (Call* call : calls) call->release();
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

// Both sides number their calls in the same way: the end of a call in one direction must not be taken for the end of
// one in the other.
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

// The replies that the origin keeps hold half of its slots, and there is no memory for copies.
TEST_P(LargeTest, AnOriginWithoutRoomForTheReplyGivesTheResultBack) {
    serve("big", [](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(1'000'000, room), Errc::ok);
        request.respond(room.size());
        request.release();
    });
    serve_echo();
    options_.large_bytes_max = 1;
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

// Arguments of 3 MiB and results of 3 MiB are half of the budget: then there is nothing left for this peer, but for
// another one.
TEST_P(LargeTest, OnePeerTakesHalfOfTheBudgetForArgumentsAndResults) {
    std::vector<Request*> held;
    serve("echo", [&held](Request& request) { held.push_back(&request); });
    Ending endings[4];
    send_large(pattern(3u << 20), endings[0]);
    ASSERT_TRUE(until([&] { return held.size() == 1; }));
    Bytes room;
    ASSERT_EQ(held.front()->grow_output(3u << 20, room), Errc::ok);
    send_large(pattern(3u << 20), endings[1]);
    ASSERT_TRUE(until([&] { return endings[1].count == 1; }));
    EXPECT_EQ(endings[1].result, Errc::overloaded) << to_string(endings[1].result);

    Side other;
    open_another(other);
    std::swap(origin_, other);
    send_large(pattern(3u << 20), endings[2]);
    ASSERT_TRUE(until([&] { return held.size() == 2; })) << "another peer has a share of its own";
    EXPECT_EQ(held.back()->grow_output(3u << 20, room), Errc::overloaded) << "not as much as is left";
    held.back()->respond(0);
    held.back()->release();
    held.pop_back();
    ASSERT_TRUE(until([&] { return endings[2].count == 1; }));
    EXPECT_EQ(endings[2].result, Errc::ok);
    std::swap(origin_, other);

    held.front()->release_input();
    send_large(pattern(3u << 20), endings[3]);
    ASSERT_TRUE(until([&] { return held.size() == 2; })) << "what was released is free again";
    held.front()->respond(3u << 20);
    held.back()->respond(0);
    for (Request* request : held) request->release();
    ASSERT_TRUE(until([&] { return endings[0].count + endings[3].count == 2; }));
    EXPECT_EQ(endings[0].result, Errc::ok);
    EXPECT_EQ(endings[3].result, Errc::ok);
    close(other);
}

TEST_P(LargeTest, OnePeerTakesHalfOfTheMemoryForDecodedArguments) {
    std::vector<Request*> held;
    serve("echo", [&held](Request& request) { held.push_back(&request); });
    Ending endings[3];
    send("echo", "first", endings[0]);
    send("echo", "second", endings[1]);
    ASSERT_TRUE(until([&] { return held.size() == 2; }));
    EXPECT_EQ(held[0]->charge_memory(6u << 20), Errc::ok);
    EXPECT_EQ(held[0]->charge_memory((2u << 20) + 1), Errc::too_large) << "more than it could ever have";
    EXPECT_EQ(held[1]->charge_memory((2u << 20) + 1), Errc::overloaded) << "more than is left of its half";
    EXPECT_EQ(held[1]->charge_memory(2u << 20), Errc::ok);
    EXPECT_EQ(target_.context->counts().decoded_bytes, 8u << 20);

    Side other;
    open_another(other);
    std::swap(origin_, other);
    send("echo", "of another peer", endings[2]);
    ASSERT_TRUE(until([&] { return held.size() == 3; }));
    EXPECT_EQ(held[2]->charge_memory(4u << 20), Errc::ok);
    EXPECT_EQ(held[2]->charge_memory(1), Errc::overloaded) << "more than it leaves free";
    held[2]->respond(0);
    held[2]->release();
    ASSERT_TRUE(until([&] { return endings[2].count == 1; }));
    std::swap(origin_, other);

    held[0]->respond(0);
    held[0]->release();
    const auto ended = [&] { return endings[0].count + endings[1].count; };
    ASSERT_TRUE(until([&] { return ended() == 1 && target_.context->counts().requests == 1; }));
    EXPECT_EQ(target_.context->counts().decoded_bytes, 2u << 20);
    EXPECT_EQ(held[1]->charge_memory(6u << 20), Errc::ok) << "what was released is free again";
    held[1]->respond(0);
    held[1]->release();
    ASSERT_TRUE(until([&] { return ended() == 2; }));
    close(other);
}

// The target answers and then sends nothing: the memory that the origin reserves for its results leaves some for
// results of other peers.
TEST_P(LargeTest, ResultsThatOnePeerClaimsLeaveRoomForThoseOfAnother) {
    if (network_.is_one_sided()) GTEST_SKIP() << "the origin fetches them alone";
    constexpr std::size_t bytes = 2u << 20;
    close(target_);
    options_.large_bytes_max = 64u << 20;
    open(target_, 0, true);
    Side other;
    open(other, 2, true, "other");
    std::vector<Request*> held;
    serve("big", [&held](Request& request) {
        request.detach();
        held.push_back(&request);
    });
    serve(other, "big", [](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(bytes, room), Errc::ok);
        request.respond(bytes);
        request.release();
    });
    to_ = target_.context->self_addr();
    std::array<Ending, 6> endings;
    for (Ending& ending : endings) (void)send("big", "", ending);
    ASSERT_TRUE(until([&] { return held.size() == endings.size(); }));
    for (Request* request : held) {
        Bytes room;
        ASSERT_EQ(request->grow_output(bytes, room), Errc::ok);
        request->respond(bytes);
        request->release();
    }
    ASSERT_TRUE(pump_of({&target_}).until([&] { return target_.context->counts().replies_unsent == 0; }));
    const auto overloaded = [&] {
        return std::count_if(endings.begin(), endings.end(),
                             [](const Ending& e) { return e.result == Errc::overloaded; });
    };
    ASSERT_TRUE(pump_of({&origin_}).until([&] { return overloaded() == 2; })) << overloaded();
    EXPECT_EQ(origin_.context->counts().large_bytes, 4 * bytes) << "as much as it leaves free";

    to_ = other.context->self_addr();
    Ending ending;
    (void)send("big", "", ending);
    ASSERT_TRUE(pump_of({&origin_, &other}).until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    ASSERT_TRUE(until(
        [&] { return std::all_of(endings.begin(), endings.end(), [](const Ending& e) { return e.count == 1; }); }));
    EXPECT_EQ(overloaded(), 2);
    const auto given_back = [&] { return other.context->counts().requests == 0; };
    EXPECT_TRUE(pump_of({&origin_, &target_, &other}).until(given_back));
    close(other);
}

CINNABAR_OVER_ALL(LargeTest);
CINNABAR_OVER_ALL(HugeTest);

class KeptResultTest : public LargeTest {
  protected:
    KeptResultTest() {
        options_.result_kept_max = Microseconds{50'000};
        options_.pull_rate_min = 1u << 30;
    }
};

// The call has no deadline, and its origin does not read any more.
TEST_P(KeptResultTest, IsGivenUpWhenNobodyFetchesIt) {
    bool answered = false;
    serve("big", [&answered](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(4u << 20, room), Errc::ok);
        request.respond(room.size());
        request.release();
        answered = true;
    });
    Ending ending;
    (void)send("big", "", ending);
    ASSERT_TRUE(until([&] { return answered; }));
    const auto given_up = [&] { return target_.context->counts().large_bytes == 0; };
    ASSERT_TRUE(pump_of({&target_}).until(given_up, std::chrono::seconds(20)));
    EXPECT_TRUE(pump_of({&target_}).until([&] { return target_.context->counts().requests == 0; }));
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_NE(ending.result, Errc::ok);
}

CINNABAR_OVER_ALL(KeptResultTest);

// Arguments and results of which a little arrives all the time.
class SlowTest : public LargeTest {
  protected:
    SlowTest() {
        options_.bulk.chunk_bytes = 4096;
        options_.bulk.window = 1;
        options_.stall_max = Microseconds{5'000};
    }
    void set_rate(std::uint64_t bytes_a_second) {
        close(origin_);
        close(target_);
        options_.pull_rate_min = bytes_a_second;
        open(target_, 0, true);
        open(origin_, 1, false);
        to_ = target_.context->self_addr();
        serve_large_echo();
    }
};

TEST_P(SlowTest, TheyAreGivenUpBelowTheLeastRate) {
    set_rate(1);
    Ending slow;
    send_large(pattern(4u << 20), slow);
    ASSERT_TRUE(until([&] { return slow.count == 1; }));
    EXPECT_EQ(slow.result, Errc::ok) << to_string(slow.result);
    set_rate(std::uint64_t{1} << 34);
    Ending too_slow;
    send_large(pattern(4u << 20), too_slow);
    ASSERT_TRUE(until([&] { return too_slow.count == 1; }));
    EXPECT_EQ(too_slow.result, Errc::timed_out) << to_string(too_slow.result);
    serve("big", [](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(4u << 20, room), Errc::ok);
        request.respond(room.size());
        request.release();
    });
    Ending result;
    (void)send("big", "", result);
    ASSERT_TRUE(until([&] { return result.count == 1; }));
    EXPECT_EQ(result.result, Errc::timed_out) << to_string(result.result);
}

// Only the simulated networks are reliably slow.
INSTANTIATE_TEST_SUITE_P(Over, SlowTest,
                         testing::Values(support::NetworkKind::sim_friendly, support::NetworkKind::sim_strict),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

class StalledTest : public LargeTest {
  protected:
    StalledTest() { options_.stall_max = Microseconds{50'000}; }
};

// The call has no deadline, so nothing else would ever end it.
TEST_P(StalledTest, ArgumentsThatDoNotComeTimeOut) {
    bool served = false;
    serve("echo", [&served](Request& request) {
        served = true;
        request.respond(0);
        request.release();
    });
    Ending ending;
    send_large(pattern(4u << 20), ending);
    ASSERT_TRUE(until([&] { return served || target_.context->counts().large_bytes != 0; }));
    if (network_.is_sim()) network_.world().partition("origin", "target");
    const auto target_alone = [&](const std::function<bool()>& done) {
        return pump_of({&target_}).until(done, std::chrono::seconds(20));
    };
    if (network_.is_one_sided()) {
        // On these networks the target fetches the arguments without the origin, so it has nothing to wait for.
        ASSERT_TRUE(target_alone([&] { return served; }));
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        return;
    }
    ASSERT_TRUE(target_alone([&] { return target_.context->counts().large_bytes == 0; }));
    if (network_.is_sim()) network_.world().heal("origin", "target");
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    // A fabric declares the peer lost before that.
    const bool given_up = network_.kind() == support::NetworkKind::sim_strict;
    EXPECT_EQ(ending.result, given_up ? Errc::peer_lost : Errc::timed_out) << to_string(ending.result);
    EXPECT_FALSE(served);
}

CINNABAR_OVER_ALL(StalledTest);

}  // namespace
}  // namespace cinnabar::rpc
