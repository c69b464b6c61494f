// SPDX-License-Identifier: BSD-3-Clause
// A peer that sends requests and does not read the replies, as bytes on a tcp connection, beside an honest client.
#include "../unit/tcp/raw_socket.hpp"
#include "frame.hpp"
#include "rpc_fixture.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cinnabar::rpc {
namespace {

class UnreadReplies : public RpcTest {
  protected:
    UnreadReplies() { options_.requests_held_max = 64; }

    void SetUp() override {
        RpcTest::SetUp();
        if (IsSkipped()) return;
        serve_echo();
        serve("big", [](Request& request) {
            request.respond(request.output_room().size());  // so that few fill the kernel's buffers
            request.release();
        });
        rogue_.emplace(target_.transport->endpoints().front());
        rogue_->write(tcp::dial_greeting(77));
        std::optional<tcp::Greeting> greeting;
        ASSERT_TRUE(until([&] { return (greeting = rogue_->take_greeting()).has_value(); }));
        ASSERT_EQ(greeting->hello.kind, na::HelloKind::accept);
        credits_ = greeting->hello.credits;
    }
    void TearDown() override {
        rogue_.reset();
        RpcTest::TearDown();
    }

    // False: the target has closed the connection.
    [[nodiscard]] bool send_big() {
        RequestHeader header;
        header.rpc = rpc_id("big");
        header.flags = flag_hungry;
        header.time_left_us = 60'000'000;
        std::array<std::byte, tcp::frame_header_bytes + 32> bytes{};
        const tcp::Frame frame{tcp::FrameKind::unexpected, 0, Errc::ok, 32, ++sent_};
        frame.encode(std::span<std::byte, tcp::frame_header_bytes>(bytes.data(), tcp::frame_header_bytes));
        encode_request(header, Bytes(bytes).last(32));
        const ssize_t sent = ::send(rogue_->fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return sent == static_cast<ssize_t>(bytes.size());
    }
    // What came so far, and the credits in it.
    void read() {
        while (rogue_->received() >= tcp::frame_header_bytes) {
            const std::vector<std::byte> head = *rogue_->take(tcp::frame_header_bytes);
            Reader reader(head);
            const std::uint8_t kind = reader.u8();
            (void)reader.view(3);
            const std::size_t bytes = reader.u32();
            std::optional<std::vector<std::byte>> message;
            ASSERT_TRUE(until([&] { return (message = rogue_->take((bytes + 7) / 8 * 8)).has_value(); }));
            const ConstBytes frame = ConstBytes(*message).first(bytes);
            if (kind == static_cast<std::uint8_t>(tcp::FrameKind::expected)) {
                ReplyHeader header;
                ConstBytes payload;
                ASSERT_EQ(decode_reply(frame, header, payload), Errc::ok);
                ++answered_;
                credits_ += header.credits;
            } else {
                read_control(frame);
            }
        }
    }
    void read_control(ConstBytes frame) {
        Reader reader(frame);
        std::uint8_t flags = 0;
        std::uint16_t records = 0;
        ASSERT_EQ(decode_control_header(reader, flags, records), Errc::ok);
        for (; records > 0; --records) {
            const ControlRecord record = decode_control(reader);
            if (record.type == ControlType::grant) credits_ += record.value;
        }
    }
    [[nodiscard]] bool read_until(const std::function<bool()>& done) {
        return until([&] {
            read();
            return done();
        });
    }
    // As an honest peer that asks for more, until it gets no more.
    void earn_credits() {
        std::uint32_t before = 0;
        while (std::exchange(before, credits_) < credits_) {
            ASSERT_TRUE(send_big());
            --credits_;
            ASSERT_TRUE(send_big());
            --credits_;
            ASSERT_TRUE(read_until([&] { return answered_ == sent_; }));
        }
        ASSERT_GT(credits_, options_.requests_held_max);
    }
    [[nodiscard]] Errc call_echo() {
        Ending ending;
        send("echo", "still here", ending, Microseconds{5'000'000});
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        return ending.result;
    }

    std::optional<tcp::RawSocket> rogue_;
    std::uint32_t credits_ = 0;
    std::uint64_t sent_ = 0;
    std::uint64_t answered_ = 0;
};

// It sends as if each reply had been read, far more than it has credits for.
TEST_P(UnreadReplies, HoldNoMoreThanTheShareOfOnePeer) {
    log_.allow("without credits");
    earn_credits();
    std::uint32_t most = 0;
    bool connected = true;
    for (int i = 0; i < 200 && connected; ++i) {
        for (int k = 0; k < 32 && connected; ++k) connected = send_big();
        for (int k = 0; k < 4; ++k) pump();
        most = std::max(most, target_.context->counts().requests);
        if (i % 10 == 0) {
            ASSERT_EQ(call_echo(), Errc::ok) << "after " << sent_ << " requests, " << most << " held";
        }
    }
    EXPECT_GE(most, options_.credits_per_peer_max) << "the replies left";
    EXPECT_LE(most, 2 * options_.credits_per_peer_max);
    EXPECT_EQ(call_echo(), Errc::ok);
    EXPECT_FALSE(connected);
}

// It sends as long as it has credits, and reads on later: nothing is lost, and it gets credits again.
TEST_P(UnreadReplies, AreNoReasonToCloseAConnectionThatKeepsToItsCredits) {
    earn_credits();
    const std::uint32_t share = options_.credits_per_peer_max;
    for (int i = 0; i < 10'000 && target_.context->counts().replies_unsent < share; ++i) {
        ASSERT_TRUE(send_big());
        pump();
    }
    // What it still has, but for some that may not have come back.
    const std::uint64_t before = sent_;
    for (std::uint32_t i = 0; i + 4 < credits_; ++i) ASSERT_TRUE(send_big());
    ASSERT_TRUE(until([&] { return target_.context->counts().replies_unsent == share + (sent_ - before); }));
    EXPECT_EQ(target_.context->counts().requests, share + (sent_ - before));
    EXPECT_EQ(call_echo(), Errc::ok);

    credits_ = 0;
    ASSERT_TRUE(read_until([&] { return answered_ == sent_; }));
    EXPECT_EQ(target_.context->counts().requests, 0u);
    ASSERT_TRUE(read_until([&] { return credits_ > 0; })) << "no credits after all was read";
    ASSERT_TRUE(send_big());
    ASSERT_TRUE(read_until([&] { return answered_ == sent_; }));
}

INSTANTIATE_TEST_SUITE_P(Over, UnreadReplies, testing::Values(support::NetworkKind::tcp),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

}  // namespace
}  // namespace cinnabar::rpc
