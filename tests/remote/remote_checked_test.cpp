// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes whose chunks are compared when they have arrived: spans, parts, lists of blocks and plans, of memory
// that damages what is stored to it or loaded from it.
#include "remote_fixture.hpp"

#include <cinnabar/base/work_threads.hpp>
#include <cinnabar/hl/remote_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace cinnabar {
namespace {

using namespace test;
using bulk::Blocks;
using hl::RemoteOptions;
using hl::TransferPlan;

// Far memory that changes a certain byte, the first times that it is stored or loaded.
class FlawedMemory final : public bulk::FarMemory {
  public:
    static constexpr std::uint64_t flaw_at = 100'003;

    FlawedMemory(std::size_t bytes, int flawed_stores, int flawed_loads)
        : memory_(bytes), stores_left_(flawed_stores), loads_left_(flawed_loads) {}
    [[nodiscard]] bulk::MemoryKind kind() const noexcept override { return bulk::MemoryKind::cuda; }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return memory_.size(); }
    [[nodiscard]] bulk::FarEnd load(std::uint64_t offset, Bytes to) noexcept override {
        std::memcpy(to.data(), memory_.data() + offset, to.size());
        if (reaches(offset, to.size()) && loads_left_.fetch_sub(1) > 0)
            to[static_cast<std::size_t>(flaw_at - offset)] ^= std::byte{0x10};
        return {};
    }
    [[nodiscard]] bulk::FarEnd store(std::uint64_t offset, ConstBytes from) noexcept override {
        std::memcpy(memory_.data() + offset, from.data(), from.size());
        if (!reaches(offset, from.size())) return {};
        ++stores_;
        if (stores_left_.fetch_sub(1) > 0) memory_[flaw_at] ^= std::byte{0x10};
        return {};
    }
    [[nodiscard]] WorkThreads& threads() const noexcept override {
        static auto* const threads = new WorkThreads(2);
        return *threads;
    }
    // Between operations.
    [[nodiscard]] Words words() const {
        Words all(memory_.size() / sizeof(std::uint64_t));
        std::memcpy(all.data(), memory_.data(), memory_.size());
        return all;
    }
    void fill(const Words& words) { std::memcpy(memory_.data(), words.data(), memory_.size()); }
    [[nodiscard]] int stores() const noexcept { return stores_.load(); }  // of that byte

  private:
    [[nodiscard]] static bool reaches(std::uint64_t offset, std::size_t bytes) noexcept {
        return offset <= flaw_at && flaw_at - offset < bytes;
    }
    std::vector<std::byte> memory_;
    std::atomic<int> stores_left_;
    std::atomic<int> loads_left_;
    std::atomic<int> stores_{0};
};

Region region_of(Words& words) {
    return Region::expose(std::as_writable_bytes(std::span(words)), Access::read_write).value();
}

class RemoteCheckedEach : public RemoteWords {
  protected:
    [[nodiscard]] RemoteSpan<std::uint64_t> token(Names names) { return shared_.span(names).at(pair_.to); }
    const RemoteOptions checked_{.checked = true};
};

TEST_P(RemoteCheckedEach, spans_are_read_and_written) {
    for (const Names names : {Names::this_version, Names::any_version}) {
        std::iota(memory_.begin(), memory_.end(), 0u);
        Words words(count), few(2);
        EXPECT_EQ(token(names).read(user(), words, checked_).wait().value_or(0), 8 * count);
        EXPECT_EQ(words, memory_);
        EXPECT_EQ(token(names).subspan(7, 2).read(user(), few, checked_).wait().value_or(0), 16u);
        EXPECT_EQ(few, (Words{7, 8}));
        words = counted(count, 3);
        EXPECT_EQ(token(names).write(user(), words, checked_).wait().value_or(0), 8 * count);
        EXPECT_EQ(memory_, words);
        few = {1, 2};
        EXPECT_EQ(token(names).subspan(9, 2).write(user(), few, checked_).wait().value_or(0), 16u);
        EXPECT_EQ(memory_[9], 1u);
        EXPECT_EQ(memory_[10], 2u);
        EXPECT_EQ(memory_[11], 14u);
    }
}

