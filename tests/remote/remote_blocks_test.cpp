// SPDX-License-Identifier: BSD-3-Clause
// Lists of blocks of remote memory: read and written in one operation, and with reusable plans.
#include "far/far_fixture.hpp"
#include "remote_contracts.hpp"
#include "remote_fixture.hpp"
#include "support/at_yield.hpp"
#include "support/seeds.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/remote_blocks.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>

namespace cinnabar {
namespace {

using namespace test;
using bulk::Blocks;
using hl::read_blocks;
using hl::TransferPlan;
using hl::write_blocks;

using Numbers = std::vector<std::uint32_t>;

// The words of all blocks, `words` of them each, in the order of the list.
Words words_of(const Numbers& blocks, std::size_t words) {
    Words all;
    for (const std::uint32_t block : blocks)
        for (std::size_t i = 0; i < words; ++i) all.push_back(block * words + i);
    return all;
}

Numbers shuffled(std::size_t count, std::uint64_t seed) {
    Numbers numbers(count);
    std::iota(numbers.begin(), numbers.end(), 0u);
    Random random(seed);
    for (std::size_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[random.below(i)]);
    return numbers;
}

struct ShortSteps : RemoteWords {
    ShortSteps() : RemoteWords(way_named("tcp")) {}
    [[nodiscard]] RemoteBytes token() { return shared_.token(Names::this_version).at(pair_.to); }
};

class RemoteBlocks : public RemoteWords {
  protected:
    [[nodiscard]] RemoteBytes token(Names names) { return shared_.token(names).at(pair_.to); }
    [[nodiscard]] static Region region_of(Words& words) {
        return Region::expose(std::as_writable_bytes(std::span(words)), Access::read_write).value();
    }
    [[nodiscard]] Errc read(const Result<Blocks>& blocks, Words& into) {
        return read_blocks(user(), token(Names::this_version), blocks.value(), region_of(into)).wait().code();
    }
};

TEST_P(RemoteBlocks, strided_and_indexed_lists_are_read) {
    Words into(12'000);
    EXPECT_EQ(read(Blocks::strided(16, 24, 160, 4000).value().shifted(8), into), Errc::ok);
    for (std::size_t i = 0; i < into.size(); ++i) ASSERT_EQ(into[i], 3 + i / 3 * 20 + i % 3);
    // More blocks than fit in one window of the owner, a block that occurs twice, and a token with an offset.
    Numbers numbers = shuffled(4900, 7);
    numbers.push_back(numbers.front());
    into.assign(numbers.size() * 20, 0);
    const auto later = token(Names::any_version).part(16, 8 * (count - 2));
    EXPECT_EQ(read_blocks(user(), later, Blocks::indexed(160, numbers).value(), region_of(into)).wait().value(),
              into.size() * 8);
    Words wanted = words_of(numbers, 20);
    for (std::uint64_t& word : wanted) word += 2;
    EXPECT_EQ(into, wanted);
}

TEST_P(RemoteBlocks, lists_are_written_under_a_version_and_without) {
    for (const Names names : {Names::this_version, Names::any_version}) {
        std::iota(memory_.begin(), memory_.end(), 0u);
        const Numbers numbers = shuffled(4900, 3);
        Words from = words_of(numbers, 20);
        for (std::uint64_t& word : from) word += 1'000'000;
        const Blocks blocks = Blocks::indexed(160, numbers).value();
        EXPECT_EQ(write_blocks(user(), token(names), blocks, region_of(from)).wait().value(), from.size() * 8);
        for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(memory_[i], i < 98'000 ? i + 1'000'000 : i);
    }
}

TEST_P(RemoteBlocks, a_plan_is_posted_again_with_other_numbers) {
    Words cache(50'000);
    const Region local = region_of(cache);
    const TransferPlan plan = TransferPlan::make(user(), token(Names::any_version), local, 400).value();
    EXPECT_EQ(plan.remote_blocks(), 2000u);
    EXPECT_EQ(plan.local_blocks(), 1000u);
    for (std::uint64_t round = 1; round <= 3; ++round) {
        Numbers there = shuffled(2000, round), here = shuffled(1000, 10 * round);
        there.resize(300 * round);
        here.resize(300 * round);
        std::fill(cache.begin(), cache.end(), 0);
        EXPECT_EQ(plan.read(there, here).wait().value(), there.size() * 400);
        for (std::size_t i = 0; i < here.size(); ++i)
            for (std::size_t k = 0; k < 50; ++k) ASSERT_EQ(cache[here[i] * 50 + k], there[i] * 50 + k);
        EXPECT_EQ(std::count(cache.begin(), cache.end(), 0u) >= static_cast<long>((1000 - here.size()) * 50), true);
    }
    // Writes the blocks back to other places.
    const Blocks here = Blocks::strided(0, 400, 800, 500).value(), there = Blocks::strided(400, 400, 1600, 500).value();
    std::iota(cache.begin(), cache.end(), 7'000'000u);
    EXPECT_EQ(plan.write(there, here).wait().value(), 200'000u);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t block = i / 50;
        ASSERT_EQ(memory_[i], block % 4 == 1 ? 7'000'000 + block / 4 * 100 + i % 50 : i);
    }
}

CINNABAR_ON_EACH_REMOTE_WAY(RemoteBlocks);

#ifndef NDEBUG
// The lock of the memory is held for one step.
TEST_F(ShortSteps, a_step_has_a_bounded_number_of_blocks) {
    constexpr std::size_t bytes = 64 * 1024;
    const Blocks blocks = Blocks::strided(0, 1, 2, bytes).value();
    std::vector<std::byte> from(bytes, std::byte{9});
    const Region region = Region::expose(Bytes(from), Access::read).value();
    std::atomic<int> steps{0};
    const support::AtYield step("shared memory: a step of blocks", [&steps] { ++steps; });
    EXPECT_EQ(write_blocks(user(), token(), blocks, region).wait().code(), Errc::ok);
    EXPECT_EQ(steps, 64);
    const auto memory = std::as_bytes(std::span(memory_));
    for (std::size_t i = 0; i < bytes; ++i) ASSERT_EQ(memory[2 * i], std::byte{9});
    const test::PatternFile file(0);
    EXPECT_EQ(read_blocks(user(), token(), blocks, file.region(0, bytes)).wait().code(), Errc::ok);
    EXPECT_EQ(steps, 128);
    EXPECT_EQ(file.bytes(), from);
}
#endif

class RemoteBlocksTcp : public RemoteBlocks {};
INSTANTIATE_TEST_SUITE_P(Over, RemoteBlocksTcp, testing::Values(way_named("tcp")),
                         [](const auto& each) { return each.param.name; });

// More pieces than a region may have, so that several calls are needed. The list does not fit in a message.
TEST_P(RemoteBlocksTcp, a_hundred_thousand_blocks_in_one_call) {
    constexpr std::size_t many = 112'000;
    Words large = counted(many * 2);
    auto shared = share(owner(), std::span(large)).value();
    Words into(many * 2);
    const TransferPlan plan =
        TransferPlan::make(user(), shared.span().at(pair_.to).token(), region_of(into), 8).value();
    Numbers there = shuffled(many * 2, 1), here = shuffled(many * 2, 2);
    there.resize(many);
    here.resize(many);
    EXPECT_EQ(plan.read(there, here).wait().value(), many * 8);
    for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(into[here[i]], there[i]);
    const auto all = Blocks::strided(0, 8, 16, many).value(), dense = Blocks::strided(0, 8, 8, many).value();
    EXPECT_EQ(plan.read(all, dense).wait().value(), many * 8);
    for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(into[i], 2 * i);
    EXPECT_EQ(plan.write(there, here, {.notify = 1}).wait().code(), Errc::too_large) << "it takes several calls";
    EXPECT_EQ(plan.write(there, here).wait().value(), many * 8);
    for (std::size_t i = 0; i < many; ++i) ASSERT_EQ(large[there[i]], into[here[i]]);
}

TEST_P(RemoteBlocksTcp, a_write_of_blocks_tells_the_owner) {
    std::mutex mutex;
    std::vector<hl::RemoteNotice> told;
    shared_.on_notified([&](const hl::RemoteNotice& notice) {
        const std::lock_guard lock(mutex);
        told.push_back(notice);
    });
    Words from(40, 9);
    const Blocks blocks = Blocks::strided(80, 16, 160, 20).value();
    EXPECT_TRUE(write_blocks(user(), token(Names::this_version), blocks, region_of(from), {.notify = 5}).wait().ok());
    const std::lock_guard lock(mutex);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].value, 5u);
    EXPECT_EQ(told[0].offset, 80u);
    EXPECT_EQ(told[0].bytes, 320u);
}

TEST_P(RemoteBlocksTcp, what_does_not_fit_is_refused_here) {
    Words into(10);
    EXPECT_EQ(read(Blocks::strided(0, 8, 8, 11), into), Errc::invalid_argument);
    EXPECT_EQ(read(Blocks::strided(count * 8 - 79, 8, 8, 10), into), Errc::invalid_argument);
    EXPECT_EQ(read(Blocks::strided(0, 8, std::uint64_t{1} << 59, 10), into), Errc::invalid_argument);
    const TransferPlan plan = TransferPlan::make(user(), token(Names::this_version), region_of(into), 40).value();
    EXPECT_EQ(plan.read(Numbers{1, 2}, Numbers{0}).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(plan.read(Numbers{}, Numbers{}).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(plan.read(Numbers{1, 20'000}, Numbers{0, 1}).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(plan.read(Numbers{1, 2}, Numbers{0, 2}).wait().code(), Errc::invalid_argument);
    EXPECT_EQ(plan.read(Numbers{1, 2}, Numbers{1, 1}).wait().code(), Errc::invalid_argument) << "written twice";
    EXPECT_EQ(plan.read(Blocks::strided(0, 8, 8, 2).value(), Blocks::strided(0, 8, 8, 2).value()).wait().code(),
              Errc::invalid_argument);
    EXPECT_EQ(TransferPlan::make(user(), RemoteBytes(), region_of(into), 40).code(), Errc::invalid_argument);
    EXPECT_EQ(TransferPlan::make(user(), token(Names::this_version), region_of(into), 0).code(),
              Errc::invalid_argument);
    EXPECT_EQ(into, Words(10));
    EXPECT_TRUE(plan.read(Numbers{1, 0}, Numbers{0, 1}).wait().ok());
}

TEST_P(RemoteBlocksTcp, stale_tokens_and_lack_of_access_are_told) {
    Words words(20);
    const Blocks blocks = Blocks::strided(0, 16, 160, 10).value();
    const auto old = token(Names::this_version);
    const auto readable = shared_.token(0, count * 8, Access::read).at(pair_.to);
    EXPECT_EQ(write_blocks(user(), readable, blocks, region_of(words)).wait().code(), Errc::permission);
    shared_.renew();
    EXPECT_EQ(read_blocks(user(), old, blocks, region_of(words)).wait().code(), Errc::stale);
    EXPECT_EQ(write_blocks(user(), old, blocks, region_of(words)).wait().code(), Errc::stale);
    EXPECT_EQ(memory_, counted(count));
}

// Lists that this library never sends.
TEST_P(RemoteBlocksTcp, the_owner_believes_no_list) {
    using namespace hl::remote_calls;
    Words mine(20, 5);
    const Bulk lent(region_of(mine));
    const hl::RemoteGrant part = shared_.token(800, 800, Access::read_write).grant();
    const auto sent = [&](const Result<Blocks>& blocks) {
        const BlockList list{blocks.value()};
        const Errc code = user().call(gather_blocks, pair_.to, GatherBlocks{part, list, lent}).wait().code();
        EXPECT_EQ(user().call(scatter_blocks, pair_.to, ScatterBlocks{part, list, {}, lent}).wait().code(), code);
        return code;
    };
    EXPECT_EQ(sent(Blocks::strided(1, 80, 720, 2)), Errc::permission) << "a byte beyond the grant";
    EXPECT_EQ(sent(Blocks::strided(std::uint64_t{1} << 62, 80, 720, 2)), Errc::permission);
    EXPECT_EQ(sent(Blocks::strided(0, 80, 0, bulk::blocks_max)), Errc::invalid_argument) << "more than is lent";
    EXPECT_EQ(sent(Result<Blocks>(Blocks())), Errc::protocol);
    const BlockList overlap{Blocks::strided(0, 80, 79, 2).value()};
    EXPECT_EQ(user().call(scatter_blocks, pair_.to, ScatterBlocks{part, overlap, {}, lent}).wait().code(),
              Errc::invalid_argument);
    hl::RemoteGrant forged(part);
    forged.bytes += 8;
    const BlockList fits{Blocks::strided(0, 80, 80, 2).value()};
    EXPECT_EQ(user().call(gather_blocks, pair_.to, GatherBlocks{forged, fits, lent}).wait().code(), Errc::permission);
    EXPECT_EQ(memory_, counted(count));
    EXPECT_EQ(mine, Words(20, 5));
    EXPECT_FALSE(shared_.in_use());
    EXPECT_EQ(user().call(gather_blocks, pair_.to, GatherBlocks{part, fits, lent}).wait().code(), Errc::ok);
}

// The bytes that a transfer sends, including its arguments. The user's node is not driven, so the call has not ended
// yet.
TEST(RemoteBlocksWire, a_strided_list_is_short) {
    NodeOptions undriven;
    undriven.progress_thread = false;
    const Pair pair(way_named("tcp"), undriven);
    constexpr std::uint64_t block = 64;
    const Region memory = pair.owner.allocate(block << 20).value();
    const Region cache = pair.user.allocate(15'000 * block).value();
    const auto shared = share<std::uint64_t>(pair.owner, memory).value();
    const auto plan = TransferPlan::make(pair.user, shared.token().at(pair.to), cache, block).value();
    const Blocks dense = Blocks::strided(0, block, block, 15'000).value();
    const Blocks strided = Blocks::strided(block, block, 4 * block, 15'000).value();
    auto read = plan.read(strided, dense).future();
    rpc::LookCursor place;
    std::vector<rpc::CallSnapshot> calls(16);
    ASSERT_EQ(pair.user.rpc_context().look_at_calls(place, calls), 1u);
    EXPECT_LT(calls[0].bytes, 1024u);
    while (!read.ready()) pair.user.poll();
    EXPECT_EQ(read.get().value(), cache.bytes());
}

// A handler moves blocks of memory that was lent to it.
TEST_P(RemoteBlocks, a_handler_pulls_and_pushes_blocks_of_what_was_lent) {
    struct Turn {
        Numbers numbers;
        Bulk data;
    };
    constexpr Rpc<std::uint64_t(Turn)> turn{"turn"};
    const auto serve = [](Request<Turn> request) -> Task<Result<std::uint64_t>> {
        const Blocks blocks = Blocks::indexed(400, request->numbers).value();
        Words words(blocks.bytes() / 8);
        const auto bytes = std::as_writable_bytes(std::span(words));
        CINNABAR_CO_TRY(const auto pulled, co_await request->data.pull(bytes, {.blocks = &blocks}));
        for (std::uint64_t& word : words) word += 5'000'000;
        CINNABAR_CO_TRY(const auto pushed, co_await request->data.push(ConstBytes(bytes), {.blocks = &blocks}));
        co_return pulled + pushed;
    };
    ASSERT_TRUE(owner().serve(turn, serve).ok());
    Words mine = counted(10'000);
    const Turn in{{180, 3, 4, 77}, Bulk(region_of(mine))};
    EXPECT_EQ(user().call(turn, pair_.to, in).wait().value(), 3200u);
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const bool turned = std::find(in.numbers.begin(), in.numbers.end(), i / 50) != in.numbers.end();
        ASSERT_EQ(mine[i], turned ? i + 5'000'000 : i);
    }
}

// On the simulated network, with any lists on both sides.
TEST(RemoteBlocksSeeds, any_lists_move_what_they_name) {
    for_each_seed(
        [](std::uint64_t seed) {
            Random random(seed);
            Pair pair(way_named("sim"));
            const std::size_t words = 1 + random.below(20), there_blocks = 20 + random.below(300);
            Words memory = counted(words * there_blocks), cache(words * 200);
            auto shared = share(pair.owner, std::span(memory)).value();
            const Names names = random.chance(2) ? Names::this_version : Names::any_version;
            const Region local = pair.user.expose(std::span(cache)).value();
            const auto plan = TransferPlan::make(pair.user, shared.token(names).at(pair.to), local, words * 8).value();
            Numbers there = shuffled(there_blocks, seed), here = shuffled(200, seed + 1);
            const std::size_t moved = 1 + random.below(std::min<std::size_t>(there_blocks, 200));
            there.resize(moved);
            here.resize(moved);
            if (random.chance(2)) {
                ASSERT_EQ(plan.read(there, here).wait().value(), moved * words * 8);
            } else {
                std::iota(cache.begin(), cache.end(), 1'000'000u);
                ASSERT_EQ(plan.write(there, here).wait().value(), moved * words * 8);
            }
            for (std::size_t i = 0; i < moved; ++i)
                for (std::size_t k = 0; k < words; ++k)
                    ASSERT_EQ(memory[there[i] * words + k], cache[here[i] * words + k]);
        },
        4);
}

}  // namespace
}  // namespace cinnabar
