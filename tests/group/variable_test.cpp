// SPDX-License-Identifier: BSD-3-Clause
// Distributed variables on the simulated network.
#include "sim_group.hpp"

#include <cinnabar/group/variable.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Sync;
using group::Variable;
using group::VariableOptions;
using group::Version;
using group::Versioned;

constexpr VariableOptions in_time{.deadline = 10s};
using Text = Variable<std::string>;

Text text_of(SimMember& member, const std::string& key = "text") { return {*member.group, key}; }

Result<Version> put(SimMember& member, const std::string& value, Sync sync, const std::string& key = "text") {
    return sync_wait(text_of(member, key).update(value, sync, in_time));
}
Result<Versioned<std::string>> get(SimMember& member, const std::string& key = "text") {
    return sync_wait(text_of(member, key).fetch(in_time));
}

// The rank of the member that gives out the versions of a key: the one that gave out `version`.
group::Rank root_of(SimGroup& all, const Version& version) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].dead) continue;
        for (const auto& member : all[i].group->view().members()) {
            if (member.process == version.by) return member.rank;
        }
    }
    return group::no_rank;
}

TEST(variable, what_is_updated_eagerly_is_what_all_fetch) {
    SimGroup all(20, 51);
    EXPECT_EQ(get(all[3]).code(), Errc::not_found);
    for (int round = 1; round <= 3; ++round) {
        const std::string value = "value " + std::to_string(round);
        const Version version = put(all[static_cast<std::size_t>(round)], value, Sync::eager).value();
        EXPECT_EQ(version.number, static_cast<std::uint64_t>(round));
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto got = get(all[i]).value();
            EXPECT_EQ(got.value, value);
            EXPECT_EQ(got.version, version);
        }
    }
}

