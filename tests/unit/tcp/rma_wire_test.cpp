// SPDX-License-Identifier: BSD-3-Clause
// Lane 1 with hand-made frames: what is received and what is answered. Also the same transfers between two transports.
#include "fixture.hpp"
#include "raw_socket.hpp"

#include <atomic>

namespace cinnabar::tcp {
namespace {

class RmaWire : public TcpTest {
  protected:
    RmaWire() : server_(open()), memory_(64 * 1024) {
        support::fill_pattern(memory_, 3);
        message_lane_ = std::make_unique<RawSocket>(server_.endpoint());
        message_lane_->write(dial_greeting(5));
        std::optional<Greeting> accepted;
        EXPECT_TRUE(until([&] { return (accepted = message_lane_->take_greeting()).has_value(); }));
        Greeting greeting = dial_greeting(5);
        greeting.hello.kind = na::HelloKind::lane;
        greeting.hello.lane = 1;
        greeting.hello.peer_incarnation = server_.transport->incarnation();
        greeting.token = accepted->token;
        raw_ = std::make_unique<RawSocket>(server_.endpoint());
        raw_->write(greeting);
        EXPECT_TRUE(until([&] { return raw_->take_greeting().has_value(); }));
    }
    [[nodiscard]] Lent& lend_all(na::Access access) {
        return lend(server_, {{memory_.data(), memory_.size()}}, access);
    }
    [[nodiscard]] static FrameBody at(const Lent& lent, std::uint64_t offset, std::uint64_t left) {
        ByteReader reader(lent.key);
        FrameBody body;
        body.key = na::LeaseKey::decode(reader);
        body.offset = offset;
        body.left = left;
        return body;
    }
    // The next answer: its header and body, without data.
    Frame answer(FrameBody* body = nullptr) {
        Frame frame;
        std::optional<std::vector<std::byte>> bytes;
        EXPECT_TRUE(until([&] { return (bytes = raw_->take(frame_header_bytes)).has_value(); }));
        EXPECT_EQ(decode_header(*bytes, LaneKind::bulk, 0, frame), Errc::ok);
        FrameBody got;
        if (const std::size_t more = body_bytes(frame.kind); more > 0) {
            EXPECT_TRUE(until([&] { return (bytes = raw_->take(more)).has_value(); }));
            EXPECT_EQ(na::decode_access_body(access_of(frame), *bytes, got), Errc::ok);
        }
        if (body) *body = got;
        return frame;
    }
    void expect_put_refused(const FrameBody& body, Errc why) {
        const std::vector<std::byte> before = memory_;
        const std::vector<std::byte> data(body.left <= 4096 ? body.left : 4096, std::byte{0xff});
        raw_->write({FrameKind::put, 0, Errc::ok, static_cast<std::uint32_t>(data.size()), ++id_}, body, data);
        const Frame frame = answer();
        EXPECT_EQ(frame.kind, FrameKind::put_done);
        EXPECT_EQ(frame.id, id_);
        EXPECT_EQ(frame.status, why);
        EXPECT_EQ(memory_, before);
    }
    void expect_get_refused(const FrameBody& body, Errc why) {
        raw_->write({FrameKind::get, 0, Errc::ok, 0, ++id_}, body);
        const Frame frame = answer();
        EXPECT_EQ(frame.kind, FrameKind::get_failed);
        EXPECT_EQ(frame.id, id_);
        EXPECT_EQ(frame.status, why);
    }

