// SPDX-License-Identifier: BSD-3-Clause
// What higher layers build on: when a reply has been sent, how much fits in a message, and how many callbacks are
// queued.
#include "rpc_fixture.hpp"

namespace cinnabar::rpc {
namespace {

struct Sent {
    int count = 0;
    Errc result = Errc::again;

    static void take(Request&, Errc result, void* user) noexcept {
        auto& sent = *static_cast<Sent*>(user);
        ++sent.count;
        sent.result = result;
    }
};

class SentTest : public RpcTest {
  protected:
    SentTest() { leave_soon(); }
    Sent sent_;
};

TEST_P(SentTest, TellsOnceWhenTheReplyHasLeftAndKeepsTheRequestUntilThen) {
    bool inside = false;
    serve("told", [&](Request& request) {
        request.respond(0, 0, &Sent::take, &sent_);
        request.release();
        inside = sent_.count != 0;
    });
    Ending ending;
    send("told", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1 && sent_.count == 1; }));
    EXPECT_FALSE(inside) << "never from inside the call";
    EXPECT_EQ(sent_.result, Errc::ok);
    ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
    EXPECT_EQ(sent_.count, 1);
}

TEST_P(SentTest, TellsOfLargeResultsAndOfOneWayRequestsToo) {
    serve("large", [&](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(300'000, room), Errc::ok);
        request.respond(room.size(), 0, &Sent::take, &sent_);
        request.release();
    });
    Ending ending;
    send("large", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1 && sent_.count == 1; }));
    EXPECT_EQ(ending.output.size(), 300'000u);
    EXPECT_EQ(sent_.result, Errc::ok);

    Ending one_way;
    Call* call = make("large");
    call->args.one_way = true;
    ASSERT_EQ(call->forward(0, &Ending::take, &one_way), Errc::ok);
    ASSERT_TRUE(until([&] { return one_way.count == 1 && sent_.count == 2; }));
}

TEST_P(SentTest, TellsThatAReplyWillNeverLeave) {
    Request* held = nullptr;
    serve("hold", [&](Request& request) {
        request.detach();
        held = &request;
    });
    Ending ending;
    send("hold", "", ending);
    ASSERT_TRUE(until([&] { return held != nullptr; }));
    close(origin_);
    ASSERT_TRUE(until([&] { return held->canceled(); }));
    held->respond(0, 0, &Sent::take, &sent_);
    held->release();
    ASSERT_TRUE(until([&] { return sent_.count == 1; }));
    // A small reply may be sent before the end of the connection, which is reported separately, is read.
    EXPECT_TRUE(sent_.result == Errc::peer_lost ||
                ((network_.tells_ends_apart() || network_.is_sim()) && sent_.result == Errc::ok))
        << to_string(sent_.result);
}

TEST_P(SentTest, EagerBytesAreWhatOneMessageHolds) {
    Call* call = make("echo");
    EXPECT_EQ(call->input_room().size(), origin_.engine->input_bytes_eager());
    call->release();
    serve("room", [&](Request& request) {
        EXPECT_EQ(request.output_room().size(), target_.engine->output_bytes_eager());
        request.respond(0);
        request.release();
    });
    Ending ending;
    send("room", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
}

TEST_P(SentTest, CompletionsAreCounted) {
    serve_echo();
    Ending endings[3];
    for (Ending& ending : endings) send("echo", "", ending);
    EXPECT_EQ(origin_.context->na().completions(), 0u);
    ASSERT_TRUE(until([&] { return endings[2].count == 1; }));
    EXPECT_EQ(origin_.context->na().completions(), 0u);
    Ending canceled;
    send("echo", "", canceled)->cancel();
    EXPECT_EQ(origin_.context->na().completions(), 1u);
    ASSERT_TRUE(until([&] { return canceled.count == 1; }));
    EXPECT_EQ(origin_.context->na().completions(), 0u);
}

CINNABAR_OVER_ALL(SentTest);

}  // namespace
}  // namespace cinnabar::rpc
