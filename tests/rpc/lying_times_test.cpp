// SPDX-License-Identifier: BSD-3-Clause
// A target that makes its answers by hand, and lies about the times of its requests. Whatever it says, the parts of a
// call add up to the time that there was.
#include "frame.hpp"
#include "rpc_fixture.hpp"

#include <cinnabar/rpc/peer_times.hpp>

#include <array>
#include <cstdint>
#include <deque>

namespace cinnabar::rpc {
namespace {

class LyingTimes : public ::testing::Test {
  protected:
    // What the origin knows of one call.
    struct Seen {
        unsigned calls = 0;
        Errc result = Errc::again;
        bool has_times = false;
        CallTimes times;
        bool has_usual = false;
        UsualParts usual{};
    };

    void SetUp() override {
        if (const std::string missing = network_.missing(); !missing.empty()) GTEST_SKIP() << missing;
        na::TransportOptions listens;
        listens.listen = true;
        liar_.name = "liar";
        liar_.transport = network_.open(liar_.name, listens).value();
        na::Transport* const transport = liar_.transport.get();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        liar_.context = na::Context::open({&transport, 1}, one, liar_.receiver).value();
        to_ = liar_.addr();

        na::TransportOptions dials;
        dials.listen = false;
        engine_ = Engine::open({std::shared_ptr<na::Transport>(network_.open("origin", dials).value())}).value();
        Options options;
        options.context.threads = ThreadUse::one;
        context_ = engine_->open_context(options).value();
        pump_.add(context_->na());
        pump_.add(*liar_.context);
        network_.world().run_to(network_.world().now_us() + 1'000);  // Call::began_us of 0 is none
    }

    [[nodiscard]] Seen call(const TargetTimes& claimed) {
        Seen seen;
        Errc why = Errc::ok;
        Call* const call = context_->make_call(to_, why);
        EXPECT_NE(call, nullptr) << to_string(why);
        if (!call) return seen;
        call->args.rpc = rpc_id("lie");
        call->args.timed = true;
        call->began_us = context_->now_us();
        EXPECT_EQ(call->forward(0, &LyingTimes::take, &seen), Errc::ok);
        EXPECT_TRUE(pump_.until([&] {
            answer(claimed);
            return seen.calls == 1;
        }));
        return seen;
    }
    static void take(Call& call, void* user) noexcept {
        auto& seen = *static_cast<Seen*>(user);
        seen.result = call.result();
        seen.has_times = call.times(seen.times);
        seen.times.told = call.ended_us() + 3;
        seen.has_usual = call.usual_parts(seen.times.told, seen.usual);
        ++seen.calls;
        call.release();
    }
    // Answers the requests that have arrived, and gives their credits back.
    void answer(const TargetTimes& claimed) {
        const auto& arrived = liar_.receiver.messages;
        for (; looked_at_ < arrived.size(); ++looked_at_) {
            const auto& got = arrived[looked_at_];
            if (frame_kind(got.bytes) != static_cast<std::uint8_t>(FrameKind::request)) continue;
            na::Message* const message = liar_.port().take_message();
            ASSERT_NE(message, nullptr);
            const Bytes bytes = message->bytes().first(reply_header_bytes + times_bytes);
            encode_reply({Errc::ok, flag_times, 0, 0, 1}, bytes);
            encode_times(claimed, bytes.last(times_bytes));
            na::Op& op = ops_.emplace_back();
            op.kind = na::OpKind::send_expected;
            op.peer = got.source;
            op.tag = got.tag;
            op.message = message;
            op.message_bytes = static_cast<std::uint32_t>(bytes.size());
            op.complete = [](na::Op& sent) noexcept { sent.message->port->give_message(*sent.message); };
            ASSERT_EQ(liar_.context->post(op), Errc::ok);
        }
    }
    [[nodiscard]] static CallParts parts_of_usual(const UsualParts& usual) {
        CallParts parts{};
        for (std::size_t part = usual_parts_begin; part < call_parts; ++part) {
            const TimeUs two = usual[(part - usual_parts_begin) / 2];
            parts[part] = (part - usual_parts_begin) % 2 == 0 ? detail::lower_time(two) : detail::upper_time(two);
        }
        return parts;
    }

    support::Network network_{support::NetworkKind::sim_friendly};
    std::deque<na::Op> ops_;
    std::size_t looked_at_ = 0;
    support::Node liar_;
    std::unique_ptr<Engine> engine_;
    std::unique_ptr<Context> context_;
    support::Pump pump_{network_.world_or_null()};
    na::Addr to_;
};

TEST_F(LyingTimes, AddUpToTheTimeThatThereWas) {
    constexpr std::array<std::uint32_t, 4> spans{0, 1, std::uint32_t{1} << 24, ~std::uint32_t{0}};
    constexpr std::array<TimeUs, 4> moments{0, 1, ~TimeUs{0} / 2, ~TimeUs{0}};
    std::uint32_t calls = 0;
    TimeUs all = 0;
    for (const TimeUs came : moments) {
        for (const std::uint32_t waited : spans) {
            for (const std::uint32_t handled : spans) {
                for (const std::uint32_t transfers : spans) {
                    const Seen seen = call({waited, handled, transfers, came});
                    ASSERT_EQ(seen.result, Errc::ok) << to_string(seen.result);
                    ASSERT_TRUE(seen.has_times);
                    const CallParts parts = parts_of(seen.times);
                    ASSERT_EQ(parts, detail::cut_parts_of(seen.times)) << "what does not fit was kept";
                    TimeUs sum = 0;
                    for (const TimeUs part : parts) sum += part;
                    ASSERT_EQ(sum, whole_of(seen.times));
                    ASSERT_LT(sum, TimeUs{1} << usual_time_bits);
                    if (calls != 0) {  // the first call has made the connection
                        ASSERT_TRUE(seen.has_usual);
                        ASSERT_EQ(parts_of_usual(seen.usual), parts);
                    }
                    ++calls;
                    all += seen.times.answered - seen.times.made;
                }
            }
        }
    }
    PeerTimes counted;
    ASSERT_TRUE(context_->peer_times(to_, counted));
    EXPECT_EQ(counted.calls, calls);
    EXPECT_EQ(counted.sums_us[PeerTimes::whole], all);
    TimeUs sum = 0;
    for (std::size_t part = 0; part < call_parts; ++part) sum += counted.sums_us[part];
    EXPECT_EQ(sum, all);
}

}  // namespace
}  // namespace cinnabar::rpc
