// SPDX-License-Identifier: BSD-3-Clause
// Device memory that is lent, pulled, pushed and joined with other memory. `./dev test-gpu` runs this on a real device
// and prints what it measures; the tests run it on a simulated one.
#include "far_fixture.hpp"
#include "gpu_device.hpp"
#include "integration/ways.hpp"

#include <cinnabar/cinnabar.hpp>

#include <chrono>
#include <cstdio>
#include <utility>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<std::uint64_t(Bulk)> move_it{"move_it"};

// Over tcp and shm.
class GpuTest : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override { ASSERT_TRUE(gpu_.is_here()) << "no device, or no driver"; }
    [[nodiscard]] static Region region_of(const GpuMemory& memory) {
        return Region::of_far(device_memory(gpu_kind, memory.address(), memory.size()).value(), Access::read_write)
            .value();
    }
    void serve(bulk::Direction direction, Region local) {
        const auto move = [direction, local](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region mine = local;
            auto transfer = direction == bulk::Direction::pull ? request->pull(mine) : request->push(mine);
            co_return co_await std::move(transfer);
        };
        ASSERT_TRUE(owner_.serve(move_it, move).ok());
    }
    [[nodiscard]] Errc call(const Region& lent) { return user_.call(move_it, to_, lent, 60s).wait().code(); }

    Gpu gpu_;
    Node owner_ = Node::listen(GetParam() + "://" + (GetParam() == "tcp" ? "127.0.0.1:0" : "")).value();
    Node user_ = Node::open(GetParam() + "://").value();
    Addr to_ = user_.lookup(owner_.address()).value();
};

TEST_P(GpuTest, device_memory_is_pulled_into_device_memory) {
    GpuMemory from(gpu_, 5 * mib + 3);
    GpuMemory to(gpu_, 5 * mib + 3);
    std::vector<std::byte> content(from.size());
    support::fill_pattern(content, 1);
    from.write(content);
    serve(bulk::Direction::pull, region_of(to));
    EXPECT_EQ(call(region_of(from)), Errc::ok);
    EXPECT_EQ(to.read(), content);
}

TEST_P(GpuTest, host_memory_is_pushed_into_lent_device_memory) {
    GpuMemory lent(gpu_, 3 * mib);
    std::vector<std::byte> content(lent.size());
    support::fill_pattern(content, 2);
    serve(bulk::Direction::push, owner_.expose(std::span(content)).value());
    EXPECT_EQ(call(region_of(lent)), Errc::ok);
    EXPECT_EQ(lent.read(), content);
}

TEST_P(GpuTest, host_file_and_device_memory_are_one_list) {
    GpuMemory device(gpu_, 2 * mib);
    std::vector<std::byte> content(device.size());
    support::fill_pattern(content, 3);
    device.write(content);
    std::vector<std::byte> host(1000);
    support::fill_pattern(host, 4);
    const PatternFile file(mib, 5);
    const std::array parts{user_.expose(std::span(host)).value(), region_of(device).slice(10, mib),
                           file.region(0, mib)};
    const Region lent = Region::join(parts, Access::read_write).value();
    std::vector<std::byte> there(lent.bytes());
    serve(bulk::Direction::pull, owner_.expose(std::span(there)).value());
    ASSERT_EQ(call(lent), Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).first(1000), 4));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).subspan(1000, mib), 3, 10));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(there).subspan(1000 + mib), 5));
}

// Prints the rate, for `./dev test-gpu`.
TEST_P(GpuTest, memory_is_pulled_into_the_device_again_and_again) {
    GpuMemory device(gpu_, 64 * mib);
    std::vector<std::byte> host(device.size());
    support::fill_pattern(host, 6);
    const Region lent = user_.expose(std::span(host)).value();
    serve(bulk::Direction::pull, region_of(device));
    for (int round = 0; round < 5; ++round) {
        const auto began = std::chrono::steady_clock::now();
        ASSERT_EQ(call(lent), Errc::ok);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
        std::printf("gpu.staged %s %s 64 MiB: %.2f GiB/s\n", gpu_.name().c_str(), GetParam().c_str(),
                    64.0 / 1024 / took.count());
    }
    EXPECT_EQ(device.read(), host);
}

INSTANTIATE_TEST_SUITE_P(Over, GpuTest, testing::Values("tcp", "shm"), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace cinnabar