TEST(variable, fetches_are_merged_on_their_way_and_copies_are_used) {
    SimGroup all(40, 52);
    (void)put(all[0], std::string(20'000, 'x'), Sync::none).value();
    const auto calls_during = [&](auto work) {
        const auto served = [&] {
            std::uint64_t requests = 0;
            for (std::size_t i = 0; i < all.size(); ++i) {
                for (const auto& rpc : all[i].node->stats())
                    requests += rpc.name == "cinnabar.group.call" ? rpc.requests : 0;
            }
            return requests;
        };
        const std::uint64_t before = served();
        work();
        return served() - before;
    };
    const auto all_fetch = [&] {
        std::vector<std::optional<Result<Versioned<std::string>>>> got(all.size());
        const auto one = [](Text text, std::optional<Result<Versioned<std::string>>>& out) -> Task<void> {
            auto fetching = text.fetch(in_time);
            out.emplace(co_await fetching);
        };
        for (std::size_t i = 0; i < all.size(); ++i) (void)all[i].node->spawn(one(text_of(all[i]), got[i]));
        all.run_for(500ms);
        for (const auto& each : got) EXPECT_EQ((*each)->value.size(), 20'000u);
    };
    EXPECT_EQ(calls_during(all_fetch), 38u) << "the root and who updated have it; the others ask once each";
    EXPECT_EQ(calls_during(all_fetch), 0u) << "then each has a copy";
}

TEST(variable, lazy_updates_arrive_and_those_that_tell_nobody_do_when_copies_are_old) {
    SimGroup all(10, 53);
    (void)put(all[0], "one", Sync::eager).value();
    EXPECT_EQ(get(all[5])->value, "one");
    (void)put(all[0], "two", Sync::lazy).value();
    all.run_for(100ms);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(get(all[i])->value, "two");
    const Version third = put(all[0], "three", Sync::none).value();
    EXPECT_EQ(get(all[0])->value, "three") << "who updates sees it";
    std::size_t old = 0;
    for (std::size_t i = 0; i < all.size(); ++i) old += get(all[i])->value == "two";
    EXPECT_GE(old, 7u) << "copies are used";
    all.run_for(SimGroup::copy_max);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(get(all[i])->value, "three");
    (void)put(all[0], "four", Sync::none).value();
    EXPECT_EQ(sync_wait(text_of(all[1]).invalidate(in_time))->number, third.number + 1);
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(get(all[i])->value, "four");
}

// Requests of collective calls that each member has served.
std::vector<std::uint64_t> calls_served(SimGroup& all) {
    std::vector<std::uint64_t> served(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].dead) continue;
        for (const auto& rpc : all[i].node->stats()) {
            if (rpc.name == "cinnabar.group.call") served[i] += rpc.requests;
        }
    }
    return served;
}

// All members have a copy of "one", and only the root knows "two".
SimMember& root_with_two(SimGroup& all) {
    const Version first = put(all[0], "one", Sync::eager).value();
    SimMember& root = all[root_of(all, first)];
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(get(all[i])->value, "one");
    EXPECT_EQ(put(root, "two", Sync::none)->number, first.number + 1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (&all[i] != &root) {
            EXPECT_EQ(get(all[i])->value, "one") << "copies are used";
        }
    }
    return root;
}

TEST(variable, an_invalidation_goes_down_the_tree_and_afterwards_no_copy_is_used) {
    SimGroup all(20, 59);
    SimMember& root = root_with_two(all);
    const auto before = calls_served(all);
    const Version version = sync_wait(text_of(root).invalidate(in_time)).value();
    const auto told = calls_served(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (&all[i] != &root) {
            EXPECT_GE(told[i] - before[i], 1u) << i << " was not told";
        }
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto got = get(all[i]).value();
        EXPECT_EQ(got.value, "two") << i;
        EXPECT_EQ(got.version, version) << i;
    }
    const auto sum = [](const std::vector<std::uint64_t>& each) {
        return std::accumulate(each.begin(), each.end(), std::uint64_t{0});
    };
    const auto fetched = calls_served(all);
    EXPECT_GE(sum(fetched) - sum(told), 19u) << "each but the root had to ask";
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(get(all[i])->value, "two");
    EXPECT_EQ(sum(calls_served(all)), sum(fetched)) << "then copies are used again";
    EXPECT_EQ(sync_wait(text_of(all[1], "nothing").invalidate(in_time)).code(), Errc::not_found);
}

TEST(variable, an_invalidation_passes_by_a_member_that_has_died) {
    SimGroup all(12, 60);
    SimMember& root = root_with_two(all);
    SimMember& victim = &root == &all[5] ? all[6] : all[5];
    all.kill(victim);
    const TimeUs before = all.world().now_us();
    ASSERT_TRUE(sync_wait(text_of(root).invalidate(in_time)).ok());
    const auto waited = Microseconds(all.world().now_us() - before);
    EXPECT_LE(waited, 2 * SimGroup::copy_max) << "until it is excluded, or its copy is old";
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i].dead) {
            EXPECT_EQ(get(all[i])->value, "two") << i;
        }
    }
}

Task<void> invalidate_into(Text text, VariableOptions options, std::optional<Result<Version>>& out) {
    auto invalidating = text.invalidate(options);
    out.emplace(co_await invalidating);
}

TEST(variable, an_invalidation_that_waits_for_a_member_can_be_canceled) {
    SimGroup all(5, 61);
    SimMember& root = root_with_two(all);
    SimMember& deaf = &root == &all[4] ? all[3] : all[4];
    all.partition(root, deaf);
    std::stop_source stop;
    const std::stop_token token = stop.get_token();
    VariableOptions options = in_time;
    options.stop = &token;
    std::optional<Result<Version>> out;
    ASSERT_EQ(root.node->spawn(invalidate_into(text_of(root), options, out)), Errc::ok);
    all.run_for(200ms);
    EXPECT_FALSE(out.has_value()) << "it waits for the one that hears nothing";
    stop.request_stop();
    all.run_for(100ms);
    ASSERT_TRUE(out.has_value());
    EXPECT_EQ(out->code(), Errc::canceled);
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (&all[i] != &deaf) {
            EXPECT_EQ(get(all[i])->value, "two") << i << " was told before the cancel";
        }
    }
    all.heal();
    ASSERT_TRUE(sync_wait(text_of(root).invalidate(in_time)).ok());
    EXPECT_EQ(get(deaf)->value, "two");
}

