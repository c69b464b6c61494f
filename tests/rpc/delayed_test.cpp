// SPDX-License-Identifier: BSD-3-Clause
// Requests that wait at the origin for room in the network, because the target does not read for a while.
#include "rpc_fixture.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace cinnabar::rpc {
namespace {

class DelayedTest : public RpcTest {
  protected:
    static constexpr std::size_t sent = 1000;
    static constexpr std::size_t bytes_each = 12'000;  // all together more than a socket has room for

    DelayedTest() {
        options_.context.initial_credits = 2 * sent;
        options_.leave_max = Microseconds{0};
        transport_options_.receive_slots = 8 * sent;
    }
};

// The deadline at the target is late only by the time in the network, not by the time of waiting at the origin.
TEST_P(DelayedTest, ARequestThatWaitsForRoomIsToldWhatIsLeftWhenItLeaves) {
    constexpr TimeUs stopped_us = 300'000;
    constexpr TimeUs round_us = 50'000;  // the maximal age of the time of a round, on a busy machine
    serve_echo();
    struct Came {
        std::size_t index;
        TimeUs deadline;
        TimeUs when;
    };
    std::vector<Came> came;
    serve("note", [&](Request& request) {
        const std::size_t index = std::stoul(std::string(as_text(request.input())));
        came.push_back({index, request.deadline(), steady_clock().now_us()});
        request.release();
    });
    Ending connected;
    send("echo", "", connected);
    ASSERT_TRUE(until([&] { return connected.count == 1; }));

    std::vector<Ending> endings(sent);
    std::vector<TimeUs> deadlines(sent);
    for (std::size_t i = 0; i < sent; ++i) {
        Call* const call = make("note", Microseconds{60'000'000});
        call->args.one_way = true;
        deadlines[i] = call->args.deadline;
        std::string text = std::to_string(i);
        text.resize(bytes_each, ' ');
        std::ranges::copy(as_bytes(text), call->input_room().begin());
        ASSERT_EQ(call->forward(text.size(), &Ending::take, &endings[i]), Errc::ok);
    }
    const TimeUs until_when = steady_clock().now_us() + stopped_us;
    while (steady_clock().now_us() < until_when) {
        (void)origin_.context->progress(Microseconds{1'000});
        (void)origin_.context->trigger(sent);
    }
    std::vector<bool> waited;
    for (const Ending& ending : endings) waited.push_back(ending.count == 0);
    // A part of one request may already have been sent; libfabric holds more of them.
    for (unsigned left = network_.is_ofi() ? 128 : 1; left > 0; --left) {
        const auto first = std::ranges::find(waited, true);
        ASSERT_NE(first, waited.end()) << "the network took them all";
        *first = false;
    }
    ASSERT_GT(std::ranges::count(waited, true), 0) << "the network took them all";

    const TimeUs reads_again = steady_clock().now_us();
    ASSERT_TRUE(until([&] { return came.size() == sent; }));
    for (const Came& each : came) {
        if (!waited[each.index]) continue;
        const TimeUs on_the_way = each.when - reads_again;
        ASSERT_LE(each.deadline, deadlines[each.index] + on_the_way + round_us) << each.index;
    }
}

INSTANTIATE_TEST_SUITE_P(Over, DelayedTest,
                         testing::Values(support::NetworkKind::tcp, support::NetworkKind::shm,
                                         support::NetworkKind::shm_buffers, support::NetworkKind::ofi_tcp_rxm,
                                         support::NetworkKind::ofi_net),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::rpc
