// SPDX-License-Identifier: BSD-3-Clause
// Bulk calls from and into files: of the caller, of inner members, and of the caller's own portion.
#include "far/far_fixture.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Group;
using group::GroupOptions;
using group::Portion;
using group::Rank;

constexpr Rpc<void()> take_file{"test.far.take"};
constexpr Rpc<void()> give_file{"test.far.give"};
constexpr std::size_t far_bytes = (std::size_t{300} << 10) + 77;

group::BulkOptions far_options() {
    group::BulkOptions options;
    options.call.deadline = 20s;
    options.call.tree = group::Tree::chain;
    options.chunk_bytes = 64 << 10;
    return options;
}

std::vector<std::byte> far_pattern(std::uint64_t seed) {
    std::vector<std::byte> bytes(far_bytes);
    support::fill_pattern(bytes, seed);
    return bytes;
}

// Stands for a process. Receives into its file, or into memory, and sends from its file.
struct Storing {
    const bool into_file;
    PatternFile file;
    std::vector<std::byte> memory;
    std::unique_ptr<Node> node;
    std::optional<Group> group;

    Storing(std::uint64_t seed, bool receives_into_file, const std::vector<std::string>& seeds)
        : into_file(receives_into_file), file(far_bytes, seed), memory(far_bytes) {
        GroupOptions options;
        options.swim.period = 50ms;
        options.swim.suspicion_min = 20;  // a busy machine must not exclude anybody
        node = std::make_unique<Node>(Node::listen("tcp://127.0.0.1:0").value());
        group.emplace(
            (seeds.empty() ? Group::create(*node, options) : sync_wait(Group::join(*node, seeds, options))).value());
        Storing* const own = this;
        const auto take = [own](Portion portion) -> Task<Result<void>> {
            auto receiving = own->into_file ? portion.receive(own->file.region(0, portion.bytes()))
                                            : portion.receive(Bytes(own->memory));
            co_return co_await receiving;
        };
        const auto give = [own](Portion portion) -> Task<Result<void>> {
            auto sending = portion.send(own->file.region(0, portion.bytes()));
            co_return co_await sending;
        };
        group->serve_bulk(take_file, take).value();
        group->serve_bulk(give_file, give).value();
    }
    [[nodiscard]] std::vector<std::byte> received() const { return into_file ? file.bytes() : memory; }
};

// The caller and an inner member have files, the last member of the chain has memory.
struct FarGroup {
    Storing first{1, true, {}};
    Storing second{2, true, {first.node->address()}};
    Storing third{3, false, {first.node->address()}};

    FarGroup() {
        for (const Storing* each : {&first, &second, &third}) {
            EXPECT_TRUE(sync_wait(with_deadline(each->group->wait_for_members(3), 10s)).ok());
        }
    }
};

TEST(group_far, a_file_is_broadcast_into_files_and_memory) {
    FarGroup all;
    const PatternFile source(far_bytes, 9);
    const auto reached =
        sync_wait(all.first.group->broadcast_bulk(take_file, {}, source.region(0, far_bytes), far_options()));
    ASSERT_TRUE(reached.ok()) << reached.error().message();
    EXPECT_EQ(reached->count, 3u);
    for (const auto& failure : reached->failures) ADD_FAILURE() << failure.rank << ": " << to_string(failure.code);
    for (const Storing* each : {&all.first, &all.second, &all.third}) EXPECT_TRUE(each->received() == far_pattern(9));
}

// More chunks than there are staging buffers.
TEST(group_far, many_chunks_of_a_file_come_into_the_callers_own_file) {
    FarGroup all;
    const PatternFile source(far_bytes, 10);
    group::BulkOptions options = far_options();
    options.chunk_bytes = 8 << 10;
    options.chunks_in_flight = 16;
    const auto reached =
        sync_wait(all.first.group->broadcast_bulk(take_file, {}, source.region(0, far_bytes), options));
    ASSERT_TRUE(reached.ok()) << reached.error().message();
    EXPECT_EQ(reached->count, 3u);
    EXPECT_TRUE(all.first.received() == far_pattern(10));
}

TEST(group_far, files_are_gathered_into_files_and_memory) {
    FarGroup all;
    const PatternFile mine(far_bytes, 11);
    const PatternFile other(far_bytes, 12);
    std::vector<std::byte> last(far_bytes);
    std::map<Rank, bulk::Region> regions;
    regions[0] = mine.region(0, far_bytes);
    regions[1] = other.region(0, far_bytes);
    regions[2] = bulk::Region::expose(Bytes(last), na::Access::read_write).value();
    const auto reached = sync_wait(all.first.group->gather_bulk(give_file, {}, regions, far_options()));
    ASSERT_TRUE(reached.ok()) << reached.error().message();
    EXPECT_EQ(reached->count, 3u);
    EXPECT_TRUE(mine.bytes() == far_pattern(1));
    EXPECT_TRUE(other.bytes() == far_pattern(2));
    EXPECT_TRUE(last == far_pattern(3));
}

}  // namespace
}  // namespace cinnabar::test
