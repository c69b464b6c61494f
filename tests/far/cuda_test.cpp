// SPDX-License-Identifier: BSD-3-Clause
// Device memory on a simulated driver that checks the order of calls: failures of each driver call, and leaks.
#include "fake_cuda.hpp"
#include "far_fixture.hpp"
#include "gpu_device.hpp"
#include "support/log_watch.hpp"

#include <cinnabar/cinnabar.hpp>

#include <optional>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

constexpr Rpc<std::uint64_t(Bulk)> fill_it{"fill_it"};
constexpr int launch_failed = 719;

class CudaTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(gpu_.is_here());
        contexts_ = fake_cuda_counts().contexts;
        log_.allow("held its context");  // a busy machine may stop any handler for that long
    }
    void TearDown() override {
        fake_cuda_fail("", 0, 0);
        fake_cuda_await_copies(0);
        nodes_.reset();
        const FakeCudaCounts counts = fake_cuda_counts();
        EXPECT_EQ(counts.breaches, 0u) << "of the driver's rules";
        EXPECT_EQ(counts.contexts, contexts_) << "the test's own, and of memory in quarantine";
        EXPECT_EQ(counts.streams, 0);
        EXPECT_EQ(counts.pinned, 0);
    }
    struct Nodes {
        Node owner = Node::listen("tcp://127.0.0.1:0").value();
        Node user = Node::open("tcp://").value();
        Addr to = user.lookup(owner.address()).value();
    };
    // Makes a region of `memory` and pulls `lent` into it.
    [[nodiscard]] Errc pull_into(const GpuMemory& memory, std::span<std::byte> lent) {
        if (!nodes_) nodes_.emplace();
        auto far = device_memory(gpu_kind, memory.address(), memory.size());
        if (!far) return far.code();
        const Region local = Region::of_far(*std::move(far), Access::read_write).value();
        const auto move = [local](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region mine = local;
            co_return co_await request->pull(mine);
        };
        EXPECT_TRUE(nodes_->owner.serve(fill_it, move).ok());
        const Errc ended = nodes_->user.call(fill_it, nodes_->to, nodes_->user.expose(lent).value(), 30s).wait().code();
        nodes_.reset();
        return ended;
    }
    Gpu gpu_;
    std::int64_t contexts_ = 0;
    std::optional<Nodes> nodes_;
    support::LogWatch log_;
};

TEST_F(CudaTest, CopiesOverlapAndUsePinnedBuffers) {
    GpuMemory to(gpu_, 8 * mib);
    std::vector<std::byte> lent(to.size());
    support::fill_pattern(lent, 1);
    fake_cuda_await_copies(3);
    const FakeCudaCounts before = fake_cuda_counts();
    EXPECT_EQ(pull_into(to, lent), Errc::ok);
    const FakeCudaCounts after = fake_cuda_counts();
    EXPECT_EQ(to.read(), lent);
    EXPECT_EQ(after.copies - before.copies, 10u);
    EXPECT_EQ(after.pinned_copies - before.pinned_copies, 10u);
    EXPECT_GE(after.copies_at_once, 3u);
}

TEST_F(CudaTest, AFailingDriverCallEndsTheTransferAndLeaksNothing) {
    log_.allow("a copy to the memory of a device failed: CUDA_ERROR_LAUNCH_FAILED");
    GpuMemory to(gpu_, 4 * mib);
    std::vector<std::byte> lent(to.size());
    std::uint64_t seed = 0;
    for (const char* name : {"cuPointerGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                             "cuStreamCreate", "cuMemcpyHtoDAsync_v2", "cuStreamSynchronize"}) {
        for (const int after : {0, 1, 5}) {
            support::fill_pattern(lent, ++seed);
            fake_cuda_fail(name, after, launch_failed);
            const Errc ended = pull_into(to, lent);
            const bool never_came = ended == Errc::ok;  // there were fewer calls of that name
            EXPECT_TRUE(never_came ? after > 0 : ended == Errc::io || ended == Errc::invalid_argument)
                << name << " after " << after << ": " << to_string(ended);
            fake_cuda_fail("", 0, 0);
            EXPECT_TRUE(!never_came || to.read() == lent) << name << " after " << after;
            EXPECT_EQ(fake_cuda_counts().breaches, 0u) << name << " after " << after;
        }
    }
    EXPECT_GT(log_.allowed(), 0u);
}

TEST_F(CudaTest, ABufferThatIsNotPinnedIsCopiedAllTheSame) {
    GpuMemory to(gpu_, 2 * mib);
    std::vector<std::byte> lent(to.size());
    support::fill_pattern(lent, 2);
    fake_cuda_fail("cuMemHostRegister_v2", 0, 2);
    const FakeCudaCounts before = fake_cuda_counts();
    EXPECT_EQ(pull_into(to, lent), Errc::ok);
    EXPECT_EQ(fake_cuda_counts().pinned_copies, before.pinned_copies);
    EXPECT_EQ(to.read(), lent);
}

TEST_F(CudaTest, OutOfMemoryHasItsOwnCode) {
    log_.allow("CUDA_ERROR_OUT_OF_MEMORY");
    GpuMemory to(gpu_, mib);
    std::vector<std::byte> lent(to.size());
    fake_cuda_fail("cuMemcpyHtoDAsync_v2", 0, 2);
    EXPECT_EQ(pull_into(to, lent), Errc::out_of_memory);
}

TEST_F(CudaTest, OtherMemoryThanADevicesIsRefused) {
    GpuMemory memory(gpu_, 1000);
    std::byte host{};
    auto* const inside = static_cast<std::byte*>(memory.address()) + 900;
    EXPECT_EQ(device_memory(gpu_kind, &host, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(device_memory(gpu_kind, nullptr, 1).code(), Errc::invalid_argument);
    EXPECT_EQ(device_memory(gpu_kind, memory.address(), 0).code(), Errc::invalid_argument);
    EXPECT_EQ(device_memory(gpu_kind, memory.address(), 1001).code(), Errc::invalid_argument);
    EXPECT_EQ(device_memory(gpu_kind, inside, 101).code(), Errc::invalid_argument);
    EXPECT_EQ(device_memory(gpu_kind, inside, 100).code(), Errc::ok);
    EXPECT_EQ(device_memory(MemoryKind::file, memory.address(), 1).code(), Errc::unsupported);
}

}  // namespace
}  // namespace cinnabar
