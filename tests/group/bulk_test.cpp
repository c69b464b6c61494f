// SPDX-License-Identifier: BSD-3-Clause
// Calls of groups that move memory, on the simulated network.
#include "bulk_group.hpp"
#include "far/far_fixture.hpp"

#include <algorithm>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using Regions = std::map<Rank, bulk::Region>;

constexpr std::uint32_t chunk = 64 << 10;

BulkOptions bulk_options(Tree tree = Tree::automatic) {
    BulkOptions options;
    options.call.deadline = 20s;
    options.call.tree = tree;
    options.chunk_bytes = chunk;
    return options;
}

TEST(bulk_broadcast, reaches_all_down_any_tree_whatever_the_size) {
    BulkGroup group(9, 1);
    std::uint64_t key = 0;
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{chunk}, std::size_t{5 * chunk + 77}}) {
        for (const Tree tree : {Tree::automatic, Tree::flat, Tree::k_ary, Tree::k_nomial, Tree::chain}) {
            Memory memory = pattern(bytes, ++key);
            BulkOptions options = bulk_options(tree);
            options.checksum = true;
            const auto reached =
                sync_wait(group.all[3].group->broadcast_bulk(load, key, region_of(memory), options)).value();
            EXPECT_EQ(reached.count, 9u);
            EXPECT_TRUE(reached.all());
            for (std::size_t i = 0; i < 9; ++i) group.expect_received(i, key, memory);
        }
    }
}

TEST(bulk_broadcast, of_a_client_that_does_not_listen) {
    BulkGroup group(5, 2);
    auto client = group.all.client();
    Memory memory = pattern(10 * chunk, 7);
    const auto reached = sync_wait(client->group->broadcast_bulk(load, 7, region_of(memory), bulk_options())).value();
    EXPECT_EQ(reached.count, 5u);
    for (std::size_t i = 0; i < 5; ++i) group.expect_received(i, 7, memory);
    client->group.reset();
    client->node.reset();
}

// On hosts that send one message after the other: how much was sent, and when the last member had received everything.
struct Cost {
    TimeUs took_us = 0;
    std::uint64_t most_sent = 0;  // by one host
    std::uint64_t most_on_a_link = 0;
};
Cost cost_of(Tree tree, std::size_t members, std::size_t bytes) {
    BulkGroup group(members, 3, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 100});
    Memory memory = pattern(bytes, 1);
    BulkOptions options = bulk_options(tree);
    const Rank self[] = {0};
    options.call.except = self;
    options.chunk_bytes = chunk / 8;
    const TimeUs begun = group.all.world().now_us();
    const auto reached = sync_wait(group.all[0].group->broadcast_bulk(load, 1, region_of(memory), options)).value();
    EXPECT_EQ(reached.count, members - 1);
    Cost cost{group.all.world().now_us() - begun, 0, 0};
    for (std::size_t i = 0; i < members; ++i) {
        std::uint64_t sent = 0;
        for (std::size_t j = 0; j < members; ++j) {
            const auto moved = group.all.world().bytes_moved(group.all[i].host, group.all[j].host);
            cost.most_on_a_link = std::max(cost.most_on_a_link, moved);
            sent += moved;
        }
        cost.most_sent = std::max(cost.most_sent, sent);
    }
    return cost;
}

TEST(bulk_broadcast, to_fifteen_costs_little_more_than_one_transfer) {
    constexpr std::size_t bytes = 64 * chunk;
    constexpr TimeUs one_transfer = bytes / 100;
    const Cost chain = cost_of(Tree::automatic, 16, bytes);
    EXPECT_EQ(chain.most_on_a_link, bytes);
    EXPECT_EQ(chain.most_sent, bytes) << "each sends it once";
    EXPECT_LT(chain.took_us, one_transfer * 13 / 10);
    const Cost flat = cost_of(Tree::flat, 16, bytes / 8);
    EXPECT_EQ(flat.most_sent, 15 * bytes / 8);
    EXPECT_GT(flat.took_us, 14 * one_transfer / 8) << "so the network of this test has its limit";
}

Task<void> broadcast_into(group::Group group, std::uint64_t key, bulk::Region region, BulkOptions options,
                          std::optional<Result<group::Reached>>& out) {
    auto task = group.broadcast_bulk(load, key, region, options);
    out = co_await task;
}