TEST(variable, the_next_root_takes_over_what_the_others_have) {
    SimGroup all(9, 54);
    const Version first = put(all[0], "kept", Sync::eager).value();
    all.kill(all[root_of(all, first)]);
    SimMember& other = all[0].dead ? all[1] : all[0];
    ASSERT_TRUE(all.converge(60s));
    all.run_for(SimGroup::copy_max);  // the members' copies may no longer be used, but are not lost
    EXPECT_EQ(get(other)->value, "kept");
    const Version second = put(other, "next", Sync::eager).value();
    EXPECT_EQ(second.number, first.number + 1);
    EXPECT_NE(second.by, first.by);
}

TEST(variable, a_value_that_only_the_root_had_is_lost_with_it_and_never_an_older_one_given_to_who_saw_it) {
    SimGroup all(6, 55);
    const Version root = put(all[0], "old", Sync::eager).value();
    SimMember& first = root_of(all, root) == 0 ? all[1] : all[0];
    SimMember& second = root_of(all, root) == 2 ? all[3] : all[2];
    (void)put(first, "seen by two", Sync::none).value();
    all.kill(all[root_of(all, root)]);
    ASSERT_TRUE(all.converge(60s));
    all.run_for(SimGroup::copy_max);
    EXPECT_EQ(get(second)->value, "seen by two") << "who updated it has a copy";
}

TEST(variable, clients_fetch_and_update) {
    SimGroup all(12, 56);
    const auto client = all.client();
    EXPECT_EQ(get(*client).code(), Errc::not_found);
    (void)put(*client, "by a client", Sync::eager).value();
    EXPECT_EQ(get(all[7])->value, "by a client");
    (void)put(all[3], "by a member", Sync::eager).value();
    EXPECT_EQ(get(*client)->value, "by a member");
    client->group.reset();
}

TEST(variable, an_eager_update_waits_until_one_that_hears_nothing_has_no_copy_to_use) {
    SimGroup all(5, 57);
    const Version first = put(all[0], "one", Sync::eager).value();
    SimMember& root = all[root_of(all, first)];
    SimMember& deaf = &root == &all[4] ? all[3] : all[4];
    (void)get(deaf).value();
    all.partition(root, deaf);
    const TimeUs before = all.world().now_us();
    (void)put(root, "two", Sync::eager).value();
    const auto waited = Microseconds(all.world().now_us() - before);
    EXPECT_GE(waited, SimGroup::copy_max);
    all.heal();
    EXPECT_EQ(get(deaf)->value, "two");
}

TEST(variable, errors_say_what_is_wrong) {
    SimGroup all(3, 58);
    EXPECT_EQ(put(all[0], "x", Sync::eager, std::string(257, 'k')).code(), Errc::invalid_argument);
    EXPECT_EQ(get(all[0], std::string(257, 'k')).code(), Errc::invalid_argument);
    EXPECT_EQ(put(all[0], std::string(65 << 10, 'x'), Sync::eager).code(), Errc::too_large);
    (void)put(all[0], "text", Sync::eager).value();
    const auto number = sync_wait(Variable<std::uint64_t>(*all[1].group, "text").fetch(in_time));
    EXPECT_EQ(number.code(), Errc::bad_signature);
    std::stop_source stop;
    stop.request_stop();
    const std::stop_token stopped = stop.get_token();
    EXPECT_EQ(sync_wait(text_of(all[1], "other").fetch({.stop = &stopped})).code(), Errc::canceled);
    all[2].group->leave();
    EXPECT_EQ(get(all[2]).code(), Errc::closed);
    EXPECT_EQ(put(all[2], "late", Sync::eager).code(), Errc::closed);
}

}  // namespace
}  // namespace cinnabar::test
