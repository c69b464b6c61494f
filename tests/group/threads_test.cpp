// SPDX-License-Identifier: BSD-3-Clause
// Groups on nodes with several threads: members join and leave while others make calls, pass barriers and read events.
// Also run under the thread sanitizer.
#include "support/foreign_coroutine.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/group/group.hpp>
#include <cinnabar/group/variable.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <thread>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::CollectiveOptions;
using group::Group;
using group::GroupOptions;
using group::Happened;
using group::Rank;

constexpr Rpc<std::uint64_t(std::uint64_t)> give_rank{"test.give_rank"};
constexpr CollectiveOptions ten_seconds{.deadline = 10s};

GroupOptions quick() {
    GroupOptions options;
    options.swim.period = 50ms;
    options.swim.suspicion_min = 20;  // a busy machine must not exclude anybody
    return options;
}

// Stands for a process. It has two contexts, so that handlers of one member run concurrently.
struct Threaded {
    std::unique_ptr<Node> node;
    std::optional<Group> group;

    explicit Threaded(const std::vector<std::string>& seeds) {
        Node::Options options;
        options.contexts = 2;
        node = std::make_unique<Node>(Node::listen("tcp://127.0.0.1:0", options).value());
        group.emplace(
            (seeds.empty() ? Group::create(*node, quick()) : sync_wait(Group::join(*node, seeds, quick()))).value());
        const auto give = [](const group::CallInfo& info, std::uint64_t factor) { return factor * (info.self + 1); };
        group->serve(give_rank, give, group::plus).value();
    }
    void leave() {
        group->leave();
        group.reset();
        node.reset();
    }
    [[nodiscard]] std::vector<std::string> seeds() const { return {node->address()}; }
};

using Members = std::vector<std::unique_ptr<Threaded>>;

// Returns when each member knows all of them.
void start(Members& all, std::size_t count) {
    while (all.size() < count)
        all.push_back(std::make_unique<Threaded>(all.empty() ? std::vector<std::string>{} : all.front()->seeds()));
    for (const auto& each : all) ASSERT_TRUE(sync_wait(with_deadline(each->group->wait_for_members(count), 10s)).ok());
}

// What one reader sees of each rank, in order: only a rank that has joined leaves, and none joins twice.
class Story {
  public:
    explicit Story(const std::vector<Rank>& present) {
        for (const Rank rank : present) present_[rank] = 1;
    }
    void add(const group::Event& event) {
        if (event.happened != Happened::joined && event.happened != Happened::left) return;
        std::uint32_t& present = present_[event.rank];
        const bool joined = event.happened == Happened::joined;
        EXPECT_EQ(present != 0, !joined) << "rank " << event.rank;
        present = joined ? event.incarnation : 0;
        EXPECT_GE(event.stamp.version, version_) << "the view has gone back";
        version_ = event.stamp.version;
        ++steps_;
    }
    [[nodiscard]] std::size_t steps() const { return steps_; }

  private:
    std::map<Rank, std::uint32_t> present_;
    std::uint64_t version_ = 0;
    std::size_t steps_ = 0;
};

// Reads until `over`, and then what is left.
Task<void> read(group::Events events, std::atomic<bool>& over, Story& story) {
    for (;;) {
        const bool was_over = over;
        const Result<group::Event> event = co_await with_deadline(events.next(), 50ms);
        if (event.ok())
            story.add(*event);
        else if (was_over)
            co_return;
    }
}