TEST_P(RemoteCheckedEach, many_parts_are_read_and_written) {
    const auto all = token(Names::this_version);
    Words words(20'001);
    const std::span<std::uint64_t> local(words);
    const std::vector<hl::RemoteRead> reads{
        {all.subspan(50'000, 20'000).token(), std::as_writable_bytes(local.first(20'000))},
        {all[5].token(), std::as_writable_bytes(local.last(1))}};
    EXPECT_TRUE(hl::read_many(user(), reads, checked_).wait().ok());
    EXPECT_EQ(words.front(), 50'000u);
    EXPECT_EQ(words.back(), 5u);
    std::ranges::fill(words, 4u);
    const std::vector<hl::RemoteWrite> writes{{all.subspan(10, 20'000).token(), std::as_bytes(local.first(20'000))},
                                              {all[3].token(), std::as_bytes(local.last(1))}};
    EXPECT_TRUE(hl::write_many(user(), writes, checked_).wait().ok());
    EXPECT_EQ(std::ranges::count(memory_, 4u), 20'001 + 1);  // and the word that had been 4
    EXPECT_EQ(memory_[3], 4u);
}

TEST_P(RemoteCheckedEach, blocks_and_plans_are_read_and_written) {
    const auto all = token(Names::any_version);
    const Blocks list = Blocks::strided(80, 80, 160, 5000).value();  // more than one window
    Words picked(50'000);
    EXPECT_TRUE(hl::read_blocks(user(), all.token(), list, region_of(picked), checked_).wait().ok());
    for (std::size_t i = 0; i < picked.size(); ++i) ASSERT_EQ(picked[i], 10 + i / 10 * 20 + i % 10) << i;
    std::ranges::fill(picked, 4u);
    EXPECT_TRUE(hl::write_blocks(user(), all.token(), list, region_of(picked), checked_).wait().ok());
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(memory_[i], i % 20 >= 10 ? 4 : i) << i;

    Words cache(1000);
    const auto plan = TransferPlan::make(user(), all.token(), region_of(cache), 80).value();
    const std::vector<std::uint32_t> there{8, 0, 20}, here{1, 50, 2};
    EXPECT_TRUE(plan.read(there, here, checked_).wait().ok());
    EXPECT_EQ(cache[10], 80u);
    EXPECT_EQ(cache[500], 0u);
    EXPECT_EQ(cache[509], 9u);
    EXPECT_EQ(cache[20], 200u);
    EXPECT_EQ(cache[30], 0u);
    std::ranges::fill(cache, 6u);
    EXPECT_TRUE(plan.write(there, here, checked_).wait().ok());
    EXPECT_EQ(std::ranges::count(memory_, 6u), 30);  // and the word that had been 6 is one of them
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteCheckedEach);

// Cases that do not depend on the network.
class RemoteChecked : public RemoteWords {
  protected:
    RemoteChecked() : RemoteWords(way_named("tcp")) {}
    [[nodiscard]] static std::shared_ptr<FlawedMemory> flawed(int stores, int loads) {
        return std::make_shared<FlawedMemory>(8 * count, stores, loads);
    }
    [[nodiscard]] static Region region(const std::shared_ptr<FlawedMemory>& memory) {
        return Region::of_far(memory, Access::read_write).value();
    }
    [[nodiscard]] RemoteSpan<std::uint64_t> share_far(const std::shared_ptr<FlawedMemory>& memory) {
        far_ = hl::share_bytes(owner(), region(memory), Access::read_write).value();
        return RemoteSpan<std::uint64_t>(far_.token(Names::any_version).at(pair_.to));
    }
    [[nodiscard]] RemoteSpan<std::uint64_t> words() { return shared_.span(Names::any_version).at(pair_.to); }

    hl::SharedBytes far_;
    const RemoteOptions checked_{.checked = true};
};

TEST_F(RemoteChecked, a_chunk_damaged_at_the_owner_is_written_again) {
    const auto unchecked = flawed(1, 0);
    ASSERT_TRUE(share_far(unchecked).write(user(), memory_).wait().ok());
    EXPECT_NE(unchecked->words(), memory_);
    const auto checked = flawed(2, 0);
    EXPECT_TRUE(share_far(checked).write(user(), memory_, checked_).wait().ok());
    EXPECT_EQ(checked->words(), memory_);
    EXPECT_EQ(checked->stores(), 3);
}

TEST_F(RemoteChecked, a_chunk_damaged_on_its_way_out_is_read_again) {
    const auto memory = flawed(0, 1);
    memory->fill(memory_);
    Words read(count);
    ASSERT_TRUE(share_far(memory).read(user(), read, checked_).wait().ok());
    EXPECT_EQ(read, memory_);
    const auto unchecked = flawed(0, 1);
    unchecked->fill(memory_);
    ASSERT_TRUE(share_far(unchecked).read(user(), read).wait().ok());
    EXPECT_NE(read, memory_);
}

TEST_F(RemoteChecked, a_chunk_damaged_where_it_arrives_is_read_again) {
    const auto unchecked = flawed(1, 0);
    ASSERT_TRUE(words().read(user(), region(unchecked)).wait().ok());
    EXPECT_NE(unchecked->words(), memory_);
    const auto checked = flawed(2, 0);
    EXPECT_TRUE(words().read(user(), region(checked), checked_).wait().ok());
    EXPECT_EQ(checked->words(), memory_);
}

TEST_F(RemoteChecked, a_damaged_block_of_a_plan_is_read_again) {
    constexpr std::uint32_t blocks = 200;
    constexpr std::size_t each = count / blocks;
    std::vector<std::uint32_t> there(blocks), here(blocks);
    for (std::uint32_t i = 0; i < blocks; ++i) {
        there[i] = i;
        here[i] = blocks - 1 - i;
    }
    for (const bool checked : {false, true}) {
        const auto cache = flawed(1, 0);
        const auto plan = TransferPlan::make(user(), words().token(), region(cache), 8 * each).value();
        ASSERT_TRUE(plan.read(there, here, {.checked = checked}).wait().ok());
        const Words found = cache->words();
        bool right = true;
        for (std::size_t i = 0; i < count; ++i) right &= found[i] == (blocks - 1 - i / each) * each + i % each;
        EXPECT_EQ(right, checked);
    }
}

// The owner caps what a stranger asks for.
TEST_F(RemoteChecked, a_chunk_that_stays_damaged_ends_the_write_within_the_budget) {
    const auto memory = flawed(1000, 0);
    const auto token = share_far(memory);
    EXPECT_EQ(token.write(user(), memory_, {.checked = true, .again_max = 3}).wait().code(), Errc::bad_checksum);
    EXPECT_EQ(memory->stores(), 4);
    EXPECT_EQ(token.write(user(), memory_, {.checked = true, .again_max = 500}).wait().code(), Errc::bad_checksum);
    EXPECT_EQ(memory->stores(), 4 + 17);
}

TEST_F(RemoteChecked, damaged_bytes_never_reach_shared_host_memory) {
    Words local = counted(count, 9);
    auto writing = words().write(user(), local, checked_);  // has the checksums
    local[60'000] ^= 1;
    EXPECT_EQ(writing.wait().code(), Errc::bad_checksum);
    EXPECT_EQ(memory_, counted(count));
    local = counted(count, 9);
    const auto plan = TransferPlan::make(user(), words().token(), region_of(local), 8000).value();
    const std::vector<std::uint32_t> numbers{1, 7, 20, 21, 22, 23, 24, 25, 26, 27};
    auto by_plan = plan.write(numbers, numbers, checked_);
    local[7'500] ^= 1;
    EXPECT_EQ(by_plan.wait().code(), Errc::bad_checksum);
    EXPECT_EQ(memory_, counted(count));
}

TEST_F(RemoteChecked, damaged_parts_of_far_memory_are_written_again) {
    const auto far = flawed(2, 0);
    const RemoteSpan<std::uint64_t> token = share_far(far);
    const std::span<const std::uint64_t> local(memory_);
    const std::vector<hl::RemoteWrite> writes{
        {token.subspan(0, 50'000).token(), std::as_bytes(local.first(50'000))},
        {token.subspan(50'000, count - 50'000).token(), std::as_bytes(local.last(count - 50'000))}};
    const auto written = hl::write_many(user(), writes, checked_).wait();
    EXPECT_TRUE(written.ok()) << written.error().message();
    EXPECT_EQ(far->words(), memory_);
}

// Of far memory it would be written directly, damaged or not.
TEST_F(RemoteChecked, host_memory_is_not_written_together_with_far_memory) {
    const auto far = flawed(0, 0);
    const RemoteSpan<std::uint64_t> token = share_far(far);
    const Words content = counted(200, 7);
    const std::span<const std::uint64_t> local(content);
    const std::vector<hl::RemoteWrite> writes{{token.subspan(0, 100).token(), std::as_bytes(local.first(100))},
                                              {words().subspan(5, 100).token(), std::as_bytes(local.last(100))}};
    const auto refused = hl::write_many(user(), writes, checked_).wait();
    ASSERT_EQ(refused.code(), Errc::unsupported);
    EXPECT_NE(refused.error().message().find("make it two"), std::string::npos);
    EXPECT_EQ(far->words(), Words(count));
    EXPECT_EQ(memory_, counted(count));
}

TEST_F(RemoteChecked, of_joined_memory_the_far_part_is_written) {
    Words host(1000);
    const auto far = flawed(1, 0);
    const std::vector<Region> parts{region_of(host), region(far)};
    far_ = hl::share_bytes(owner(), Region::join(parts, Access::read_write).value(), Access::read_write).value();
    const RemoteSpan<std::uint64_t> all(far_.token(Names::any_version).at(pair_.to));
    EXPECT_TRUE(all.subspan(1000, count).write(user(), memory_, checked_).wait().ok());
    EXPECT_EQ(far->words(), memory_);
    const Words ten = counted(10, 1);
    EXPECT_EQ(all.subspan(995, 10).write(user(), ten, checked_).wait().code(), Errc::unsupported);
    EXPECT_EQ(all.subspan(0, 10).write(user(), ten, checked_).wait().code(), Errc::unsupported);
    EXPECT_EQ(host, Words(1000));
    far_ = {};
}

TEST_F(RemoteChecked, what_cannot_be_checked_is_refused) {
    Words local(count);
    const Region write_only = Region::expose(std::as_writable_bytes(std::span(local)), Access::write).value();
    EXPECT_EQ(words().read(user(), write_only, checked_).wait().code(), Errc::permission);
    EXPECT_EQ(words().write(user(), region(flawed(0, 0)), checked_).wait().code(), Errc::unsupported);
    const auto far = flawed(0, 0);
    const RemoteSpan<std::uint64_t> token = share_far(far);
    const Blocks list = Blocks::strided(0, 8, 16, 10).value();
    Words ten = counted(10, 1);
    EXPECT_EQ(hl::write_blocks(user(), token.token(), list, region_of(ten), checked_).wait().code(), Errc::unsupported);
    EXPECT_EQ(far->words(), Words(count));
    EXPECT_EQ(local, Words(count));
}

}  // namespace
}  // namespace cinnabar
