// SPDX-License-Identifier: BSD-3-Clause
// Two processes that copy device memory by handles, on a simulated driver whose copies a test can hold and whose calls
// it can fail: which path is taken, how it ends, and that nothing stays open.
#include "fake_cuda.hpp"
#include "gpu_processes.hpp"
#include "support/log_watch.hpp"

#include <chrono>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr std::size_t ipc_bytes = 3 * mib;
constexpr int launch_failure = 719;

class CudaIpcTest : public GpuProcessesFixture {
  protected:
    void SetUp() override {
        GpuProcessesFixture::SetUp();
        log_.allow("held its context");  // a busy machine may stop any handler for that long
        before_ = fake_cuda_counts();
    }
    void TearDown() override {
        fake_cuda_fail("", 0, 0);
        fake_cuda_hold_device_copies(false);
        const FakeCudaCounts counts = fake_cuda_counts();
        EXPECT_EQ(counts.opened, 0);
        if (!other_dead_) {
            const std::vector<std::int64_t> theirs = ask(peer_counts);
            EXPECT_EQ(theirs[0], 0) << "breaches of the driver's rules";
            EXPECT_EQ(theirs[1], 0) << "what stays open";
        }
        free_mine();
        EXPECT_EQ(fake_cuda_counts().breaches, before_.breaches);
    }
    void kill_other() {
        other_dead_ = true;
        other_->kill();
    }
    [[nodiscard]] std::uint64_t opens() const { return fake_cuda_counts().opens - before_.opens; }
    // Waits until the other process reports at least `number`, of held copies or of pulls that were stopped.
    void await(const Rpc<std::uint64_t()>& what, std::uint64_t number) {
        const auto until = std::chrono::steady_clock::now() + 20s;
        while (ask(what) < number && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        EXPECT_GE(ask(what), number);
    }
    support::LogWatch log_;
    FakeCudaCounts before_;
    bool other_dead_ = false;
};

TEST_F(CudaIpcTest, TheLenderOpensWhatItIsShownAndClosesIt) {
    start(ipc_bytes);
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes);
    EXPECT_TRUE(ask(peer_holds, 1));
    EXPECT_EQ(opens(), 1u);
    EXPECT_EQ(fake_cuda_counts().copies, before_.copies + 1);
    EXPECT_EQ(i_move(bulk::Direction::push).get().value_or(0), ipc_bytes);
    EXPECT_EQ(opens(), 1u) << "that was the other's";
    EXPECT_EQ(ask(peer_counts)[2], 1);
}

TEST_F(CudaIpcTest, OverANetworkItGoesThroughTheHost) {
    start(ipc_bytes, "tcp://127.0.0.1:0");
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes);
    EXPECT_TRUE(ask(peer_holds, 1));
    EXPECT_EQ(opens(), 0u);
    EXPECT_EQ(fake_cuda_counts().device_copies, before_.device_copies);
}

TEST_F(CudaIpcTest, WithADriverThatLacksACallItGoesThroughTheHost) {
    start(ipc_bytes, "shm://", CINNABAR_OLD_CUDA_PEER);
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes);
    EXPECT_TRUE(ask(peer_holds, 1));
    EXPECT_EQ(opens(), 0u) << "it has no handle to show";
    write_mine(2);
    EXPECT_EQ(i_move(bulk::Direction::push).get().value_or(0), ipc_bytes);
    EXPECT_TRUE(ask(peer_holds, 2)) << "it cannot open mine";
}

TEST_F(CudaIpcTest, WhatCannotBeOpenedGoesThroughTheHost) {
    start(ipc_bytes);
    std::uint64_t seed = 0;
    for (const char* name : {"cuIpcOpenMemHandle_v2", "cuMemGetAddressRange_v2"}) {
        write_mine(++seed);
        fake_cuda_fail(name, 0, launch_failure);
        EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes) << name;
        fake_cuda_fail("", 0, 0);
        EXPECT_TRUE(ask(peer_holds, seed)) << name;
        EXPECT_EQ(fake_cuda_counts().opened, 0) << name;
        EXPECT_EQ(fake_cuda_counts().device_copies, before_.device_copies) << name;
    }
}

TEST_F(CudaIpcTest, WhatHasNoHandleGoesThroughTheHost) {
    start(ipc_bytes);
    std::uint64_t seed = 0;
    for (const char* name : {"cuIpcGetMemHandle", "cuMemGetAddressRange_v2"}) {
        write_mine(++seed);
        tell(peer_fail, name, 0, launch_failure);
        EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes) << name;
        tell(peer_fail, "", 0, 0);
        EXPECT_TRUE(ask(peer_holds, seed)) << name;
        EXPECT_EQ(opens(), 0u) << name;
    }
}

TEST_F(CudaIpcTest, AFailedCopyHasItsCode) {
    log_.allow("a copy from the memory of a device failed");
    start(ipc_bytes);
    for (const char* name : {"cuMemcpyDtoDAsync_v2", "cuStreamSynchronize", "cuStreamCreate"}) {
        fake_cuda_fail(name, 0, launch_failure);
        EXPECT_EQ(peer_moves(peer_pull).get().code(), Errc::io) << name;
        EXPECT_EQ(fake_cuda_counts().opened, 0) << name;
        fake_cuda_fail("", 0, 0);
    }
    fake_cuda_fail("cuMemcpyDtoDAsync_v2", 0, 2);
    EXPECT_EQ(peer_moves(peer_pull).get().code(), Errc::out_of_memory);
    fake_cuda_fail("", 0, 0);
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), ipc_bytes);
    EXPECT_TRUE(ask(peer_holds, 1));
}

