// SPDX-License-Identifier: BSD-3-Clause
// Handlers that run on arrival. If they answer at once, their request never becomes one of the context; anything else
// that they do makes it one.
#include "rpc_fixture.hpp"

#include <algorithm>

namespace cinnabar::rpc {
namespace {

class OnArrivalTest : public RpcTest {
  protected:
    OnArrivalTest() { leave_soon(); }
    void serve_on_arrival(const char* name, Function function) {
        Handler handler;
        handler.name = name;
        handler.on_arrival = true;
        handler.target = std::make_shared<Function>(std::move(function));
        handler.run = [](Request& request, void* target) noexcept { (*static_cast<Function*>(target))(request); };
        ASSERT_TRUE(target_.engine->serve(rpc_id(name), 0, std::move(handler)).ok());
    }
    // Does not include requests that run on arrival.
    [[nodiscard]] std::uint32_t requests_here() { return target_.context->counts().requests; }
    static void answer_with_input(Request& request) {
        const ConstBytes input = request.input();
        std::copy(input.begin(), input.end(), request.output_room().begin());
        request.respond(input.size());
        request.release();
    }
};

TEST_P(OnArrivalTest, AnswersBeforeItIsARequestOfTheContext) {
    std::uint32_t here = 99;
    serve_on_arrival("echo", [&](Request& request) {
        here = requests_here();
        answer_with_input(request);
    });
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(until([&] { return requests_here() == 0; }));
        Ending ending;
        send("echo", "as it is read", ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok);
        EXPECT_EQ(ending.output, "as it is read");
        EXPECT_EQ(here, 0u);
    }
}

TEST_P(OnArrivalTest, TheContextIsNotDrivenFromInside) {
    unsigned done = 99;
    serve_on_arrival("drives", [&](Request& request) {
        done = target_.context->progress(Microseconds{1'000'000}) + target_.context->trigger(64);
        request.respond(0);
        request.release();
    });
    Ending ending;
    send("drives", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(done, 0u);
}

TEST_P(OnArrivalTest, WhatItKeepsIsARequestLikeAnyOther) {
    Request* kept = nullptr;
    serve_on_arrival("keep", [&](Request& request) {
        request.detach();
        EXPECT_EQ(requests_here(), 1u);
        kept = &request;
    });
    serve_on_arrival("echo", &answer_with_input);
    Ending ending;
    send("keep", "for later", ending);
    ASSERT_TRUE(until([&] { return kept != nullptr; }));
    Ending other;
    send("echo", "in between", other);
    ASSERT_TRUE(until([&] { return other.count == 1; }));
    EXPECT_EQ(as_text(kept->input()), "for later");
    answer_with_input(*kept);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.output, "for later");
}

TEST_P(OnArrivalTest, ACancelReachesWhatItKeeps) {
    Request* kept = nullptr;
    bool told = false;
    serve_on_arrival("keep", [&](Request& request) {
        request.on_cancel([](Request&, void* flag) noexcept { *static_cast<bool*>(flag) = true; }, &told);
        kept = &request;
    });
    Ending ending;
    Call* call = send("keep", "", ending);
    ASSERT_TRUE(until([&] { return kept != nullptr; }));
    call->cancel();
    ASSERT_TRUE(until([&] { return told && ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::canceled);
    kept->respond_error(Errc::canceled);
    kept->release();
}

TEST_P(OnArrivalTest, ErrorsAndForgottenRequestsAreAnswered) {
    serve_on_arrival("fails", [](Request& request) {
        request.respond_error(Errc::application, 7, "no such thing");
        request.release();
    });
    serve_on_arrival("forgets", [](Request& request) { request.release(); });
    Ending failed;
    Ending forgotten;
    send("fails", "", failed);
    send("forgets", "", forgotten);
    ASSERT_TRUE(until([&] { return failed.count == 1 && forgotten.count == 1; }));
    EXPECT_EQ(failed.result, Errc::application);
    EXPECT_EQ(failed.app_code, 7u);
    EXPECT_EQ(failed.app_text, "no such thing");
    EXPECT_EQ(forgotten.result, Errc::canceled);
}

TEST_P(OnArrivalTest, WhatIsLargerOrOneWayRunsFromTrigger) {
    std::vector<std::uint32_t> here;
    serve_on_arrival("echo", [&](Request& request) {
        here.push_back(requests_here());
        if (!request.one_way()) return answer_with_input(request);
        request.release();
    });
    const std::string text(193, 'x');
    Ending large;
    send("echo", text, large);
    Ending one_way;
    Call* call = make("echo");
    call->args.one_way = true;
    ASSERT_EQ(call->forward(0, &Ending::take, &one_way), Errc::ok);
    ASSERT_TRUE(until([&] { return large.count == 1 && one_way.count == 1 && here.size() == 2; }));
    EXPECT_EQ(large.output, text);
    EXPECT_NE(here[0], 0u);
    EXPECT_NE(here[1], 0u);
}

TEST_P(OnArrivalTest, ResultsOfAnySize) {
    serve_on_arrival("large", [&](Request& request) {
        Bytes room;
        ASSERT_EQ(request.grow_output(300'000, room), Errc::ok);
        EXPECT_EQ(requests_here(), 1u);
        std::fill(room.begin(), room.end(), std::byte{'x'});
        request.respond(room.size());
        request.release();
    });
    Ending ending;
    send("large", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.output, std::string(300'000, 'x'));
}

// More replies than the transport has room for at once: the rest wait, as other replies do.
TEST_P(OnArrivalTest, RepliesThatCannotLeaveAtOnceLeaveLater) {
    constexpr int calls = 400;
    serve_on_arrival("page", [](Request& request) {
        const Bytes room = request.output_room();
        const std::size_t page_bytes = std::min<std::size_t>(room.size(), 3'000);
        std::fill_n(room.begin(), page_bytes, request.input().front());
        request.respond(page_bytes);
        request.release();
    });
    std::vector<Ending> endings(calls);
    for (int i = 0; i < calls; ++i) {
        const char letter = static_cast<char>('a' + i % 26);
        send("page", std::string_view(&letter, 1), endings[static_cast<std::size_t>(i)]);
    }
    ASSERT_TRUE(until([&] { return endings.back().count == 1 && endings.front().count == 1; }));
    ASSERT_TRUE(until([&] {
        return std::all_of(endings.begin(), endings.end(), [](const Ending& ending) { return ending.count == 1; });
    }));
    for (int i = 0; i < calls; ++i) {
        const Ending& ending = endings[static_cast<std::size_t>(i)];
        ASSERT_EQ(ending.result, Errc::ok);
        ASSERT_EQ(ending.output, std::string(ending.output.size(), static_cast<char>('a' + i % 26)));
    }
}

TEST_P(OnArrivalTest, CallsAreForwardedFromInside) {
    serve(origin_, "back", [](Request& request) {
        request.respond(0);
        request.release();
    });
    Ending back;
    serve_on_arrival("calls", [&](Request& request) {
        Errc why = Errc::ok;
        Call* call = target_.context->make_call(request.source(), why);
        ASSERT_NE(call, nullptr);
        call->args.rpc = rpc_id("back");
        ASSERT_EQ(call->forward(0, &Ending::take, &back), Errc::ok);
        request.respond(0);
        request.release();
    });
    Ending ending;
    send("calls", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1 && back.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
    EXPECT_EQ(back.result, Errc::ok);
}

TEST_P(OnArrivalTest, ADrainedEngineRefusesThemAsAllOthers) {
    int runs = 0;
    serve_on_arrival("echo", [&](Request& request) {
        ++runs;
        answer_with_input(request);
    });
    Ending first;
    send("echo", "", first);
    ASSERT_TRUE(until([&] { return first.count == 1; }));
    if (network_.one_process()) GTEST_SKIP() << "the origin would drain as well";
    target_.engine->drain();
    Ending ending;
    send("echo", "", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::shutting_down);
    EXPECT_EQ(runs, 1);
}

CINNABAR_OVER_ALL(OnArrivalTest);

}  // namespace
}  // namespace cinnabar::rpc
