// SPDX-License-Identifier: BSD-3-Clause
// What the header of a request carries besides the arguments.
#include "rpc_fixture.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

class HeaderTest : public RpcTest {};

TEST_P(HeaderTest, ATraceContextReachesTheHandler) {
    constexpr TraceContext trace{{0x1111, 0x2222}, 0x3333};
    std::vector<TraceContext> seen;
    std::string input;
    serve("traced", [&](Request& request) {
        seen.push_back(request.trace());
        request.detach();  // the arguments may move; in either place they must end before the trace context
        input = as_text(request.input());
        request.respond(0);
        request.release();
    });
    Ending endings[2];
    Call* call = make("traced");
    call->args.trace = trace;
    const ConstBytes bytes = as_bytes("arguments");
    std::copy(bytes.begin(), bytes.end(), call->input_room().begin());
    ASSERT_EQ(call->forward(bytes.size(), &Ending::take, &endings[0]), Errc::ok);
    ASSERT_TRUE(until([&] { return endings[0].count == 1; }));
    EXPECT_EQ(endings[0].result, Errc::ok);
    EXPECT_EQ(input, "arguments");
    send("traced", "", endings[1]);
    ASSERT_TRUE(until([&] { return endings[1].count == 1; }));
    ASSERT_EQ(seen.size(), 2u);
    EXPECT_EQ(seen[0], trace);
    EXPECT_FALSE(seen[1]) << "a slot that is used again has no trace of the last one";
}

TEST_P(HeaderTest, WhetherATraceIsSampledReachesTheHandler) {
    std::vector<bool> seen;
    serve("traced", [&](Request& request) {
        seen.push_back(request.asks().sampled());
        EXPECT_TRUE(request.asks().traced());
        request.respond(0);
        request.release();
    });
    for (const Sampled sampled : {Sampled::no, Sampled::yes, Sampled::no}) {
        Ending ending;
        Call* call = make("traced");
        call->args.trace = {{1, 2}, 3};
        call->args.sampled = sampled;
        ASSERT_EQ(call->forward(0, &Ending::take, &ending), Errc::ok);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
    }
    EXPECT_EQ(seen, (std::vector<bool>{false, true, false}));
}

TEST_P(HeaderTest, FullMessagesLeaveRoomForIt) {
    serve_echo();
    Ending ending;
    Call* call = make("echo");
    call->args.trace = {{1, 2}, 3};
    const std::size_t bytes = call->input_room().size();
    std::fill(call->input_room().begin(), call->input_room().end(), std::byte{0x5a});
    ASSERT_EQ(call->forward(bytes, &Ending::take, &ending), Errc::ok);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
    EXPECT_EQ(ending.output, std::string(bytes, 0x5a));
}

class ChecksumTest : public RpcTest {
  protected:
    ChecksumTest() { options_.checksums = true; }
};

TEST_P(ChecksumTest, CallsWithChecksumsSucceed) {
    serve_echo();
    for (const std::string& text : {std::string(), std::string("short"), std::string(9'000, 'x')}) {
        Ending ending;
        send("echo", text, ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok);
        EXPECT_EQ(ending.output, text);
    }
}

CINNABAR_OVER_ALL(HeaderTest);
CINNABAR_OVER_ALL(ChecksumTest);

}  // namespace
}  // namespace cinnabar::rpc