TEST(bulk_broadcast, goes_on_from_what_has_come_when_an_inner_member_dies) {
    BulkGroup group(6, 4, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 1000});
    constexpr std::size_t bytes = 64 * chunk;
    Memory memory = pattern(bytes, 1);
    BulkOptions options = bulk_options(Tree::chain);
    options.call.deadline = 30s;
    std::optional<Result<group::Reached>> out;
    ASSERT_EQ(group.all[0].node->spawn(broadcast_into(*group.all[0].group, 1, region_of(memory), options, out)),
              Errc::ok);
    group.all.run_for(Microseconds(bytes / 1000 / 2));
    const auto moved_to_third = group.all.world().bytes_moved("m2", "m3");
    EXPECT_GT(moved_to_third, bytes / 4) << "it is under way";
    EXPECT_LT(moved_to_third, bytes * 3 / 4);
    group.all.kill(group.all[2]);
    group.all.run_for(20s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 5u);
    ASSERT_EQ((*out)->failures.size(), 1u);
    EXPECT_EQ((*out)->failures[0].rank, 2u);
    for (const std::size_t i : {1u, 3u, 4u, 5u}) group.expect_received(i, 1, memory);
    const auto by_adopter = group.all.world().bytes_moved("m1", "m3") + group.all.world().bytes_moved("m0", "m3");
    EXPECT_GE(by_adopter + moved_to_third, bytes);
    EXPECT_LE(by_adopter + moved_to_third, bytes + 16 * chunk) << "only what was missing";
}

void expect_to_wait_for_who_is_cut_off(std::uint64_t seed) {
    BulkGroup group(6, seed, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 1000});
    constexpr std::size_t bytes = 64 * chunk;
    Memory memory = pattern(bytes, 1);
    BulkOptions options = bulk_options(Tree::chain);
    options.call.deadline = 60s;
    options.come_back = 20s;
    std::optional<Result<group::Reached>> out;
    ASSERT_EQ(group.all[0].node->spawn(broadcast_into(*group.all[0].group, 1, region_of(memory), options, out)),
              Errc::ok);
    group.all.run_for(Microseconds(bytes / 1000 / 2));
    const auto before = group.all.world().bytes_moved("m1", "m2");
    EXPECT_GT(before, bytes / 4) << "it is under way";
    EXPECT_LT(before, bytes * 3 / 4);
    for (std::size_t i = 0; i < group.all.size(); ++i) {
        if (i != 2) group.all.partition(group.all[i], group.all[2]);
    }
    group.all.run_for(5s);
    EXPECT_FALSE(out.has_value()) << "it waits for the member";
    EXPECT_EQ(group.all[1].group->view().find(2)->state, group::State::excluded);
    for (const std::size_t i : {3u, 4u, 5u}) group.expect_received(i, 1, memory);
    group.all.heal();
    group.all.run_for(20s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 6u);
    EXPECT_TRUE((*out)->all());
    group.expect_received(2, 1, memory);
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < group.all.size(); ++i) moved += group.all.world().bytes_moved(group.all[i].host, "m2");
    EXPECT_GE(moved, bytes);
    EXPECT_LE(moved, bytes + 16 * chunk) << "only what was missing";
}

// The members exclude each other, dial in vain and come back in an order that differs.
TEST(bulk_broadcast, waits_for_a_member_that_is_cut_off_and_sends_it_only_what_it_lacks) {
    for (const std::uint64_t seed : {13u, 103u, 109u, 115u}) {
        SCOPED_TRACE(seed);
        expect_to_wait_for_who_is_cut_off(seed);
    }
}

TEST(bulk_broadcast, waits_in_vain_for_a_member_that_has_died_but_not_for_longer) {
    BulkGroup group(4, 14, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 1000});
    Memory memory = pattern(32 * chunk, 1);
    BulkOptions options = bulk_options(Tree::chain);
    options.call.deadline = 60s;
    options.come_back = 3s;
    std::optional<Result<group::Reached>> out;
    ASSERT_EQ(group.all[0].node->spawn(broadcast_into(*group.all[0].group, 1, region_of(memory), options, out)),
              Errc::ok);
    group.all.run_for(500us);
    group.all.kill(group.all[2]);
    group.all.run_for(6s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 3u);
    ASSERT_EQ((*out)->failures.size(), 1u);
    EXPECT_EQ((*out)->failures[0].rank, 2u);
    for (const std::size_t i : {1u, 3u}) group.expect_received(i, 1, memory);
}

