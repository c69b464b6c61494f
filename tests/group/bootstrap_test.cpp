// SPDX-License-Identifier: BSD-3-Clause
// How members find each other by a folder, a name or a roster, over tcp.
#include "processes.hpp"
#include "support/folder.hpp"

#include <cinnabar/group/bootstrap.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <vector>

namespace cinnabar::test {
namespace {

using namespace std::chrono_literals;
using group::Group;
using group::Rank;
using group::Source;

// A node, the group that it has joined or the error, and how many members it saw then.
struct Started {
    Node node;
    Result<Group> group;
    std::size_t present = 0;
};
std::future<Started> start(Source source, Microseconds join_time = 30s) {
    return std::async(std::launch::async, [source, join_time] {
        Node node = Node::listen("tcp://127.0.0.1:0").value();
        group::GroupOptions options = quick_group();
        options.join_time = join_time;
        Result<Group> group = sync_wait(group::bootstrap(node, source, options));
        const std::size_t present = group ? group->view().present().size() : 0;
        return Started{std::move(node), std::move(group), present};
    });
}

TEST(bootstrap, members_meet_in_a_folder_and_pass_by_what_is_left_there) {
    const support::Folder place;
    (void)place.put("member-2", "cinnabar member\nbefore\n9\ntcp://127.0.0.1:1\n");
    (void)place.put("roster", "cinnabar roster\nbefore\ntcp://127.0.0.1:1\n");
    std::vector<std::future<Started>> starting;
    for (Rank rank = 0; rank < 4; ++rank)
        starting.push_back(start({"folder:" + place.path().string(), rank, 4, "now"}));
    std::vector<Started> members;
    for (auto& each : starting) members.push_back(each.get());
    for (Rank rank = 0; rank < 4; ++rank) {
        ASSERT_TRUE(members[rank].group.ok()) << members[rank].group.error().message();
        EXPECT_EQ(members[rank].group->rank(), rank);
        EXPECT_EQ(members[rank].present, 4u) << "from the start";
        EXPECT_TRUE(sync_wait(with_deadline(members[rank].group->wait_for_members(4), 30s)).ok());
        const auto* own = members[0].group->view().find(rank);
        ASSERT_TRUE(own);
        EXPECT_EQ(own->address().to_string(), members[rank].node.self_addr().to_string());
    }
    // A restarted member finds the roster.
    members.pop_back();
    Started again = start({"folder:" + place.path().string(), 3, 4, "now"}).get();
    ASSERT_TRUE(again.group.ok()) << again.group.error().message();
    EXPECT_TRUE(sync_wait(with_deadline(again.group->wait_for_members(4), 30s)).ok());
}

TEST(bootstrap, a_folder_in_which_somebody_is_missing_says_so) {
    const support::Folder place;
    const Started alone = start({"folder:" + place.path().string(), 0, 2, "now"}, 200ms).get();
    EXPECT_EQ(alone.group.code(), Errc::timed_out);
    EXPECT_NE(alone.group.error().message().find("not all members came to the folder"), std::string::npos);
    EXPECT_EQ(start({"folder:" + place.path().string(), 2, 2, "now"}).get().group.code(), Errc::invalid_argument);
    EXPECT_EQ(start({"folder:/nowhere", 0, 1, "now"}).get().group.code(), Errc::not_found);
}

TEST(bootstrap, a_node_that_does_not_listen_is_no_member) {
    const support::Folder place;
    const Node node = Node::open("tcp://").value();
    EXPECT_EQ(Group::create(node).code(), Errc::invalid_argument);
    EXPECT_EQ(Group::start(node, {{"tcp://127.0.0.1:1"}, 0}).code(), Errc::invalid_argument);
    EXPECT_EQ(sync_wait(group::bootstrap(node, {"folder:" + place.path().string(), 0, 1, "now"})).code(),
              Errc::invalid_argument);
}

TEST(bootstrap, a_name_has_addresses_and_members_join_by_them) {
    const Node node = Node::open("tcp://").value();
    const auto found = sync_wait(group::addresses_of_name(node, "tcp://localhost:4000")).value();
    EXPECT_NE(std::find(found.begin(), found.end(), "tcp://127.0.0.1:4000"), found.end());
    EXPECT_EQ(sync_wait(group::addresses_of_name(node, "tcp://none.invalid:1")).code(), Errc::bad_address);
    EXPECT_EQ(sync_wait(group::addresses_of_name(node, "tcp://localhost")).code(), Errc::bad_address);

    const Started first = start({"dns:tcp://localhost:1", 0, 0, {}}).get();
    const std::string address = first.node.endpoints().front();
    const std::string port = address.substr(address.rfind(':'));
    const Started second = start({"dns:tcp://localhost" + port, 1, 0, {}}).get();
    ASSERT_TRUE(second.group.ok()) << second.group.error().message();
    const Started third = start({address, group::no_rank, 0, {}}).get();
    ASSERT_TRUE(third.group.ok()) << third.group.error().message();
    EXPECT_TRUE(sync_wait(with_deadline(third.group->wait_for_members(3), 30s)).ok());
}

TEST(bootstrap, the_environment_names_the_source) {
    ::unsetenv("CINNABAR_GROUP_SOURCE");
    EXPECT_EQ(Source::from_environment().code(), Errc::not_found);
    ::setenv("CINNABAR_GROUP_SOURCE", "folder:/x", 1);
    EXPECT_EQ(Source::from_environment().value().rank, group::no_rank);
    ::setenv("CINNABAR_GROUP_RANK", "3", 1);
    ::setenv("CINNABAR_GROUP_SIZE", "5", 1);
    ::setenv("CINNABAR_GROUP_RUN", "r", 1);
    const Source source = Source::from_environment().value();
    EXPECT_EQ(source.text, "folder:/x");
    EXPECT_EQ(source.rank, 3u);
    EXPECT_EQ(source.size, 5u);
    EXPECT_EQ(source.run, "r");
    for (const char* wrong : {"", "x", "3x", "-1", "99999999"}) {
        ::setenv("CINNABAR_GROUP_RANK", wrong, 1);
        EXPECT_EQ(Source::from_environment().code(), Errc::invalid_argument) << wrong;
    }
    for (const char* each : {"SOURCE", "RANK", "SIZE", "RUN"})
        ::unsetenv((std::string("CINNABAR_GROUP_") + each).c_str());
}

}  // namespace
}  // namespace cinnabar::test