TEST_F(CudaIpcTest, AFailedCloseIsAnError) {
    log_.allow("memory of another process stays open: CUDA_ERROR_LAUNCH_FAILED");
    start(ipc_bytes);
    fake_cuda_fail("cuIpcCloseMemHandle", 0, launch_failure);
    EXPECT_EQ(peer_moves(peer_pull).get().code(), Errc::io);
    EXPECT_EQ(log_.allowed(), 1u);
}

TEST_F(CudaIpcTest, ALeaseTakenBackMeanwhileWaitsForTheCopy) {
    start(ipc_bytes);
    write_mine(1);
    fake_cuda_hold_device_copies(true);
    auto pending = peer_moves(peer_pull);
    ASSERT_TRUE(fake_cuda_await_held(1));
    pending.cancel();
    await(peer_stops, 1);
    EXPECT_FALSE(pending.ready()) << "the device reads my memory still";
    fake_cuda_hold_device_copies(false);
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    EXPECT_EQ(fake_cuda_counts().opened, 0);
}

TEST_F(CudaIpcTest, ALeaseThatExpiresMeanwhileWaitsForTheCopy) {
    start(ipc_bytes);
    fake_cuda_hold_device_copies(true);
    auto pending = peer_moves(peer_pull, 1s);
    ASSERT_TRUE(fake_cuda_await_held(1));
    await(peer_stops, 1);
    EXPECT_FALSE(pending.ready()) << "the device reads my memory still";
    fake_cuda_hold_device_copies(false);
    EXPECT_EQ(pending.get().code(), Errc::timed_out);
    EXPECT_EQ(fake_cuda_counts().opened, 0);
}

TEST_F(CudaIpcTest, AStoppedMoveEndsWhenTheOtherProcessHasLetGo) {
    start(ipc_bytes);
    tell(peer_hold, true);
    may_end_ = false;
    auto pending = i_move(bulk::Direction::push);
    await(peer_held, 1);
    stop_.request_stop();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(peer_held), 1u);
    EXPECT_EQ(ended_, Errc::again);
    may_end_ = true;
    tell(peer_hold, false);
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    EXPECT_EQ(ended_, Errc::canceled);
}

TEST_F(CudaIpcTest, AProcessThatIsStoppedDoesNotHoldAMoveUpForEver) {
    log_.allow("may still copy memory of a device");
    options_.rpc.shown_grace = 300ms;
    start(ipc_bytes);
    tell(peer_hold, true);
    auto pending = i_move(bulk::Direction::push);
    await(peer_held, 1);
    other_->stop();
    EXPECT_FALSE(region_.quarantined());
    stop_.request_stop();
    while (ended_ == Errc::again) std::this_thread::yield();
    EXPECT_EQ(ended_, Errc::canceled);
    EXPECT_TRUE(region_.quarantined());
    EXPECT_EQ(log_.allowed(), 1u);
    other_->go_on();
    tell(peer_hold, false);
    EXPECT_EQ(pending.get().code(), Errc::canceled);
    const auto until = std::chrono::steady_clock::now() + 20s;
    while (ask(peer_counts)[1] != 0 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
}

TEST_F(CudaIpcTest, AMoveWithADeadlineEndsWhenTheOtherProcessHasLetGo) {
    start(ipc_bytes);
    tell(peer_hold, true);
    may_end_ = false;
    deadline_ = 1s;
    auto pending = i_move(bulk::Direction::pull);
    await(peer_held, 1);
    EXPECT_FALSE(pending.wait_for(1500ms));
    may_end_ = true;
    tell(peer_hold, false);
    EXPECT_EQ(pending.get().code(), Errc::timed_out);
}

TEST_F(CudaIpcTest, AKilledProcessThatShowedMemoryEndsTheCall) {
    start(ipc_bytes);
    fake_cuda_hold_device_copies(true);
    auto pending = peer_moves(peer_pull);
    ASSERT_TRUE(fake_cuda_await_held(1));
    kill_other();
    fake_cuda_hold_device_copies(false);
    EXPECT_EQ(pending.get().code(), Errc::peer_lost);
    EXPECT_EQ(fake_cuda_counts().opened, 0);
}

TEST_F(CudaIpcTest, AKilledProcessThatWasShownMemoryEndsTheMove) {
    start(ipc_bytes);
    tell(peer_hold, true);
    auto pending = i_move(bulk::Direction::push);
    await(peer_held, 1);
    kill_other();
    EXPECT_EQ(pending.get().code(), Errc::peer_lost);
    while (ended_ == Errc::again) std::this_thread::yield();
    EXPECT_TRUE(ended_ == Errc::peer_lost || ended_ == Errc::canceled) << to_string(ended_);
}

TEST_F(CudaIpcTest, CopiesThatWaitGoWithTheirConnection) {
    start(ipc_bytes);
    fake_cuda_hold_device_copies(true);
    std::vector<decltype(peer_moves(peer_pull))> pending;
    for (int i = 0; i < 8; ++i) pending.push_back(peer_moves(peer_pull));
    ASSERT_TRUE(fake_cuda_await_held(2));
    EXPECT_EQ(fake_cuda_held(), 2u) << "of one peer";
    kill_other();
    fake_cuda_hold_device_copies(false);
    for (auto& each : pending) EXPECT_EQ(each.get().code(), Errc::peer_lost);
    EXPECT_EQ(fake_cuda_counts().device_copies, before_.device_copies + 2);
    EXPECT_EQ(fake_cuda_counts().opened, 0);
}

}  // namespace
}  // namespace cinnabar