TEST(bulk_broadcast, waits_for_a_member_that_has_died_only_as_long_as_there_is_time_to_tell_of_the_others) {
    BulkGroup group(4, 15, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 1000});
    Memory memory = pattern(32 * chunk, 1);
    BulkOptions options = bulk_options(Tree::chain);
    options.call.deadline = 300ms;
    options.come_back = 60s;
    std::optional<Result<group::Reached>> out;
    ASSERT_EQ(group.all[0].node->spawn(broadcast_into(*group.all[0].group, 1, region_of(memory), options, out)),
              Errc::ok);
    group.all.run_for(500us);
    group.all.kill(group.all[2]);
    group.all.run_for(1s);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 3u);
    ASSERT_EQ((*out)->failures.size(), 1u);
    EXPECT_EQ((*out)->failures[0].rank, 2u);
}

TEST(bulk_broadcast, passes_by_a_member_whose_handler_wants_none_of_it) {
    BulkGroup group(6, 5);
    Memory memory = pattern(16 * chunk, 1);
    constexpr Rpc<void(std::uint64_t)> choosy{"test.choosy"};
    for (std::size_t i = 0; i < 6; ++i) {
        Received* own = group.received[i].get();
        const auto handler = [own, i](std::uint64_t key, Portion portion) -> Task<Result<void>> {
            if (i == 2) co_return app_error(9, "no room");
            own->memory[key].resize(portion.bytes());
            auto receiving = portion.receive(Bytes(own->memory[key]));
            co_return co_await receiving;
        };
        group.all[i].group->serve_bulk(choosy, handler).value();
    }
    const auto reached =
        sync_wait(group.all[0].group->broadcast_bulk(choosy, 1, region_of(memory), bulk_options(Tree::chain)));
    ASSERT_TRUE(reached.ok());
    EXPECT_EQ(reached->count, 5u);
    ASSERT_EQ(reached->failures.size(), 1u);
    EXPECT_EQ(reached->failures[0].rank, 2u);
    EXPECT_EQ(reached->failures[0].app_code, 9u);
    for (const std::size_t i : {0u, 1u, 3u, 4u, 5u}) group.expect_received(i, 1, memory);
}

TEST(bulk_broadcast, that_is_canceled_ends_at_all_members) {
    BulkGroup group(5, 6, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 100});
    Memory memory = pattern(64 * chunk, 1);
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    BulkOptions options = bulk_options(Tree::chain);
    options.call.stop = &token;
    const Rank self[] = {0};
    options.call.except = self;
    std::optional<Result<group::Reached>> out;
    ASSERT_EQ(group.all[0].node->spawn(broadcast_into(*group.all[0].group, 1, region_of(memory), options, out)),
              Errc::ok);
    group.all.run_for(10ms);
    stop.request_stop();
    group.all.run_for(500ms);
    ASSERT_TRUE(out && out->ok());
    EXPECT_EQ((*out)->count, 0u);
    EXPECT_EQ((*out)->failures.size(), group.all.size() - 1);
    for (const auto& failure : (*out)->failures) EXPECT_EQ(failure.code, Errc::canceled) << failure.rank;
    for (std::size_t i = 1; i < 5; ++i) {
        ASSERT_TRUE(group.received[i]->outcome.contains(1)) << i;
        EXPECT_EQ(group.received[i]->outcome.at(1).code(), Errc::canceled) << i;
    }
}

