// SPDX-License-Identifier: BSD-3-Clause
// The rules, applied to this project itself.
#include "rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace cinnabar::tidy {
namespace {

// What the reference is made from: the words of INPUT, which goes on over lines that end with a backslash.
std::set<std::string> folders_of_reference() {
    std::ifstream doxyfile(std::string(CINNABAR_SOURCE_DIR) + "/docs/reference/Doxyfile");
    std::set<std::string> words;
    bool in_input = false;
    for (std::string line; std::getline(doxyfile, line); in_input = in_input && line.ends_with('\\')) {
        in_input = in_input || line.starts_with("INPUT ");
        if (!in_input) continue;
        std::istringstream rest(line);
        for (std::string word; rest >> word;) words.insert(word);
    }
    return words;
}

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

TEST(Tree, PublicHeadersAreInTheReference) {
    const auto folders = folders_of_reference();
    ASSERT_TRUE(folders.contains("base/include"));
    for (const Source& source : load_tree(CINNABAR_SOURCE_DIR)) {
        constexpr std::string_view include = "/include/";
        const auto at = source.path.find(include);
        if (!source.is_header() || at == std::string::npos) continue;
        const std::string folder = source.path.substr(0, at + include.size() - 1);
        EXPECT_TRUE(folders.contains(folder)) << source.path << ": add " << folder << " to docs/reference/Doxyfile";
    }
}

}  // namespace
}  // namespace cinnabar::tidy
