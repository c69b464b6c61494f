// SPDX-License-Identifier: BSD-3-Clause
// A push that notifies: the value arrives once, after all bytes, at the notice that expects it from that peer.
#include "rpc_fixture.hpp"

#include <cinnabar/rpc/notice.hpp>

#include <algorithm>

namespace cinnabar::rpc {
namespace {

constexpr std::size_t bytes = 3'000'001;  // several chunks

class NoticeTest : public RpcTest {
  protected:
    // Makes the target serve a call by pushing all of its memory to the given region, and then answer.
    void serve_push() {
        serve("push", [this](Request& request) {
            ByteReader reader(request.input());
            value_ = reader.u32();
            ASSERT_EQ(bulk::RemoteRegion::decode(reader, remote_), Errc::ok);
            ASSERT_EQ(remote_.own(), Errc::ok);
            request.detach();
            request_ = &request;
            bulk::TransferArgs args;
            args.direction = bulk::Direction::push;
            args.remote = &remote_;
            args.local = *bulk::Region::expose(Bytes(from_), na::Access::read_write);
            args.bytes = remote_.bytes();
            args.notify = value_;
            Errc why = Errc::ok;
            const bulk::Transfer* transfer = request.transfer(args, &NoticeTest::pushed, this, nullptr, why);
            ASSERT_NE(transfer, nullptr) << to_string(why);
        });
    }
    static void pushed(bulk::Transfer& ended, void* user) noexcept {
        auto& self = *static_cast<NoticeTest*>(user);
        Request& request = *self.request_;
        if (ended.result() == Errc::ok) {
            request.respond(0);
        } else {
            request.respond_error(ended.result());
        }
        request.context().mover().release(ended);
        request.release();
    }
    void call_push(std::uint32_t value, Ending& ending) {
        Call* call = make("push");
        ByteWriter writer(call->input_room());
        writer.u32(value);
        const auto region = bulk::Region::expose(Bytes(to_bytes_), na::Access::read_write);
        ASSERT_EQ(call->lend(*region, na::Access::write, writer), Errc::ok);
        ASSERT_EQ(call->forward(writer.size(), &Ending::take, &ending), Errc::ok);
    }
    // The target's address, as the source of a call that it makes.
    na::Addr target_as_seen() {
        serve(origin_, "who", [this](Request& request) {
            seen_ = request.source();
            request.respond(0);
            request.release();
        });
        na::Addr back;
        serve("back", [&back](Request& request) {
            back = request.source();
            request.respond(0);
            request.release();
        });
        Ending ending;
        send("back", "", ending);
        EXPECT_TRUE(until([&] { return ending.count == 1; }));
        Errc why = Errc::ok;
        Call* other = target_.context->make_call(back, why);
        EXPECT_NE(other, nullptr) << to_string(why);
        Ending asked;
        other->args.rpc = rpc_id("who");
        EXPECT_EQ(other->forward(0, &Ending::take, &asked), Errc::ok);
        EXPECT_TRUE(until([&] { return asked.count == 1; }));
        return seen_;
    }
    struct Heard {
        int count = 0;
        Errc result = Errc::again;
        bool complete = false;
        NoticeTest* test = nullptr;
        static void take(Errc result, void* user) noexcept {
            auto& heard = *static_cast<Heard*>(user);
            ++heard.count;
            heard.result = result;
            heard.complete = heard.test->to_bytes_ == heard.test->from_;
        }
    };

    std::vector<std::byte> from_ = [] {
        std::vector<std::byte> memory(bytes);
        for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * 31 >> 3);
        return memory;
    }();
    std::vector<std::byte> to_bytes_ = std::vector<std::byte>(bytes);
    bulk::RemoteRegion remote_;
    Request* request_ = nullptr;
    std::uint32_t value_ = 0;
    na::Addr seen_;
};

TEST_P(NoticeTest, EndsWithItsContext) {
    Heard heard;
    heard.test = this;
    Notice notice;
    ASSERT_EQ(notice.expect(*origin_.context, target_.context->self_addr(), &Heard::take, &heard), Errc::ok);
    origin_.context.reset();
    EXPECT_EQ(heard.count, 1);
    EXPECT_EQ(heard.result, Errc::closed);
    notice.close(Errc::canceled);
    EXPECT_EQ(heard.count, 1) << "it is over";
}

TEST_P(NoticeTest, ComesOnceBehindAllBytes) {
    serve_push();
    Heard heard;
    heard.test = this;
    Notice notice;
    ASSERT_EQ(notice.expect(*origin_.context, target_as_seen(), &Heard::take, &heard), Errc::ok);
    Ending ending;
    call_push(notice.value(), ending);
    ASSERT_TRUE(until([&] { return heard.count == 1 && ending.count == 1; }));
    EXPECT_EQ(heard.result, Errc::ok);
    EXPECT_TRUE(heard.complete);
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    notice.close(Errc::canceled);
    // The value cannot be used again: nothing is notified.
    Ending again;
    call_push(notice.value(), again);
    ASSERT_TRUE(until([&] { return again.count == 1; }));
    EXPECT_EQ(heard.count, 1);
}

TEST_P(NoticeTest, AnotherValueDoesNotCount) {
    serve_push();
    Heard heard;
    heard.test = this;
    Notice notice;
    ASSERT_EQ(notice.expect(*origin_.context, target_as_seen(), &Heard::take, &heard), Errc::ok);
    Ending ending;
    call_push(notice.value() + (1u << 16), ending);  // as the value will be when the notice's place is used again
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(heard.count, 0);
    notice.close(Errc::timed_out);
    ASSERT_TRUE(until([&] { return heard.count == 1; }));
    EXPECT_EQ(heard.result, Errc::timed_out);
}

TEST_P(NoticeTest, FromSomebodyElseItDoesNotCount) {
    serve_push();
    Heard heard;
    heard.test = this;
    Notice notice;
    ASSERT_EQ(notice.expect(*origin_.context, origin_.context->self_addr(), &Heard::take, &heard), Errc::ok);
    Ending ending;
    call_push(notice.value(), ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    EXPECT_EQ(heard.count, 0);
    notice.close(Errc::peer_lost);
    ASSERT_TRUE(until([&] { return heard.count == 1; }));
    EXPECT_EQ(heard.result, Errc::peer_lost);
}

TEST_P(NoticeTest, OnlyAPushOfBytesMayNotify) {
    bulk::RemoteRegion remote;
    bulk::TransferArgs args;
    args.remote = &remote;
    args.notify = 1;
    for (const auto direction : {bulk::Direction::pull, bulk::Direction::push}) {
        args.direction = direction;
        Errc why = Errc::ok;
        EXPECT_EQ(origin_.context->mover().start(args, &NoticeTest::pushed, this, bulk::Deliver::queued, nullptr, why),
                  nullptr);
        EXPECT_EQ(why, Errc::invalid_argument);
    }
}

CINNABAR_OVER_ALL(NoticeTest);

}  // namespace
}  // namespace cinnabar::rpc
