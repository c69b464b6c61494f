// SPDX-License-Identifier: BSD-3-Clause
// What members publish about themselves, in its encoded form.
#include <cinnabar/group/member.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace cinnabar::test {
namespace {

using group::Labels;
using group::Profile;

na::Addr addr_of(const std::string& text) { return na::Addr::parse(text).value(); }

TEST(profile, says_what_it_was_made_of) {
    const na::Addr address = addr_of("tcp://127.0.0.1:1?context=3,shm://host/1");
    const Labels labels{{"disk", "ssd"}, {"empty", ""}};
    const Profile profile(address, labels, true);
    EXPECT_TRUE(profile);
    EXPECT_EQ(profile.address(), address);
    EXPECT_EQ(profile.labels(), labels);
    EXPECT_TRUE(profile.side_loop());
    EXPECT_FALSE(Profile(address, labels).side_loop());
}

TEST(profile, that_is_empty_has_no_address_and_no_labels) {
    const Profile nothing;
    EXPECT_FALSE(nothing);
    EXPECT_TRUE(nothing.address().empty());
    EXPECT_TRUE(nothing.labels().empty());
    EXPECT_FALSE(nothing.side_loop());
    EXPECT_EQ(nothing, Profile());
}

TEST(profile, copies_outlive_it) {
    Profile copy;
    {
        const Profile profile(addr_of("tcp://127.0.0.1:1"), {{"zone", "a"}});
        copy = profile;
        EXPECT_EQ(copy.encoded().data(), profile.encoded().data()) << "they share it";
    }
    const Profile moved = std::move(copy);
    EXPECT_EQ(moved.labels(), (Labels{{"zone", "a"}}));
    EXPECT_EQ(moved.address().to_string(), "tcp://127.0.0.1:1");
}

TEST(profile, addresses_are_compared_without_what_else_it_says) {
    const Profile one(addr_of("tcp://127.0.0.1:1"), {});
    EXPECT_TRUE(one.has_address_of(Profile(addr_of("tcp://127.0.0.1:1"), {{"zone", "a"}})));
    EXPECT_FALSE(one.has_address_of(Profile(addr_of("tcp://127.0.0.1:2"), {})));
    EXPECT_FALSE(one.has_address_of(Profile(addr_of("tcp://127.0.0.1:1?context=0"), {})));
    EXPECT_FALSE(one.has_address_of(Profile()));
    EXPECT_EQ(one, Profile(addr_of("tcp://127.0.0.1:1"), {}));
    EXPECT_NE(one, Profile(addr_of("tcp://127.0.0.1:1"), {}, true));
}

TEST(profile, the_largest_one_is_whole) {
    std::string text;
    for (int i = 0; i < 8; ++i) {
        const std::string endpoint = "tcp://" + std::string(240, static_cast<char>('a' + i)) + ":1000";
        text += (i == 0 ? "" : ",") + endpoint;
    }
    Labels labels;
    for (std::size_t i = 0; i < group::labels_max; ++i)
        labels["label" + std::to_string(100 + i)] = std::string(56, 'x');
    const na::Addr address = addr_of(text);
    ASSERT_TRUE(Profile::can_have(address, labels));
    const Profile profile(address, labels);
    EXPECT_EQ(profile.address(), address);
    EXPECT_EQ(profile.labels(), labels);
    labels["label100"] += 'x';
    EXPECT_FALSE(Profile::can_have(address, labels)) << "a byte too much";
    labels = {};
    for (std::size_t i = 0; i <= group::labels_max; ++i) labels[std::to_string(i)] = "";
    EXPECT_FALSE(Profile::can_have(address, labels)) << "a label too much";
    EXPECT_FALSE(Profile::can_have(na::Addr(), {})) << "it does not listen";
}

}  // namespace
}  // namespace cinnabar::test
