// SPDX-License-Identifier: BSD-3-Clause
// The identity of a root in a group.
#include "group_files/root_identity.hpp"

#include "support/folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace cinnabar::tools::group_files {
namespace {

class IdentityOfARoot : public testing::Test {
  protected:
    support::Folder root_;
    const std::string staging_ = root_.at(".cinnabar-staging");
};

TEST_F(IdentityOfARoot, IsMadeOnce) {
    std::filesystem::create_directory(staging_);
    const auto made = identity_of_root(root_.path().string()).value();
    EXPECT_TRUE(is_identity(made)) << made;
    EXPECT_EQ(identity_of_root(root_.path().string()).value(), made);
    (void)root_.put(".cinnabar-staging/server", "other");
    EXPECT_EQ(identity_of_root(root_.path().string()).code(), Errc::protocol);
}

TEST_F(IdentityOfARoot, IsNotLookedForBehindALink) {
    std::filesystem::create_directory(root_.at("elsewhere"));
    std::filesystem::create_symlink(root_.at("elsewhere"), staging_);
    EXPECT_FALSE(identity_of_root(root_.path().string()));
    EXPECT_TRUE(std::filesystem::is_empty(root_.at("elsewhere")));
}

}  // namespace
}  // namespace cinnabar::tools::group_files