    Process& server_;
    std::vector<std::byte> memory_;
    std::unique_ptr<RawSocket> message_lane_;
    std::unique_ptr<RawSocket> raw_;
    std::uint64_t id_ = 0;
};

TEST_F(RmaWire, AGetIsAnsweredWithItsBytes) {
    const Lent& lent = lend_all(na::Access::read);
    raw_->write({FrameKind::get, 0, Errc::ok, 0, 77}, at(lent, 100, 5000));
    const Frame frame = answer();
    EXPECT_EQ(frame.kind, FrameKind::get_data);
    EXPECT_EQ(frame.id, 77u);
    ASSERT_EQ(frame.bytes, 5000u);
    std::optional<std::vector<std::byte>> data;
    ASSERT_TRUE(until([&] { return (data = raw_->take(5000)).has_value(); }));
    EXPECT_TRUE(support::holds_pattern(*data, 3, 100));
}

TEST_F(RmaWire, APutIsPlacedAnsweredAndAnnounced) {
    const Lent& lent = lend_all(na::Access::write);
    std::vector<std::byte> data(3000);
    support::fill_pattern(data, 9);
    // The put has two frames; the notification in the last one counts.
    FrameBody body = at(lent, 500, 3000);
    body.notify = 0x1234;
    raw_->write({FrameKind::put, flag_notify, Errc::ok, 1000, 8}, body, ConstBytes(data).first(1000));
    pump_.run_for(Microseconds(2000));
    EXPECT_TRUE(server_.receiver.notified.empty());
    body.offset += 1000;
    body.left -= 1000;
    raw_->write({FrameKind::put, flag_notify, Errc::ok, 2000, 8}, body, ConstBytes(data).subspan(1000));
    const Frame frame = answer();
    EXPECT_EQ(frame.kind, FrameKind::put_done);
    EXPECT_EQ(frame.status, Errc::ok);
    ASSERT_EQ(server_.receiver.notified.size(), 1u);
    EXPECT_EQ(server_.receiver.notified[0].value, 0x1234u);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(memory_).subspan(500, 3000), 9));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(memory_).first(500), 3));
}

TEST_F(RmaWire, WrongKeysBoundsAndPermissionsAreRefused) {
    const Lent& readable = lend_all(na::Access::read);
    const Lent& writable = lend_all(na::Access::write);
    FrameBody wrong = at(readable, 0, 8);
    wrong.key.key ^= 1;
    expect_get_refused(wrong, Errc::permission);
    wrong = at(readable, 0, 8);
    wrong.key.slot = 0xffffffff;
    expect_get_refused(wrong, Errc::permission);
    wrong = at(readable, 0, 8);
    ++wrong.key.generation;
    expect_get_refused(wrong, Errc::permission);
    expect_get_refused(FrameBody{}, Errc::permission);
    expect_get_refused(at(writable, 0, 8), Errc::permission);
    expect_put_refused(at(readable, 0, 8), Errc::permission);
    const std::uint64_t end = memory_.size();
    expect_get_refused(at(readable, end - 7, 8), Errc::too_large);
    expect_get_refused(at(readable, end + 1, 0), Errc::too_large);
    expect_get_refused(at(readable, ~std::uint64_t{0} - 3, 8), Errc::too_large);
    expect_get_refused(at(readable, 8, ~std::uint64_t{0} - 3), Errc::too_large);
    expect_put_refused(at(writable, end - 7, 8), Errc::too_large);
    expect_put_refused(at(writable, ~std::uint64_t{0} - 3, 8), Errc::too_large);
    // The operation as a whole does not fit, so not even its first frame is written.
    expect_put_refused(at(writable, end - 4096, 8192), Errc::too_large);
    EXPECT_TRUE(support::holds_pattern(memory_, 3));
    EXPECT_FALSE(raw_->closed()) << "a refused access costs the operation, not the session";
}

TEST_F(RmaWire, TheKeyOfARevokedLeaseIsUnknown) {
    Lent& lent = lend_all(na::Access::read_write);
    const FrameBody old = at(lent, 0, 8);
    revoke(server_, lent);
    expect_get_refused(old, Errc::permission);
    expect_put_refused(old, Errc::permission);
    EXPECT_EQ(server_.transport->grant(lent.lease), Errc::ok);
    expect_get_refused(old, Errc::permission);
}

TEST_F(RmaWire, UnsolicitedAnswersAreIgnored) {
    raw_->write({FrameKind::put_done, 0, Errc::ok, 0, 12345});
    raw_->write({FrameKind::get_failed, 0, Errc::permission, 0, 0xffffffffffffffff});
    raw_->write({FrameKind::atomic_done, 0, Errc::ok, 0, 1});
    raw_->write({FrameKind::stop, 0, Errc::ok, 0, 99});
    raw_->write({FrameKind::get_data, 0, Errc::ok, 2000, 4711}, {}, std::vector<std::byte>(2000));
    const Lent& lent = lend_all(na::Access::read);
    raw_->write({FrameKind::get, 0, Errc::ok, 0, 1}, at(lent, 0, 16));
    EXPECT_EQ(answer().kind, FrameKind::get_data);
}