TEST(group_threads, members_come_and_go_while_others_call_and_read) {
    constexpr int rounds = 6;
    Threaded first({});
    Threaded second(first.seeds());
    ASSERT_TRUE(sync_wait(with_deadline(first.group->wait_for_members(2), 10s)).ok());
    std::atomic<bool> over = false;
    std::atomic<std::uint64_t> whole = 0;
    Story story({0, 1});
    std::vector<std::thread> threads;
    threads.emplace_back(
        [&, events = first.group->events()]() mutable { (void)sync_wait(read(std::move(events), over, story)); });
    for (const Threaded* caller : {&first, &second}) {
        threads.emplace_back([&, caller] {
            while (!over) {
                const auto sum = sync_wait(caller->group->reduce(give_rank, 1, group::plus, ten_seconds));
                ASSERT_TRUE(sum.ok());
                ASSERT_GE(sum->count, 2u) << "those that stay";
                whole += sum->all() ? 1 : 0;
            }
        });
    }
    for (int round = 0; round < rounds; ++round) {
        Threaded guest(first.seeds());
        ASSERT_TRUE(sync_wait(with_deadline(second.group->wait_for_members(3), 10s)).ok());
        const auto given = sync_wait(guest.group->call(give_rank, 0, 7, ten_seconds));
        EXPECT_TRUE(given.ok() && *given == 7u) << (given.ok() ? "" : to_string(given.error().code));
        guest.leave();
    }
    over = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(whole, 0u);
    EXPECT_GE(story.steps(), 2u * rounds - 1) << "the goodbye of the last one may still be on its way";
    second.leave();
    first.leave();
}

