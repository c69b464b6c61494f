// SPDX-License-Identifier: BSD-3-Clause
#include "rpc_fixture.hpp"

#include <cinnabar/base/random.hpp>

#include <algorithm>

namespace cinnabar::rpc {
namespace {

class LendTest : public RpcTest {
  protected:
    // The state of a handler that pulls or pushes all of the lent memory and then answers with the result.
    struct Mover {
        Request* request = nullptr;
        bulk::RemoteRegion remote;
        std::vector<std::byte> memory;
        bulk::Region local;
        Errc result = Errc::again;
        bool hold = false;
    };
    void serve_mover(Mover& mover, bulk::Direction direction) {
        serve("move", [&mover, direction](Request& request) {
            ByteReader reader(request.input());
            ASSERT_EQ(bulk::RemoteRegion::decode(reader, mover.remote), Errc::ok);
            ASSERT_EQ(mover.remote.own(), Errc::ok);
            request.detach();
            mover.request = &request;
            if (mover.memory.empty()) mover.memory.resize(mover.remote.bytes());
            mover.local = *bulk::Region::expose(Bytes(mover.memory), na::Access::read_write);
            if (!mover.hold) start(mover, direction);
        });
    }
    static void start(Mover& mover, bulk::Direction direction) {
        bulk::TransferArgs args;
        args.direction = direction;
        args.remote = &mover.remote;
        args.local = mover.local;
        args.bytes = mover.remote.bytes();
        Errc why = Errc::ok;
        bulk::Transfer* transfer = mover.request->transfer(
            args,
            [](bulk::Transfer& ended, void* user) noexcept {
                auto& seen = *static_cast<Mover*>(user);
                seen.result = ended.result();
                Context& context = seen.request->context();
                context.mover().release(ended);
                if (seen.result == Errc::ok) {
                    seen.request->respond(0);
                } else {
                    seen.request->respond_error(seen.result);
                }
                seen.request->release();
            },
            &mover, nullptr, why);
        if (transfer) return;
        mover.result = why;
        mover.request->respond_error(why);
        mover.request->release();
    }
    Call* lend(std::vector<std::byte>& memory, na::Access access, Ending& ending,
               Microseconds time = Microseconds::max()) {
        Call* call = make("move", time);
        auto region = bulk::Region::expose(Bytes(memory), access);
        EXPECT_TRUE(region.ok());
        ByteWriter writer(call->input_room());
        EXPECT_EQ(call->lend(*region, access, writer), Errc::ok);
        EXPECT_EQ(writer.size(), call->lend_bytes(*region, access));
        EXPECT_EQ(call->forward(writer.size(), &Ending::take, &ending), Errc::ok);
        return call;
    }
    static std::vector<std::byte> pattern(std::size_t bytes) {
        std::vector<std::byte> memory(bytes);
        Random random(bytes);
        for (std::byte& byte : memory) byte = static_cast<std::byte>(random.next());
        return memory;
    }
};

TEST_P(LendTest, TheTargetPullsWhatItWasLent) {
    for (const std::size_t bytes : {std::size_t{100}, std::size_t{5'000}, std::size_t{3'000'001}}) {
        Mover mover;
        if (bytes == 100)
            serve_mover(mover, bulk::Direction::pull);
        else {
            ASSERT_EQ(target_.engine->withdraw(rpc_id("move"), 0), Errc::ok);
            serve_mover(mover, bulk::Direction::pull);
        }
        auto memory = pattern(bytes);
        Ending ending;
        lend(memory, na::Access::read, ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        EXPECT_TRUE(mover.memory == memory);
    }
}

TEST_P(LendTest, TheTargetPushesIntoWhatItWasLent) {
    Mover mover;
    mover.memory = pattern(2'000'000);
    serve_mover(mover, bulk::Direction::push);
    std::vector<std::byte> memory(2'000'000);
    Ending ending;
    lend(memory, na::Access::write, ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
    EXPECT_TRUE(mover.memory == memory);
}

TEST_P(LendTest, PushingToReadOnlyMemoryIsAPermissionError) {
    Mover mover;
    serve_mover(mover, bulk::Direction::push);
    auto memory = pattern(50'000);
    const auto before = memory;
    Ending ending;
    lend(memory, na::Access::read, ending);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::permission) << to_string(ending.result);
    EXPECT_TRUE(memory == before);
}

TEST_P(LendTest, AfterTheEndOfTheCallNothingIsLent) {
    Mover mover;
    mover.hold = true;
    mover.memory = pattern(1'000'000);
    serve_mover(mover, bulk::Direction::push);
    std::vector<std::byte> memory(1'000'000);
    Ending ending;
    Call* call = lend(memory, na::Access::write, ending);
    ASSERT_TRUE(until([&] { return mover.request != nullptr; }));
    call->cancel();
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::canceled);
    EXPECT_TRUE(ending.fenced);

    // A target that ignores the cancel uses its own mover, outside the request.
    struct Outcome {
        bool over = false;
        Errc result = Errc::ok;
    } outcome;
    bulk::TransferArgs args;
    args.direction = bulk::Direction::push;
    args.remote = &mover.remote;
    args.local = mover.local;
    args.bytes = mover.remote.bytes();
    args.peer = mover.request->source();
    Errc why = Errc::ok;
    bulk::Transfer* transfer = target_.context->mover().start(
        args,
        [](bulk::Transfer& ended, void* user) noexcept {
            auto& seen = *static_cast<Outcome*>(user);
            seen.over = true;
            seen.result = ended.result();
        },
        &outcome, bulk::Deliver::queued, nullptr, why);
    ASSERT_NE(transfer, nullptr) << to_string(why);
    ASSERT_TRUE(until([&] { return outcome.over; }));
    target_.context->mover().release(*transfer);
    // Some networks end the connection of a peer that tries.
    EXPECT_TRUE(outcome.result == Errc::permission || outcome.result == Errc::peer_lost) << to_string(outcome.result);
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{0}; }));
    mover.request->respond(0);
    mover.request->release();
}

TEST_P(LendTest, CanceledAtAnyMomentNoByteIsWrittenAfterTheEnd) {
    Mover mover;
    mover.memory.assign(4'000'000, std::byte{0xff});
    serve_mover(mover, bulk::Direction::push);
    for (int rounds = 0; rounds < 40; ++rounds) {
        std::vector<std::byte> memory(4'000'000);
        Ending ending;
        mover.request = nullptr;
        mover.result = Errc::again;
        Call* call = lend(memory, na::Access::write, ending);
        for (int i = 0; i < rounds; ++i) pump();
        if (ending.count == 0) call->cancel();
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_TRUE(ending.fenced);
        const auto at_the_end = memory;
        ASSERT_TRUE(until([&] { return target_.context->counts().requests == 0; }));
        for (int i = 0; i < 20; ++i) pump();
        ASSERT_TRUE(memory == at_the_end);
    }
}

TEST_P(LendTest, ATargetThatNeverLetsGoIsFencedByForce) {
    Mover mover;
    mover.hold = true;
    serve_mover(mover, bulk::Direction::pull);
    serve_echo();
    Ending echo;
    (void)send("echo", "", echo);  // connects before the short time begins
    ASSERT_TRUE(until([&] { return echo.count == 1; }));
    auto memory = pattern(100'000);
    Ending ending;
    const TimeUs begun = origin_.context->now_us();
    lend(memory, na::Access::read, ending, Microseconds(50'000));
    ASSERT_TRUE(until([&] { return mover.request != nullptr; }));
    // The target is suspended: only the origin makes progress.
    ASSERT_TRUE(pump_of({&origin_}).until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::timed_out);
    EXPECT_TRUE(ending.fenced);
    EXPECT_GE(origin_.context->now_us() - begun, static_cast<TimeUs>(options_.fence_grace.count()));
    mover.request->respond(0);
    mover.request->release();
}

// Memory that is sent in the call itself is sent whole, however much is allowed.
class EagerTest : public LendTest {
  protected:
    EagerTest() { options_.eager_bytes_max = 8192; }
    // Lends `region` and expects the target to have pulled `wanted`.
    void expect_moved(const bulk::Region& region, const std::vector<std::byte>& wanted) {
        Mover mover;
        serve_mover(mover, bulk::Direction::pull);
        Ending ending;
        Call* call = make("move");
        ByteWriter writer(call->input_room());
        const std::size_t bytes = call->lend_bytes(region, na::Access::read);
        ASSERT_EQ(call->lend(region, na::Access::read, writer), Errc::ok);
        EXPECT_EQ(writer.size(), bytes);
        ASSERT_EQ(call->forward(writer.size(), &Ending::take, &ending), Errc::ok);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        EXPECT_TRUE(mover.memory == wanted) << mover.memory.size();
        EXPECT_EQ(target_.engine->withdraw(rpc_id("move"), 0), Errc::ok);
    }
};

TEST_P(EagerTest, MoreThanAPageTravelsWhole) {
    std::vector<std::byte> memory(6'000);
    Random random(7);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random.next());
    expect_moved(*bulk::Region::expose(Bytes(memory), na::Access::read), memory);
    const na::Segment halves[] = {{memory.data(), 3'000}, {memory.data() + 3'000, 3'000}};
    expect_moved(*bulk::Region::expose(halves, na::Access::read), memory);
}

CINNABAR_OVER_ALL(EagerTest);
CINNABAR_OVER_ALL(LendTest);

}  // namespace
}  // namespace cinnabar::rpc