TEST_F(RmaWire, MalformedBytesEndTheSession) {
    log_.allow("malformed frame");
    raw_->write({FrameKind::put, 0, Errc::ok, frame_data_bytes_max + 1, 1});
    EXPECT_TRUE(until([&] { return raw_->closed() && message_lane_->closed(); }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::protocol);
}

TEST_F(RmaWire, TooManyPendingRequestsEndTheSession) {
    const Lent& lent = lend_all(na::Access::read);
    // The answers are never read, so they pile up.
    std::vector<std::byte> many;
    for (std::uint64_t i = 0; i < 3000; ++i) {
        std::array<std::byte, frame_header_bytes + frame_body_bytes_max> bytes{};
        const std::size_t count = encode_frame({FrameKind::get, 0, Errc::ok, 0, i}, at(lent, 0, 64 * 1024), bytes);
        many.insert(many.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    }
    raw_->write(many);
    EXPECT_TRUE(until([&] { return server_.receiver.count(na::PeerEvent::lost) == 1; }));
    EXPECT_EQ(server_.receiver.events.back().why, Errc::overloaded);
}

TEST_F(RmaWire, AStoppedGetIsNotServedFurther) {
    std::vector<std::byte> large(64 << 20);
    const Lent& lent = lend(server_, {{large.data(), large.size()}}, na::Access::read);
    raw_->write({FrameKind::get, 0, Errc::ok, 0, 5}, at(lent, 0, large.size()));
    pump_.run_for(Microseconds(5000));
    raw_->write({FrameKind::stop, 0, Errc::ok, 0, 5});
    raw_->write({FrameKind::get, 0, Errc::ok, 0, 6}, at(lent, 0, 8));
    // Data of the first get come before those of the second.
    std::size_t first = 0;
    for (;;) {
        const Frame frame = answer();
        ASSERT_EQ(frame.kind, FrameKind::get_data);
        ASSERT_TRUE(until([&] { return raw_->take(frame.bytes).has_value(); }));
        if (frame.id == 6) break;
        first += frame.bytes;
    }
    EXPECT_LT(first, large.size());
}

TEST_F(RmaWire, AtomicsOnAlignedCells) {
    alignas(8) std::array<std::uint64_t, 4> cells{10, 20, 30, 40};
    const Lent& lent = lend(server_, {{reinterpret_cast<std::byte*>(cells.data()), sizeof cells}});
    FrameBody body = at(lent, 8, 0);
    body.operand = 5;
    raw_->write({FrameKind::fetch_add, 0, Errc::ok, 0, 1}, body);
    FrameBody got;
    EXPECT_EQ(answer(&got).status, Errc::ok);
    EXPECT_EQ(got.value, 20u);
    EXPECT_EQ(cells[1], 25u);
    body.operand = 99;
    body.compare = 24;
    raw_->write({FrameKind::compare_swap, 0, Errc::ok, 0, 2}, body);
    EXPECT_EQ(answer(&got).status, Errc::ok);
    EXPECT_EQ(got.value, 25u);
    EXPECT_EQ(cells[1], 25u);
    body.compare = 25;
    raw_->write({FrameKind::compare_swap, 0, Errc::ok, 0, 3}, body);
    EXPECT_EQ(answer(&got).status, Errc::ok);
    EXPECT_EQ(got.value, 25u);
    EXPECT_EQ(cells[1], 99u);
    body.offset = 4;
    raw_->write({FrameKind::fetch_add, 0, Errc::ok, 0, 4}, body);
    EXPECT_EQ(answer(&got).status, Errc::invalid_argument);
    body.offset = 32;
    raw_->write({FrameKind::fetch_add, 0, Errc::ok, 0, 5}, body);
    EXPECT_EQ(answer(&got).status, Errc::too_large);
}

}  // namespace
}  // namespace cinnabar::tcp