TEST(group_threads, barriers_and_all_reduces_of_threads_meet) {
    constexpr int members = 3;
    constexpr int rounds = 10;
    Members all;
    ASSERT_NO_FATAL_FAILURE(start(all, members));
    std::vector<std::thread> threads;
    for (const auto& each : all) {
        threads.emplace_back([&each] {
            for (int round = 0; round < rounds; ++round) {
                ASSERT_TRUE(sync_wait(each->group->barrier("step", ten_seconds)).ok());
                const auto sum = sync_wait(each->group->all_reduce("sum", round, group::plus, ten_seconds));
                ASSERT_TRUE(sum.ok() && sum->all());
                ASSERT_EQ(sum->value, members * round);
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& each : all) each->leave();
}

// Each thread updates and fetches. After an eager update it sees that value or a newer one, and versions never go back.
TEST(group_threads, variables_are_fetched_and_updated_by_all) {
    constexpr int members = 3;
    constexpr std::uint64_t rounds = 20;
    Members all;
    ASSERT_NO_FATAL_FAILURE(start(all, members));
    std::vector<std::thread> threads;
    for (int i = 0; i < 2 * members; ++i) {
        threads.emplace_back([&all, i] {
            const group::Variable<std::uint64_t> variable(*all[static_cast<std::size_t>(i) % members]->group, "number");
            const auto sync = i < members ? group::Sync::eager : group::Sync::lazy;
            group::Version last;
            for (std::uint64_t round = 0; round < rounds; ++round) {
                const auto updated = sync_wait(variable.update(round, sync, {.deadline = 10s}));
                ASSERT_TRUE(updated.ok()) << updated.error().message();
                const auto fetched = sync_wait(variable.fetch({.deadline = 10s}));
                ASSERT_TRUE(fetched.ok()) << fetched.error().message();
                ASSERT_GE(fetched->version, *updated);
                ASSERT_GE(fetched->version, last);
                last = fetched->version;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    const auto end = sync_wait(group::Variable<std::uint64_t>(*all[0]->group, "number").fetch({.deadline = 10s}));
    EXPECT_EQ(end->version.number, 2 * members * rounds) << "each update has a version of its own";
    for (const auto& each : all) each->leave();
}

constexpr Rpc<void(std::uint64_t)> load{"test.load"};
constexpr Rpc<bool()> swap_and_scatter{"test.swap_and_scatter"};
constexpr std::size_t part_bytes = std::size_t{64} << 10;

group::BulkOptions small_chunks() {
    group::BulkOptions options;
    options.call.deadline = 20s;
    options.chunk_bytes = 4096;
    return options;
}

using Memory = std::map<Rank, std::vector<std::byte>>;

Memory memory_for(Rank members, Rank self, std::byte first) {
    Memory memory;
    for (Rank rank = 0; rank < members; ++rank) {
        const auto value = static_cast<std::byte>(static_cast<unsigned>(first) + rank);
        if (rank != self) memory[rank].assign(part_bytes, value);
    }
    return memory;
}

std::map<Rank, bulk::Region> regions_of(Memory& memory) {
    std::map<Rank, bulk::Region> regions;
    for (auto& [rank, bytes] : memory)
        regions[rank] = bulk::Region::expose(Bytes(bytes), na::Access::read_write).value();
    return regions;
}

// Each member gets from each other what that one has for it.
Task<bool> swap_all(const Group& group, Rank members) {
    const Rank self = group.rank();
    Memory give = memory_for(members, self, std::byte{1});
    Memory take = memory_for(members, self, std::byte{0});
    auto swapping = group.all_to_all("swap", regions_of(give), regions_of(take), small_chunks());
    const auto swapped = co_await swapping;
    bool right = swapped.ok() && swapped->all() && swapped->count == members - 1;
    const std::vector<std::byte> expected(part_bytes, static_cast<std::byte>(1 + self));
    for (const auto& [rank, bytes] : take) right = right && bytes == expected;
    co_return right;
}

// The lanes of a task on a pool run on all threads of the pool.
TEST(group_threads, memory_is_moved_by_tasks_on_a_pool) {
    constexpr Rank members = 4;
    constexpr int rounds = 15;
    Members all;
    ASSERT_NO_FATAL_FAILURE(start(all, members));
    std::atomic<unsigned> loaded = 0;
    for (const auto& each : all) {
        const auto loads = [&loaded](std::uint64_t first, group::Portion portion) -> Task<Result<void>> {
            std::vector<std::byte> memory(portion.bytes());
            auto receiving = portion.receive(Bytes(memory));
            const Result<void> received = co_await receiving;
            if (received && memory.front() == memory.back() && memory.front() > static_cast<std::byte>(first)) ++loaded;
            co_return received;
        };
        ASSERT_TRUE(each->group->serve_bulk(load, loads).ok());
    }
    const Pool pool = all[0]->node->make_pool({.threads = 4}).value();
    const Group& group = *all[0]->group;
    const auto work = [&group]() -> Task<bool> {
        auto swapping = swap_all(group, members);
        const bool swapped = co_await swapping;
        Memory give = memory_for(members, 0, std::byte{7});
        auto scattering = group.scatter_bulk(load, 7, regions_of(give), small_chunks());
        const auto scattered = co_await scattering;
        co_return swapped&& scattered.ok() && scattered->all() && scattered->count == members - 1;
    };
    ASSERT_TRUE(all[0]->node->serve(swap_and_scatter, work, on(pool)).ok());
    std::vector<std::thread> threads;
    for (Rank rank = 1; rank < members; ++rank) {
        threads.emplace_back([&all, rank] {
            for (int round = 0; round < rounds; ++round) EXPECT_TRUE(sync_wait(swap_all(*all[rank]->group, members)));
        });
    }
    for (int round = 0; round < rounds; ++round) {
        const auto done = all[1]->node->call(swap_and_scatter, all[0]->node->self_addr(), 20s).wait();
        EXPECT_TRUE(done.ok() && *done);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loaded, rounds * (members - 1));
    for (const auto& each : all) each->leave();
}

support::ForeignCoroutine swap_in_foreign(const Group& group, Rank members, std::promise<bool>& end) {
    end.set_value(co_await swap_all(group, members));
}

TEST(group_threads, memory_is_moved_for_a_coroutine_of_another_library) {
    constexpr Rank members = 3;
    Members all;
    ASSERT_NO_FATAL_FAILURE(start(all, members));
    for (int round = 0; round < 10; ++round) {
        std::vector<std::promise<bool>> ends(members);
        for (Rank rank = 0; rank < members; ++rank) swap_in_foreign(*all[rank]->group, members, ends[rank]);
        for (std::promise<bool>& end : ends) EXPECT_TRUE(end.get_future().get());
    }
    for (const auto& each : all) each->leave();
}

}  // namespace
}  // namespace cinnabar::test
