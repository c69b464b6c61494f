// SPDX-License-Identifier: BSD-3-Clause
// Pulls and pushes that check each chunk, by TransferOptions: of host memory, files, and memory that damages what is
// written to it.
#include "far/far_fixture.hpp"
#include "ways.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/chunk_sums.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar {
namespace {

using namespace test;

// Far memory whose first `damages` stores that reach a certain byte change it.
class DamagingFar final : public bulk::FarMemory {
  public:
    static constexpr std::uint64_t damaged_at = (std::uint64_t{2} << 20) + 77;

    DamagingFar(std::size_t bytes, int damages) : memory_(bytes), damages_(damages) {}
    [[nodiscard]] bulk::MemoryKind kind() const noexcept override { return bulk::MemoryKind::cuda; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return memory_.size(); }
    [[nodiscard]] bulk::FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        std::memcpy(to.data(), memory_.data() + offset, to.size());
        return {};
    }
    [[nodiscard]] bulk::FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        std::memcpy(memory_.data() + offset, from.data(), from.size());
        const bool reached = offset <= damaged_at && damaged_at - offset < from.size();
        if (reached && damages_.fetch_sub(1) > 0) memory_[damaged_at] ^= std::byte{0x10};
        return {};
    }
    [[nodiscard]] WorkThreads& threads() const noexcept override {
        static auto* const threads = new WorkThreads(2);
        return *threads;
    }
    [[nodiscard]] const std::vector<std::byte>& memory() const noexcept { return memory_; }
    [[nodiscard]] bool has_damaged() const noexcept { return damages_.load() <= 0; }

  private:
    std::vector<std::byte> memory_;
    std::atomic<int> damages_;
};

struct SummedData {
    Bulk data;
    ChunkSums sums;
};
constexpr Rpc<std::uint64_t(SummedData)> pull_summed{"pull_summed"};
constexpr Rpc<std::uint64_t(Bulk)> push_back{"push_back"};

class CheckedMoveEach : public testing::TestWithParam<Way> {
  protected:
    static constexpr std::size_t bytes = (std::size_t{3} << 20) + 1000;

    CheckedMoveEach() {
        support::fill_pattern(content_, 9);
        const auto pull = [this](Request<SummedData> request) -> Task<Result<std::uint64_t>> {
            const Region into = local_;
            TransferOptions options;
            options.sums = &request->sums;
            options.moved = &moved_;
            options.again_max = again_max_;
            auto one = request->data.pull(into, options);
            co_return co_await one;
        };
        const auto push = [this](Request<Bulk> request) -> Task<Result<std::uint64_t>> {
            const Region from = local_;
            TransferOptions options;
            options.read_back = true;
            options.moved = &moved_;
            options.again_max = again_max_;
            auto one = request->push(from, options);
            co_return co_await one;
        };
        EXPECT_TRUE(server_.serve(pull_summed, pull).ok());
        EXPECT_TRUE(server_.serve(push_back, push).ok());
    }
    [[nodiscard]] static Region exposed(std::vector<std::byte>& memory, Access access = Access::read_write) {
        return Region::expose(Bytes(memory), access).value();
    }
    [[nodiscard]] Result<std::uint64_t> pull(const Region& from) {
        const ChunkSums sums = sync_wait(ChunkSums::read(from)).value();
        const SummedData in{from, sums};
        return client_.call(pull_summed, to_, in, 60s).wait();
    }
    [[nodiscard]] Result<std::uint64_t> push(const Region& into) {
        const Bulk in(into);
        return client_.call(push_back, to_, in, 60s).wait();
    }

    std::vector<std::byte> content_ = std::vector<std::byte>(bytes);
    std::vector<std::byte> room_ = std::vector<std::byte>(bytes);
    Region local_;  // the server's
    std::uint64_t moved_ = 0;
    std::uint32_t again_max_ = 16;
    Node server_ = Node::listen(GetParam().listen).value();
    Node client_ = Node::open(GetParam().open).value();
    Addr to_ = client_.lookup(server_.address()).value();
};

TEST_P(CheckedMoveEach, host_memory_is_pushed_and_read_back) {
    local_ = exposed(content_);
    EXPECT_EQ(push(exposed(room_)).value_or(0), bytes);
    EXPECT_EQ(room_, content_);
    EXPECT_EQ(moved_, bytes);
}

// Memory that may be read and written never travels in the call, whose copy would be the one from before the push.
TEST_P(CheckedMoveEach, a_few_bytes_are_read_back_from_the_memory_itself) {
    local_ = exposed(content_);
    EXPECT_EQ(push(exposed(room_).slice(1, 100)).value_or(0), 100u);
    EXPECT_TRUE(std::equal(room_.begin() + 1, room_.begin() + 101, content_.begin()));
}

TEST_P(CheckedMoveEach, a_file_is_pulled_into_a_file) {
    const PatternFile from(bytes, 3);
    const PatternFile into(bytes, 4);
    local_ = into.region(0, bytes);
    EXPECT_EQ(pull(from.region(0, bytes, Access::read)).value_or(0), bytes);
    EXPECT_EQ(into.bytes(), from.bytes());
    EXPECT_EQ(moved_, bytes);
}

TEST_P(CheckedMoveEach, a_chunk_damaged_where_it_is_stored_is_pulled_again) {
    const auto far = std::make_shared<DamagingFar>(bytes, 2);
    local_ = Region::of_far(far, Access::read_write).value();
    EXPECT_EQ(pull(exposed(content_)).value_or(0), bytes);
    EXPECT_TRUE(far->has_damaged());
    EXPECT_EQ(far->memory(), content_);
}

TEST_P(CheckedMoveEach, a_chunk_damaged_where_it_is_stored_is_pushed_again) {
    const auto far = std::make_shared<DamagingFar>(bytes, 2);
    local_ = exposed(content_);
    EXPECT_EQ(push(Region::of_far(far, Access::read_write).value()).value_or(0), bytes);
    EXPECT_TRUE(far->has_damaged());
    EXPECT_EQ(far->memory(), content_);
}

CINNABAR_ON_EACH_WAY(CheckedMoveEach);

// Cases that do not depend on the network.
class CheckedMove : public CheckedMoveEach {};
INSTANTIATE_TEST_SUITE_P(Over, CheckedMove, testing::Values(ways().front()),
                         [](const auto& each) { return each.param.name; });

TEST_P(CheckedMove, a_chunk_that_stays_damaged_ends_the_push_within_the_budget) {
    const auto far = std::make_shared<DamagingFar>(bytes, 5);
    local_ = exposed(content_);
    again_max_ = 3;
    const auto ended = push(Region::of_far(far, Access::read_write).value());
    EXPECT_EQ(ended.code(), Errc::bad_checksum);
    EXPECT_FALSE(far->has_damaged());  // four of the five times
    EXPECT_LT(moved_, bytes);
}

TEST_P(CheckedMove, memory_that_cannot_be_read_back_is_refused) {
    local_ = exposed(content_);
    EXPECT_EQ(push(exposed(room_, Access::write)).code(), Errc::permission);
    EXPECT_EQ(moved_, 0u);
    EXPECT_EQ(room_, std::vector<std::byte>(bytes));
}

TEST_P(CheckedMove, checksums_of_a_file_that_became_shorter_are_an_error) {
    const PatternFile file(bytes);
    const Region region = file.region(0, bytes, Access::read);
    file.truncate(bytes / 2);
    EXPECT_EQ(sync_wait(ChunkSums::read(region)).code(), Errc::stale);
}

}  // namespace
}  // namespace cinnabar
