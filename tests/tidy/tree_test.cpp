// SPDX-License-Identifier: BSD-3-Clause
// The rules, applied to this project itself.
#include "rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cinnabar::tidy {
namespace {

TEST(Tree, KeepsTheRulesOfTheHouse) {
    const auto tree = load_tree(CINNABAR_SOURCE_DIR);
    const auto has = [&](std::string_view path) {
        return std::any_of(tree.begin(), tree.end(), [&](const Source& source) { return source.path == path; });
    };
    ASSERT_TRUE(has("base/src/error.cpp") && has("tests/tidy/tree_test.cpp") && has("dev")) << "the walk misses files";
    for (const Finding& finding : check_tree(tree)) {
        ADD_FAILURE_AT(finding.path.c_str(), static_cast<int>(finding.line)) << finding.text;
    }
}

}  // namespace
}  // namespace cinnabar::tidy
