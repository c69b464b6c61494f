// SPDX-License-Identifier: BSD-3-Clause
// A client that is asked to fill buffers of the server, and breaks the protocol.
#include "server_fixture.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/ping.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <functional>

namespace cinnabar::files {
namespace {

// A client that is asked to fill the server's buffers.
struct PushTest : ServerTest {
    using Fill = std::function<hl::Task<Result<void>>(hl::Request<FillIn> request)>;
    void fills(Fill fill) { ASSERT_TRUE(here->serve(fill_rpc, std::move(fill)).ok()); }
    [[nodiscard]] Result<void> push(std::uint64_t file, std::uint64_t offset) {
        PushIn in;
        in.file = file;
        in.offset = offset;
        seals.stamp(in);
        auto pushed = here->call(push_rpc, to, in).wait();
        if (!pushed) return from_remote(std::move(pushed).error());
        return pushed;
    }
};

TEST_F(PushTest, WhatIsNotifiedIsWrittenAndAnotherWindowRefused) {
    begin();
    const std::string content = support::pattern(1000);
    fills([&content](hl::Request<FillIn> request) -> hl::Task<Result<void>> {
        hl::TransferOptions how;
        how.notify = request->notice;
        auto moved = co_await request->buffer.push(as_bytes(content), how);
        if (!moved) co_return std::move(moved).error();
        co_return Result<void>();
    });
    OpenIn in;
    in.name = "name";
    in.bytes = content.size();
    in.attributes.mode = 0600;
    in.checked = false;
    seals.stamp(in);
    CommitIn commit;
    commit.file = here->call(open_rpc, to, in).wait().value().file;
    seals.stamp(commit);
    EXPECT_TRUE(push(commit.file, 0).ok());
    EXPECT_TRUE(here->call(commit_rpc, to, commit).wait().ok());
    EXPECT_EQ(folder.get("name"), content);
    EXPECT_EQ(push(open("other", 1000), 500).code(), Errc::invalid_argument) << "no such window";
}

TEST_F(PushTest, AnAnswerWithoutItsNotificationEndsTheFile) {
    begin();
    fills([](hl::Request<FillIn>) -> hl::Task<Result<void>> { co_return Result<void>(); });
    const auto file = open("name", 1000);
    EXPECT_EQ(push(file, 0).code(), Errc::protocol);
    EXPECT_NE(open("name", 10), file) << "its name is free again";
}

// The client may have many times more files than there are buffers.
TEST_F(PushTest, AClientThatFillsNothingLeavesBuffersForOthers) {
    constexpr int files = 160;
    options.window_bytes = 4096;
    options.buffers = 8;
    begin();
    unsigned asked = 0;
    fills([&asked](hl::Request<FillIn> request) -> hl::Task<Result<void>> {
        ++asked;
        co_return co_await request.node().sleep_for(std::chrono::hours(1));
    });
    const auto send_push = [](ServerTest& test, std::uint64_t file) -> hl::Task<void> {
        PushIn in;
        in.file = file;
        test.seals.stamp(in);
        hl::CallOptions call;
        call.deadline = hl::no_deadline;
        (void)co_await test.here->call(push_rpc, test.to, in, call);
    };
    for (int i = 0; i < files; ++i)
        ASSERT_EQ(here->spawn(send_push(*this, open("a" + std::to_string(i), 100))), Errc::ok);
    ASSERT_TRUE(wait_until([&] { return asked >= options.buffers - 1; }));
    const auto other = hl::Node::open("tcp://", {.progress_thread = false}).value();
    Client honest(other, other.lookup(there->endpoints().front()).value(), nullptr);
    const auto saving = [](Client& client, std::string path) -> hl::Task<Result<Moved>> {
        const std::string name = "honest";
        Result<Moved> moved = Errc::closed;
        if (auto opened = co_await client.open(); opened) moved = co_await client.save(path, name);
        co_await client.close();
        co_return moved;
    };
    const auto moved = hl::sync_wait(saving(honest, folder.put("mine", support::pattern(10'000))));
    EXPECT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_EQ(folder.get("honest"), support::pattern(10'000));
    EXPECT_TRUE(here->call(ping_rpc, to, std::uint64_t{1}).wait().ok());
    EXPECT_LT(asked, options.buffers) << "it did not wait until the others' time was over";
}

TEST_F(PushTest, AClientThatCannotBeAskedSaysWhy) {
    begin();
    EXPECT_EQ(push(open("name", 1000), 0).code(), Errc::no_such_rpc);
}

}  // namespace
}  // namespace cinnabar::files