TEST(bulk_calls, say_what_is_wrong) {
    BulkGroup group(2, 7);
    const group::Group& own = *group.all[0].group;
    Memory memory = pattern(2 * chunk, 1);
    const auto code_of = [&](auto change) {
        BulkOptions options = bulk_options();
        change(options);
        return sync_wait(own.broadcast_bulk(load, 1, region_of(memory), options)).code();
    };
    EXPECT_EQ(code_of([](BulkOptions& o) { o.chunk_bytes = 100; }), Errc::invalid_argument);
    EXPECT_EQ(code_of([](BulkOptions& o) { o.chunk_bytes = 1 << 30; }), Errc::invalid_argument);
    EXPECT_EQ(code_of([](BulkOptions& o) { o.chunks_in_flight = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_of([](BulkOptions& o) { o.chunks_in_flight = 17; }), Errc::invalid_argument);
    EXPECT_EQ(code_of([](BulkOptions& o) { o.members_in_flight = 0; }), Errc::invalid_argument);
    EXPECT_EQ(code_of([](BulkOptions& o) { o.come_back = 61s; }), Errc::invalid_argument);

    const auto failure_of = [&](group::Reached reached) {
        return reached.failures.size() == 1 ? reached.failures[0].code : Errc::ok;
    };
    Regions read_only;
    read_only[1] = bulk::Region::expose(ConstBytes(memory)).value();
    EXPECT_EQ(failure_of(sync_wait(own.gather_bulk(store, 1, read_only, bulk_options())).value()), Errc::permission);
    Regions of_nobody;
    of_nobody[17] = region_of(memory);
    EXPECT_EQ(failure_of(sync_wait(own.scatter_bulk(load, 1, of_nobody, bulk_options())).value()), Errc::not_found);
    Regions wrong_way;
    wrong_way[1] = region_of(memory);
    EXPECT_EQ(failure_of(sync_wait(own.gather_bulk(load, 1, wrong_way, bulk_options())).value()), Errc::permission);
    EXPECT_EQ(failure_of(sync_wait(own.scatter_bulk(store, 1, wrong_way, bulk_options())).value()), Errc::permission);
    const PatternFile file(100);
    BulkOptions summed = bulk_options();
    summed.checksum = true;
    EXPECT_EQ(sync_wait(own.broadcast_bulk(load, 1, file.region(0, 100), summed)).code(), Errc::unsupported);
    Regions into_file;
    into_file[1] = file.region(0, 100);
    EXPECT_EQ(sync_wait(own.all_to_all("swap", {}, into_file, bulk_options())).code(), Errc::unsupported);
    // A plain call to a bulk handler, and a bulk call to a plain handler.
    const group::CollectiveOptions to_second{.deadline = 5s};
    EXPECT_EQ(sync_wait(own.call(load, 1, 1, to_second)).code(), Errc::bad_signature);
    const auto plain = sync_wait(own.scatter_bulk(note, std::string("x"), wrong_way, bulk_options())).value();
    EXPECT_EQ(failure_of(plain), Errc::bad_signature);
}

TEST(bulk_calls, a_portion_moves_once_and_into_memory_of_its_size) {
    BulkGroup group(2, 8);
    constexpr Rpc<void()> probe{"test.probe"};
    std::vector<Errc> codes;
    const auto handler = [&codes](Portion portion) -> Task<Result<void>> {
        Memory small(10);
        const Memory fixed(portion.bytes());
        const PatternFile file(portion.bytes());
        auto too_small = portion.receive(Bytes(small));
        codes.push_back((co_await too_small).code());
        auto constant = portion.receive(bulk::Region::expose(ConstBytes(fixed)).value());
        codes.push_back((co_await constant).code());
        auto far = portion.receive(file.region(0, portion.bytes()));
        codes.push_back((co_await far).code());
        auto fetching = portion.fetch<std::uint64_t>();
        const auto fetched = co_await fetching;
        codes.push_back(fetched.code());
        codes.push_back(fetched && fetched->size() == portion.bytes() / 8 ? Errc::ok : Errc::io);
        Memory again(portion.bytes());
        auto twice = portion.receive(Bytes(again));
        codes.push_back((co_await twice).code());
        co_return Result<void>();
    };
    group.all[1].group->serve_bulk(probe, handler).value();
    Memory memory = pattern(8 * 1000, 1);
    Regions regions;
    regions[1] = region_of(memory);
    BulkOptions summed = bulk_options();
    summed.checksum = true;  // of files there are none
    EXPECT_TRUE(sync_wait(group.all[0].group->scatter_bulk(probe, {}, regions, summed))->all());
    EXPECT_EQ(codes, (std::vector{Errc::invalid_argument, Errc::permission, Errc::unsupported, Errc::ok, Errc::ok,
                                  Errc::busy}));
}

TEST(bulk_calls, a_portion_is_closed_once_its_handler_has_ended) {
    BulkGroup group(2, 12);
    constexpr Rpc<void()> keep{"test.keep"};
    std::optional<Portion> kept;
    group.all[1].group->serve_bulk(keep, [&kept](Portion portion) { kept.emplace(std::move(portion)); }).value();
    Memory memory = pattern(100, 1);
    Regions regions;
    regions[1] = region_of(memory);
    EXPECT_TRUE(sync_wait(group.all[0].group->scatter_bulk(keep, {}, regions, bulk_options()))->all());
    Memory late(100);
    EXPECT_EQ(sync_wait(kept->receive(Bytes(late))).code(), Errc::closed);
}

TEST(bulk_calls, scatter_and_gather_move_a_region_for_each_rank) {
    BulkGroup group(6, 9);
    std::vector<Memory> parts;
    Regions regions;
    for (Rank rank = 0; rank < 6; ++rank) parts.push_back(pattern(rank * chunk + rank, 100 + rank));
    for (Rank rank = 0; rank < 6; ++rank) regions[rank] = region_of(parts[rank]);
    BulkOptions options = bulk_options();
    options.members_in_flight = 2;
    options.checksum = true;
    const auto scattered = sync_wait(group.all[1].group->scatter_bulk(load, 5, regions, options)).value();
    EXPECT_EQ(scattered.count, 6u);
    for (Rank rank = 0; rank < 6; ++rank) group.expect_received(rank, 5, parts[rank]);

    group.all.kill(group.all[4]);
    const auto gathered = sync_wait(group.all[1].group->gather_bulk(store, 40, regions, options)).value();
    EXPECT_EQ(gathered.count, 5u);
    ASSERT_EQ(gathered.failures.size(), 1u);
    EXPECT_EQ(gathered.failures[0].rank, 4u);
    for (const Rank rank : {0u, 1u, 2u, 3u, 5u}) EXPECT_TRUE(parts[rank] == pattern(parts[rank].size(), 40 + rank));
}

// What one member gives and takes in an all-to-all exchange. Member i sends the pattern 100 i + j to member j.
struct Exchanging {
    std::map<Rank, Memory> given;
    std::map<Rank, Memory> taken;
    std::optional<Result<group::Reached>> out;
};
Task<void> exchange(group::Group group, Exchanging& own, std::size_t members, std::size_t bytes, BulkOptions options) {
    Regions give;
    Regions take;
    for (Rank rank = 0; rank < members; ++rank) {
        own.given[rank] = pattern(bytes, 100 * group.rank() + rank);
        own.taken[rank].resize(bytes);
        give[rank] = region_of(own.given[rank]);
        take[rank] = region_of(own.taken[rank]);
    }
    auto task = group.all_to_all("swap", give, take, options);
    own.out = co_await task;
}

TEST(all_to_all, each_gets_what_the_others_have_for_it_of_few_at_a_time) {
    constexpr std::size_t members = 7;
    constexpr std::size_t bytes = 8 * chunk;
    BulkGroup group(members, 10, {.bytes_per_us = 1'000'000, .host_bytes_per_us = 1000});
    std::vector<Exchanging> each(members);
    BulkOptions options = bulk_options();
    options.members_in_flight = 2;
    options.chunks_in_flight = 1;
    for (std::size_t i = 0; i < members; ++i)
        (void)group.all[i].node->spawn(exchange(*group.all[i].group, each[i], members, bytes, options));
    std::size_t most_at_a_time = 0;
    for (int step = 0; step < 200; ++step) {
        group.all.run_for(500us);
        for (std::size_t to = 0; to < members; ++to) {
            std::size_t at_a_time = 0;
            for (std::size_t from = 0; from < members; ++from) {
                const auto moved = group.all.world().bytes_moved(group.all[from].host, group.all[to].host);
                at_a_time += moved > 0 && moved < bytes;
            }
            most_at_a_time = std::max(most_at_a_time, at_a_time);
        }
    }
    EXPECT_EQ(most_at_a_time, 2u) << "members_in_flight";
    for (Rank to = 0; to < members; ++to) {
        ASSERT_TRUE(each[to].out && each[to].out->ok()) << to;
        EXPECT_EQ((*each[to].out)->count, members);
        for (Rank from = 0; from < members; ++from)
            EXPECT_TRUE(each[to].taken[from] == pattern(bytes, 100 * from + to)) << from << " to " << to;
    }
}

TEST(all_to_all, goes_on_without_those_that_die_and_says_what_does_not_fit) {
    constexpr std::size_t members = 4;
    BulkGroup group(members, 11);
    std::vector<Exchanging> each(members);
    for (std::size_t i = 0; i < members; ++i)
        (void)group.all[i].node->spawn(
            exchange(*group.all[i].group, each[i], members, i == 1 ? 2 * chunk : chunk, bulk_options()));
    group.all.run_for(50us);
    group.all.kill(group.all[3]);
    group.all.run_for(30s);
    for (const Rank rank : {0u, 1u, 2u}) {
        ASSERT_TRUE(each[rank].out && each[rank].out->ok()) << rank;
        for (const auto& failure : (*each[rank].out)->failures) {
            const bool fits = failure.rank == 3 || (failure.rank == 1) != (rank == 1);
            EXPECT_TRUE(fits) << failure.rank << " at " << rank;
            if (failure.rank != 3) {
                EXPECT_EQ(failure.code, Errc::invalid_argument);
            }
        }
        EXPECT_EQ((*each[rank].out)->count, rank == 1 ? 1u : 2u);
    }
    auto client = group.all.client();
    EXPECT_EQ(sync_wait(client->group->all_to_all("swap", {}, {}, bulk_options())).code(), Errc::permission);
    client->group.reset();
    client->node.reset();
}

}  // namespace
}  // namespace cinnabar::test
