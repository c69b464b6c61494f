// SPDX-License-Identifier: BSD-3-Clause
// Which servers of a group a file goes to.
#include "group_files/placement.hpp"

#include "group_files/servers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace cinnabar::tools::group_files {
namespace {

std::vector<std::string> some_servers(std::size_t count) {
    std::vector<std::string> servers;
    for (std::size_t i = 0; i < count; ++i) servers.push_back("server-" + std::to_string(i));
    return servers;
}

constexpr std::size_t file_count = 6000;
std::string file_name(std::size_t i) { return "folder/file-" + std::to_string(i); }

std::string first_of(std::size_t file, const std::vector<std::string>& servers) {
    return servers[placement_of(file_name(file), servers).front()];
}

TEST(Placement, HasEachServerOnce) {
    const auto servers = some_servers(7);
    auto order = placement_of("a", servers);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
    EXPECT_TRUE(placement_of("a", {}).empty());
}

// Files that were saved by an older version are looked for in the same places.
TEST(Placement, NeverChanges) {
    EXPECT_EQ(weight_of("server-0", "a"), weight_of("server-0", "a"));
    EXPECT_NE(weight_of("server-0", "a"), weight_of("server-1", "a"));
    EXPECT_NE(weight_of("server-0", "a"), weight_of("server-0", "b"));
    EXPECT_EQ(weight_of("server-0", "a"), 0x8da387bca845cc30u);
    EXPECT_EQ(weight_of("", ""), 0x7703f30c7e85f6e7u);
}

TEST(Placement, DoesNotDependOnTheOrderOfTheServers) {
    const auto servers = some_servers(5);
    const std::vector<std::string> reversed(servers.rbegin(), servers.rend());
    for (std::size_t i = 0; i < 100; ++i) {
        const auto one = placement_of(file_name(i), servers);
        const auto other = placement_of(file_name(i), reversed);
        for (std::size_t k = 0; k < servers.size(); ++k) EXPECT_EQ(servers[one[k]], reversed[other[k]]);
    }
}

// Of 6,000 files each of six servers gets 1,000; the standard deviation is 29.
TEST(Placement, SpreadsFilesEvenly) {
    const auto servers = some_servers(6);
    std::map<std::string, unsigned> first;
    std::map<std::string, unsigned> second;
    for (std::size_t i = 0; i < file_count; ++i) {
        const auto order = placement_of(file_name(i), servers);
        ++first[servers[order[0]]];
        ++second[servers[order[1]]];
    }
    for (const auto& server : servers) {
        EXPECT_NEAR(first[server], 1000u, 150u) << server;
        EXPECT_NEAR(second[server], 1000u, 150u) << server;
    }
}

TEST(Placement, AServerThatJoinsTakesItsShareAndNothingElseMoves) {
    const auto before = some_servers(5);
    const auto after = some_servers(6);
    unsigned moved = 0;
    for (std::size_t i = 0; i < file_count; ++i) {
        const auto now = first_of(i, after);
        if (now == first_of(i, before)) continue;
        EXPECT_EQ(now, "server-5");
        ++moved;
    }
    EXPECT_NEAR(moved, 1000u, 150u) << "a sixth";
}

TEST(Placement, WhenAServerLeavesItsFilesGoToTheNextInTheirOrder) {
    const auto before = some_servers(6);
    auto after = before;
    after.erase(after.begin() + 2);
    for (std::size_t i = 0; i < 500; ++i) {
        std::vector<std::string> expected;
        for (const auto server : placement_of(file_name(i), before)) {
            if (before[server] != "server-2") expected.push_back(before[server]);
        }
        const auto order = placement_of(file_name(i), after);
        for (std::size_t k = 0; k < order.size(); ++k) EXPECT_EQ(after[order[k]], expected[k]);
    }
}

using cinnabar::group::Labels;
using cinnabar::group::Member;
using cinnabar::group::Rank;
using cinnabar::group::State;
using cinnabar::group::View;

Member member(Rank rank, State state, const Labels& labels) {
    const auto address = "tcp://127.0.0.1:" + std::to_string(4000 + rank);
    return {rank, 1, state, rank, {na::Addr::parse(address).value(), labels}};
}

const std::string root_a(32, 'a');
const std::string root_b(32, 'b');
const std::string root_c(32, 'c');

TEST(ServersOfAGroup, ArePresentMembersThatSaveFilesEachRootOnce) {
    const View view({}, {member(0, State::alive, {{"save", root_a}}), member(1, State::alive, {{"role", "other"}}),
                         member(2, State::excluded, {{"save", root_b}}), member(3, State::suspect, {{"save", root_c}}),
                         member(4, State::alive, {{"save", root_a}})});
    const auto servers = servers_in(view).value();
    ASSERT_EQ(servers.size(), 2u);
    EXPECT_EQ(servers[0].identity, root_c);
    EXPECT_EQ(servers[1].identity, root_a);
    EXPECT_EQ(servers[1].address, "tcp://127.0.0.1:4004") << "the last to join";
}

// Else two copies of a file could be on one server.
TEST(ServersOfAGroup, AnAddressIsOneServer) {
    auto twin = member(1, State::alive, {{"save", root_b}});
    twin.profile = {member(0, State::alive, {}).address(), twin.labels()};
    const auto servers = servers_in(View({}, {member(0, State::alive, {{"save", root_a}}), twin})).value();
    ASSERT_EQ(servers.size(), 1u);
    EXPECT_EQ(servers[0].identity, root_b);
}

TEST(ServersOfAGroup, OnlyIdentitiesOfRootsCount) {
    for (const auto& label : {std::string(), std::string(31, 'a'), std::string(33, 'a'), std::string(32, 'A'),
                              std::string(32, 'g'), std::string(1, '\0') + root_a.substr(1)})
        EXPECT_TRUE(servers_in(View({}, {member(0, State::alive, {{"save", label}})})).value().empty()) << label;
}

TEST(ServersOfAGroup, AreNotMoreThan1024) {
    std::vector<Member> members;
    const auto add = [&] {
        const auto rank = static_cast<Rank>(members.size());
        members.push_back(member(rank, State::alive, {{"save", std::to_string(10'000 + rank) + root_a.substr(5)}}));
    };
    while (members.size() < 1024) add();
    EXPECT_EQ(servers_in(View({}, members)).value().size(), 1024u);
    add();
    EXPECT_EQ(servers_in(View({}, members)).code(), Errc::too_large);
}

TEST(ServersOfAGroup, TheUrisOfAGroupNameOneFolder) {
    EXPECT_EQ(folder_of({{"tcp://a:1/logs", "tcp://b:2/logs"}}).value(), "logs");
    EXPECT_EQ(folder_of({{"tcp://a:1"}}).value(), "");
    EXPECT_EQ(folder_of({{"tcp://a:1/logs", "tcp://b:2"}}).code(), Errc::bad_address);
    EXPECT_EQ(folder_of({{"here"}}).code(), Errc::bad_address);
}

}  // namespace
}  // namespace cinnabar::tools::group_files
