// SPDX-License-Identifier: BSD-3-Clause
// A peer that makes its control messages by hand, and ignores all rules.
#include "control_queue.hpp"
#include "frame.hpp"
#include "rpc_fixture.hpp"
#include "support/sanitizers.hpp"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>

namespace cinnabar::rpc {
namespace {

constexpr std::uint16_t records_each = 500;

class ControlTest : public RpcTest {
  protected:
    // In a process of its own, or, if there is only one process, with a context of its own.
    struct Rogue {
        support::Node node;
        na::Peer* peer = nullptr;
        std::deque<na::Op> ops;
        std::size_t sent = 0;
    };
    void SetUp() override {
        RpcTest::SetUp();
        if (IsSkipped()) return;
        if (network_.one_process()) GTEST_SKIP() << "both sides share their transport";
    }
    void open_rogue(Rogue& rogue) {
        rogue.node.name = "rogue" + std::to_string(++rogues_);
        rogue.node.transport = network_.open(rogue.node.name, {}).value();
        na::Transport* transport = rogue.node.transport.get();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        rogue.node.context = na::Context::open({&transport, 1}, one, rogue.node.receiver).value();
        rogue.peer = rogue.node.context->peer(to_).value();
    }
    // Sends `records` records of one kind. The header claims as many, or `claimed` if that is not negative.
    void send(Rogue& rogue, ControlType type, std::uint16_t records, std::uint64_t call, int claimed = -1,
              std::uint8_t flags = control_wants_ack) {
        na::Message* const message = rogue.node.port().take_message();
        ASSERT_NE(message, nullptr);
        ByteWriter writer(message->bytes());
        const std::uint16_t said = claimed < 0 ? records : static_cast<std::uint16_t>(claimed);
        encode_control_header(flags, said, writer);
        for (std::uint16_t i = 0; i < records; ++i) encode_control({type, i, call + i}, writer);
        ASSERT_TRUE(writer.ok());
        post(rogue, *message, writer.size(), 0);
    }
    // Sends a request whose checksum, if it has one, is wrong.
    void send_request(Rogue& rogue, na::Tag tag, std::uint16_t flags) {
        RequestHeader header;
        header.rpc = rpc_id("nobody serves this");
        header.flags = flags;
        header.payload_bytes = 1;
        header.time_left_us = time_left_none;
        na::Message* const message = rogue.node.port().take_message();
        ASSERT_NE(message, nullptr);
        const Bytes bytes = message->bytes().first(request_header_bytes + 1);
        bytes.back() = std::byte{1};
        encode_request(header, bytes);
        bytes.back() = std::byte{2};
        post(rogue, *message, bytes.size(), tag);
    }
    void post(Rogue& rogue, na::Message& message, std::size_t bytes, na::Tag tag) {
        na::Op& op = rogue.ops.emplace_back();
        op.kind = na::OpKind::send_unexpected;
        op.peer = rogue.peer;
        op.tag = tag;
        op.message = &message;
        op.message_bytes = static_cast<std::uint32_t>(bytes);
        op.user = &rogue;
        op.complete = [](na::Op& sent) noexcept {
            auto& sender = *static_cast<Rogue*>(sent.user);
            ++sender.sent;
            sender.node.port().give_message(*sent.message);
        };
        ASSERT_TRUE(until_posted(rogue, op));
    }
    // The same, once all previous messages have been acknowledged.
    void send_next(Rogue& rogue, ControlType type, std::uint16_t records, std::uint64_t call) {
        ASSERT_TRUE(until(rogue, [&] { return acks(rogue) == rogue.ops.size(); }));
        send(rogue, type, records, call);
    }
    [[nodiscard]] bool until_posted(Rogue& rogue, na::Op& op) {
        return with(rogue).until([&] { return rogue.node.context->post(op) == Errc::ok; }, std::chrono::seconds(20));
    }
    [[nodiscard]] support::Pump with(Rogue& rogue) {
        support::Pump both(network_.world_or_null());
        both.add(target_.context->na());
        both.add(*rogue.node.context);
        return both;
    }
    [[nodiscard]] bool until(Rogue& rogue, const std::function<bool()>& done) {
        return with(rogue).until(done, std::chrono::seconds(20));
    }
    using RpcTest::until;
    // The number of records that have arrived, and of the messages that contained them.
    static std::pair<std::size_t, std::size_t> answers(const Rogue& rogue) {
        std::size_t records = 0;
        std::size_t messages = 0;
        for (const auto& got : rogue.node.receiver.messages) {
            ByteReader reader(got.bytes);
            std::uint8_t flags = 0;
            std::uint16_t count = 0;
            if (decode_control_header(reader, flags, count) != Errc::ok || count == 0) continue;
            records += count;
            ++messages;
        }
        return {records, messages};
    }
    static std::size_t acks(const Rogue& rogue) {
        return static_cast<std::size_t>(std::ranges::count_if(rogue.node.receiver.messages, [](const auto& got) {
            ByteReader reader(got.bytes);
            std::uint8_t flags = 0;
            std::uint16_t count = 0;
            return decode_control_header(reader, flags, count) == Errc::ok && (flags & control_is_ack) != 0;
        }));
    }
    unsigned rogues_ = 0;
};

TEST_P(ControlTest, PingsThatNobodyAcknowledgesAreOneAnswer) {
    Rogue rogue;
    open_rogue(rogue);
    constexpr std::size_t messages = 64;
    for (std::size_t i = 0; i < messages; ++i) send_next(rogue, ControlType::ping, records_each, 0);
    ASSERT_TRUE(until(rogue, [&] { return rogue.sent == messages && answers(rogue).second == 1; }));
    for (int i = 0; i < 100; ++i) (void)with(rogue).step();
    EXPECT_EQ(answers(rogue), std::pair(std::size_t{1}, std::size_t{1}));
    EXPECT_EQ(target_.context->counts().sessions_ended, 0u);
    serve_echo();
    Ending ending;
    RpcTest::send("echo", "still here", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
}

TEST_P(ControlTest, CancelsOfNothingHaveNoAnswer) {
    Rogue rogue;
    open_rogue(rogue);
    constexpr std::size_t messages = 64;
    for (std::size_t i = 0; i < messages; ++i) send_next(rogue, ControlType::cancel, records_each, 1u << 30);
    ASSERT_TRUE(until(rogue, [&] { return rogue.sent == messages; }));
    for (int i = 0; i < 100; ++i) (void)with(rogue).step();
    EXPECT_EQ(answers(rogue).first, 0u);
}

TEST_P(ControlTest, OneThatMakesNoSenseEndsTheSession) {
    Rogue rogue;
    open_rogue(rogue);
    log_.allow("malformed");
    for (int i = 0; i < 8; ++i) send(rogue, ControlType::ping, 3, 0, 5);
    ASSERT_TRUE(until(rogue, [&] { return rogue.node.receiver.count(na::PeerEvent::lost) != 0; }));
    // Messages that were in flight cause no second line in the log, except if they arrive on another connection, which
    // ends as well.
    ASSERT_TRUE(until(rogue, [&] { return rogue.sent == 8; }));
    EXPECT_EQ(target_.context->counts().sessions_ended, log_.allowed());
    EXPECT_GE(log_.allowed(), 1u);
    serve_echo();
    Ending ending;
    RpcTest::send("echo", "others stay", ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok);
}

TEST_P(ControlTest, OneThatNoPeerWaitsForEndsTheSession) {
    struct Message {
        std::uint16_t records;
        std::uint8_t flags;
    };
    log_.allow("malformed");
    std::uint64_t ended = 0;
    // Records without a wish for an acknowledgement, the wish alone, neither, an acknowledgement of nothing, a flag of
    // no meaning.
    for (const auto [records, flags] :
         {Message{1, 0}, Message{0, control_wants_ack}, Message{0, 0}, Message{0, control_is_ack},
          Message{1, control_is_ack | control_wants_ack}, Message{1, control_wants_ack | 4}}) {
        Rogue rogue;
        open_rogue(rogue);
        send(rogue, ControlType::cancel, records, 1u << 30, -1, flags);
        EXPECT_TRUE(until(rogue, [&] { return rogue.node.receiver.count(na::PeerEvent::lost) != 0; })) << int{flags};
        EXPECT_TRUE(until(rogue, [&] { return rogue.sent == 1; }));
        EXPECT_EQ(target_.context->counts().sessions_ended, ++ended) << int{flags};
    }
}

TEST_P(ControlTest, OneThatDoesNotWaitForAcknowledgementsIsCutOff) {
    Rogue rogue;
    open_rogue(rogue);
    log_.allow("without waiting for acknowledgements");
    const auto lost = [&] { return rogue.node.receiver.count(na::PeerEvent::lost) != 0; };
    send_next(rogue, ControlType::ping, 1, 0);
    send_next(rogue, ControlType::ping, 1, 0);
    for (int i = 0; i < 1000 && !lost(); ++i) {
        for (int many = 0; many < 8; ++many) send(rogue, ControlType::ping, 1, 0);
        (void)with(rogue).step();
    }
    EXPECT_TRUE(until(rogue, lost));
    EXPECT_GE(target_.context->counts().sessions_ended, 1u);
    ASSERT_TRUE(until(rogue, [&] { return rogue.sent == rogue.ops.size(); }));
}

// A reply would count as one to another call, where the transport counts receive slots.
TEST_P(ControlTest, AOneWayRequestWithAWrongChecksumHasNoReply) {
    Rogue rogue;
    open_rogue(rogue);
    log_.allow("is malformed");
    constexpr na::Tag one_way = 1;
    constexpr na::Tag answered = 2;
    send_request(rogue, one_way, flag_one_way | flag_checksum);
    ASSERT_TRUE(until(rogue, [&] { return rogue.sent == 1; }));
    send_request(rogue, answered, 0);
    const auto& got = rogue.node.receiver;
    EXPECT_TRUE(until(rogue, [&] { return got.count_tag(answered) == 1; }));
    EXPECT_TRUE(until(rogue, [&] { return target_.context->counts().requests == 0; }));
    EXPECT_EQ(got.count_tag(one_way), 0u);
}

std::size_t resident_bytes() {
    (void)::malloc_trim(0);  // returns freed memory to the system, so that it does not count
    std::ifstream file("/proc/self/statm");
    std::size_t all = 0;
    std::size_t resident = 0;
    file >> all >> resident;
    return resident * 4096;
}

CINNABAR_OVER_ALL(ControlTest);

class HangUpTest : public ControlTest {};

TEST_P(HangUpTest, AHundredLeaveNoMemory) {
    if (support::address_sanitizer || support::thread_sanitizer) GTEST_SKIP() << "sanitizers use memory of their own";
    std::size_t before = 0;
    for (int rounds = 0; rounds < 3; ++rounds) {
        {
            std::vector<std::unique_ptr<Rogue>> rogues;
            for (int i = 0; i < 100; ++i) open_rogue(*rogues.emplace_back(std::make_unique<Rogue>()));
            for (const auto& rogue : rogues) {
                for (int i = 0; i < 64; ++i)
                    send_next(*rogue, i % 2 ? ControlType::cancel : ControlType::ping, 500, 1u << 30);
                ASSERT_TRUE(until(*rogue, [&] { return rogue->sent == 64; }));
            }
        }
        const auto gone = [&] { return target_.context->counts().connections == 0; };
        ASSERT_TRUE(pump_of({&target_}).until(gone, std::chrono::seconds(20)));
        if (rounds == 0) before = resident_bytes();
    }
    EXPECT_LE(resident_bytes(), before + (8u << 20));
}

// What is counted is memory of this layer; tests/hostile/pace_test.cpp watches that of the transports.
INSTANTIATE_TEST_SUITE_P(Over, HangUpTest, testing::Values(support::NetworkKind::tcp),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

// A target that neither answers nor acknowledges: each call that ends leaves a cancel behind.
class CancelsTest : public ControlTest {
  protected:
    CancelsTest() { options_.calls_max = 8; }
    void open_silent(Rogue& silent) {
        silent.node.name = "silent";
        na::TransportOptions listening;
        listening.listen = true;
        silent.node.transport = network_.open(silent.node.name, listening).value();
        na::Transport* transport = silent.node.transport.get();
        na::ContextOptions one;
        one.threads = ThreadUse::one;
        one.initial_credits = 64;
        silent.node.context = na::Context::open({&transport, 1}, one, silent.node.receiver).value();
        to_ = na::Addr::make(transport->endpoints(), 0, 0);
    }
    [[nodiscard]] bool both(Rogue& silent, const std::function<bool()>& done) {
        support::Pump pump = pump_of({&origin_});
        pump.add(*silent.node.context);
        return pump.until(done, std::chrono::seconds(20));
    }
};

TEST_P(CancelsTest, CancelsThatNobodyAcknowledgesEndTheSession) {
    Rogue silent;
    open_silent(silent);
    log_.allow("acknowledges no control messages");
    // The first cancel is sent at once and not acknowledged; then as many as are allowed are queued.
    const std::uint32_t calls_max = 2 * options_.calls_max + 2;
    std::uint32_t calls = 0;
    while (origin_.context->counts().sessions_ended == 0) {
        ASSERT_LT(calls++, calls_max);
        Ending ending;
        Call* call = RpcTest::send("echo", "", ending);
        const std::size_t before = silent.node.receiver.messages.size();
        ASSERT_TRUE(both(silent, [&] { return silent.node.receiver.messages.size() > before; }));
        call->cancel();
        ASSERT_TRUE(both(silent, [&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::canceled) << to_string(ending.result);
    }
    EXPECT_EQ(calls, calls_max);
    EXPECT_LE(log_.allowed(), 1u);  // such lines are rate-limited, and other tests have caused some
    EXPECT_TRUE(both(silent, [&] { return origin_.context->counts().connections == 0; }));
}

CINNABAR_OVER_ALL(CancelsTest);

class ManyCancelsTest : public ControlTest {
  protected:
    static constexpr std::size_t calls = 2'000;
    ManyCancelsTest() { origin_transport_options_.receive_slots = transport_options_.receive_slots = 4 * calls; }
    std::vector<Request*> held_;
    std::vector<Ending> endings_ = std::vector<Ending>(calls);
};

// As by one deadline of many calls: `released` answers each request, and none can be acknowledged meanwhile.
TEST_P(ManyCancelsTest, OfAllThatAPeerHasHereEndNoSession) {
    serve("hold", [this](Request& request) {
        request.detach();
        held_.push_back(&request);
    });
    std::vector<Call*> sent;
    for (Ending& ending : endings_) sent.push_back(RpcTest::send("hold", "", ending));
    ASSERT_TRUE(until([&] { return held_.size() == calls; }));
    for (Call* call : sent) call->cancel();
    const auto canceled = [](const Ending& ending) { return ending.count == 1 && ending.result == Errc::canceled; };
    EXPECT_TRUE(until([&] { return std::ranges::all_of(endings_, canceled); }));
    EXPECT_TRUE(until([&] { return std::ranges::all_of(held_, &Request::canceled); }));
    for (Request* request : held_) request->release();
    EXPECT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
    EXPECT_EQ(target_.context->counts().sessions_ended, 0u);
}

CINNABAR_OVER_ALL(ManyCancelsTest);

TEST(ControlQueue, RecordsThatNameNoCallWaitOnceAndCreditsAddUp) {
    ControlQueue queue;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        ASSERT_TRUE(queue.put({ControlType::ping, i, 0}));
        ASSERT_TRUE(queue.put({ControlType::grant, 2, 0}));
    }
    ASSERT_TRUE(queue.put({ControlType::leave, 0, 0}));
    ASSERT_TRUE(queue.put({ControlType::cancel, 0, 77}));
    const ControlQueue::Batch batch = queue.next(100);
    ASSERT_EQ(batch.count, 4u);
    std::array<std::byte, 64> bytes;
    ByteWriter writer(bytes);
    queue.encode(batch, writer);
    queue.taken(batch);
    EXPECT_TRUE(queue.empty());
    ByteReader reader(bytes);
    const ControlRecord grant = decode_control(reader);
    const ControlRecord ping = decode_control(reader);
    const ControlRecord cancel = decode_control(reader);
    EXPECT_EQ(grant.type, ControlType::grant);
    EXPECT_EQ(grant.value, 2000u);
    EXPECT_EQ(ping.type, ControlType::ping);
    EXPECT_EQ(ping.value, 999u);
    EXPECT_EQ(cancel.type, ControlType::cancel);
    EXPECT_EQ(cancel.call, 77u);
    EXPECT_EQ(decode_control(reader).type, ControlType::leave);
}

TEST(ControlQueue, LeaveWaitsForWhatDoesNotFit) {
    ControlQueue queue;
    ASSERT_TRUE(queue.put({ControlType::leave, 0, 0}));
    for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(queue.put({ControlType::released, 0, i}));
    EXPECT_EQ(queue.answers(), 50u);
    ControlQueue::Batch batch = queue.next(31);
    EXPECT_EQ(batch.types, 0u);
    queue.taken(batch);
    EXPECT_EQ(queue.answers(), 50u - batch.of_calls);
    batch = queue.next(31);
    EXPECT_NE(batch.types, 0u);
    queue.taken(batch);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.answers(), 0u);
}

}  // namespace
}  // namespace cinnabar::rpc
