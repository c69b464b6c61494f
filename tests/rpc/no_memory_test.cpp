// SPDX-License-Identifier: BSD-3-Clause
// A peer makes this side allocate while memory is out: its call fails or its session ends, but the process goes on.
// This is a program of its own, because its malloc is replaced.
#include "rpc_fixture.hpp"
#include "support/allocation_count.hpp"

#include <cinnabar/bulk/remote_region.hpp>

#include <array>

namespace cinnabar::rpc {
namespace {

class NoMemoryTest : public RpcTest {
  protected:
    void SetUp() override {
        if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
        RpcTest::SetUp();
    }
    // Drives one side while memory is out. Whatever arrives meanwhile was sent before.
    void drive_without_memory(Side& side) {
        const support::NoMemory out;
        for (int i = 0; i < 1'000; ++i) {
            (void)side.context->progress(Microseconds{0});
            (void)side.context->trigger(16);
        }
    }
    void expect_echo(const char* text) {
        Ending ending;
        send("echo", text, ending);
        ASSERT_TRUE(until([&] { return ending.count == 1; }));
        EXPECT_EQ(ending.result, Errc::ok) << to_string(ending.result);
        EXPECT_EQ(ending.output, text);
    }
    Call* large(Ending& ending) {
        Call* call = make("echo");
        Bytes room;
        EXPECT_EQ(call->grow_input(100'000, room), Errc::ok);
        EXPECT_EQ(call->forward(room.size(), &Ending::take, &ending), Errc::ok);
        return call;
    }
};

TEST_P(NoMemoryTest, ALargeArgumentIsRefused) {
    serve_echo();
    expect_echo("connected");
    Ending ending;
    large(ending);
    for (int i = 0; i < 100; ++i) (void)origin_.context->progress(Microseconds{0});
    drive_without_memory(target_);
    ASSERT_TRUE(until([&] { return ending.count == 1; }));
    EXPECT_EQ(ending.result, Errc::out_of_memory) << to_string(ending.result);
    expect_echo("still here");
}

INSTANTIATE_TEST_SUITE_P(Over, NoMemoryTest,
                         testing::Values(support::NetworkKind::self, support::NetworkKind::tcp,
                                         support::NetworkKind::shm),
                         [](const auto& i) { return std::string(support::to_string(i.param)); });

TEST(NoMemory, APeerHasANameForTheLog) {
    if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
    const na::Addr addr = na::Addr::parse("tcp://a.host.with.a.long.name:4711").value();
    EXPECT_EQ(addr.log_name(), addr.to_string());
    const support::NoMemory out;
    const std::string name = addr.log_name();
    EXPECT_EQ(name, "a peer");
}

TEST(NoMemory, ADescriptorOfSomebodyElsesMemoryIsRefused) {
    if (!support::NoMemory::works()) GTEST_SKIP() << "a sanitizer owns malloc";
    const na::Addr owner = na::Addr::parse("tcp://a.host.with.a.long.name:4711").value();
    std::array<std::byte, 256> bytes;
    ByteWriter writer(bytes);
    const std::array<std::byte, 8> eager{};
    bulk::describe({{}, owner, eager}, writer);
    ASSERT_TRUE(writer.ok());
    const ConstBytes described = ConstBytes(bytes).first(writer.size());
    bulk::RemoteRegion region;
    ByteReader first(described);
    ASSERT_EQ(bulk::RemoteRegion::decode(first, region), Errc::ok);
    ByteReader again(described);
    const support::NoMemory out;
    const Errc refused = bulk::RemoteRegion::decode(again, region);
    EXPECT_EQ(refused, Errc::out_of_memory);
}

}  // namespace
}  // namespace cinnabar::rpc
