// SPDX-License-Identifier: BSD-3-Clause
// Device memory that two processes move between them. `./dev test-gpu` runs this on a real device and prints what it
// measures; the tests run it on a simulated one.
#include "gpu_processes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

namespace cinnabar {
namespace {

using namespace test;

constexpr std::size_t odd_bytes = 5 * mib + 3;

class GpuProcesses : public GpuProcessesFixture {
  protected:
    // Large enough that the process can be killed in the middle.
    [[nodiscard]] std::size_t killed_bytes() const { return gpu_.is_made_up() ? odd_bytes : 1024 * mib; }
    static void pass_at_most(std::chrono::microseconds span, std::mt19937& random) {
        const auto some = std::chrono::microseconds(random() % static_cast<unsigned>(span.count()));
        const auto until = std::chrono::steady_clock::now() + some;
        while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
    }
    [[nodiscard]] bool device_works() {
        GpuMemory memory(gpu_, odd_bytes);
        std::vector<std::byte> content(odd_bytes);
        support::fill_pattern(content, 5);
        memory.write(content);
        return memory.read() == content;
    }
};

TEST_F(GpuProcesses, EachByteGoesEachWay) {
    start(odd_bytes);
    write_mine(1);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), odd_bytes);
    EXPECT_TRUE(ask(peer_holds, 1));
    tell(peer_fill, 2);
    EXPECT_EQ(peer_moves(peer_push).get().value_or(0), odd_bytes);
    EXPECT_TRUE(mine_holds(2));
    tell(peer_fill, 3);
    EXPECT_EQ(i_move(bulk::Direction::pull).get().value_or(0), odd_bytes);
    EXPECT_TRUE(mine_holds(3));
    write_mine(4);
    EXPECT_EQ(i_move(bulk::Direction::push).get().value_or(0), odd_bytes);
    EXPECT_TRUE(ask(peer_holds, 4));
}

TEST_F(GpuProcesses, PartsOfAllocationsGoToTheirPlaces) {
    start(odd_bytes);
    tell(peer_fill, 1);
    write_mine(2);
    const Region part = region_.slice(mib + 1, 2 * mib);
    EXPECT_EQ(node().call(peer_pull, to_, part).wait().value_or(0), 2 * mib);
    const Region behind = region_.slice(mib - 5, 3 * mib);
    tell(peer_fill, 3);
    EXPECT_EQ(node().call(peer_push, to_, behind).wait().value_or(0), 3 * mib);
    const std::vector<std::byte> now = mine_->read();
    EXPECT_TRUE(support::holds_pattern(ConstBytes(now).first(mib - 5), 2));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(now).subspan(mib - 5, 3 * mib), 3));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(now).subspan(4 * mib - 5), 2, 4 * mib - 5));
}

// The process may die before, during or after the copy.
TEST_F(GpuProcesses, WhoeverShowsMemoryMayDieMeanwhile) {
    std::mt19937 random(7);
    for (int round = 0; round < 10; ++round) {
        start(killed_bytes());
        auto pending = peer_moves(peer_pull);
        pass_at_most(std::chrono::milliseconds(4), random);
        other_->kill();
        const Errc code = pending.get().code();
        EXPECT_TRUE(code == Errc::ok || code == Errc::peer_lost) << to_string(code);
        EXPECT_TRUE(device_works());
    }
    start(odd_bytes);
    write_mine(6);
    EXPECT_EQ(peer_moves(peer_pull).get().value_or(0), odd_bytes);
    EXPECT_TRUE(ask(peer_holds, 6));
}

TEST_F(GpuProcesses, WhoeverIsShownMemoryMayDieMeanwhile) {
    std::mt19937 random(8);
    for (int round = 0; round < 10; ++round) {
        start(killed_bytes());
        auto pending = i_move(bulk::Direction::pull);
        pass_at_most(std::chrono::milliseconds(4), random);
        other_->kill();
        const Errc code = pending.get().code();
        EXPECT_TRUE(code == Errc::ok || code == Errc::peer_lost) << to_string(code);
        EXPECT_TRUE(device_works());
    }
}

// Over a network the bytes go through staging buffers of both processes.
TEST_F(GpuProcesses, WhoeverMovesThroughTheHostMayDieMeanwhile) {
    std::mt19937 random(9);
    for (int round = 0; round < 6; ++round) {
        start(killed_bytes(), "tcp://127.0.0.1:0");
        auto pending = peer_moves(round % 2 == 0 ? peer_pull : peer_push);
        pass_at_most(std::chrono::milliseconds(4), random);
        other_->kill();
        const Errc code = pending.get().code();
        EXPECT_TRUE(code == Errc::ok || code == Errc::peer_lost) << to_string(code);
        EXPECT_FALSE(region_.quarantined());
        EXPECT_TRUE(device_works());
    }
}

TEST_F(GpuProcesses, WhoeverMovesThroughTheHostMayBeStoppedMeanwhile) {
    std::mt19937 random(10);
    start(killed_bytes(), "tcp://127.0.0.1:0");
    for (int round = 0; round < 4; ++round) {
        const auto& moves = round % 2 == 0 ? peer_pull : peer_push;
        auto pending = peer_moves(moves);
        pass_at_most(std::chrono::milliseconds(4), random);
        other_->stop();
        pending.cancel();
        const Errc code = pending.get().code();
        EXPECT_TRUE(code == Errc::ok || code == Errc::canceled) << to_string(code);
        other_->go_on();
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (region_.quarantined() && std::chrono::steady_clock::now() < until) std::this_thread::yield();
        EXPECT_FALSE(region_.quarantined());
        EXPECT_EQ(peer_moves(moves).get().value_or(0), killed_bytes());
    }
}

template <typename F>
double median_seconds(F&& run) {
    std::array<double, 9> took{};
    for (double& each : took) {
        const auto began = std::chrono::steady_clock::now();
        run();
        each = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
    std::nth_element(took.begin(), took.begin() + took.size() / 2, took.end());
    return took[took.size() / 2];
}

// Prints the rates for `./dev test-gpu`, next to those of copies of the same size within this process, in the same run.
TEST_F(GpuProcesses, CopiesAreAsFastAsTheDeviceIs) {
    std::vector<std::size_t> sizes{64 * mib, 1024 * mib, 8192 * mib};
    if (gpu_.is_made_up()) sizes = {4 * mib};
    for (const std::size_t bytes : sizes) {
        free_mine();
        if (!gpu_.has_room(3 * bytes + 512 * mib)) {
            std::printf("gpu.ipc %s: the device has no room for copies of %zu MiB\n", gpu_.name().c_str(), bytes / mib);
            continue;
        }
        start(bytes);
        std::optional<GpuMemory> copy(std::in_place, gpu_, bytes);
        gpu_.copy(copy->address(), mine_->address(), bytes);
        const double plain = median_seconds([&] { gpu_.copy(copy->address(), mine_->address(), bytes); });
        copy.reset();
        ASSERT_EQ(peer_moves(peer_pull).get().value_or(0), bytes);
        const double ours = median_seconds([&] { ASSERT_EQ(peer_moves(peer_pull).get().value_or(0), bytes); });
        const double gib = static_cast<double>(bytes) / static_cast<double>(1024 * mib);
        std::printf("gpu.ipc %s %zu MiB: %.2f GiB/s, %.2f of a copy in one process (%.2f GiB/s)\n", gpu_.name().c_str(),
                    bytes / mib, gib / ours, plain / ours, gib / plain);
    }
}

}  // namespace
}  // namespace cinnabar
