// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a tree are moved: patterns with rsync's rules, the first that matches decides, and what none matches
// is moved.
//   a leading '/'     the pattern begins where the tree begins; otherwise it may begin at any component
//   a trailing '/'    it matches folders only
//   *  ?  [a-z] [!a]  within one component
//   **                also across '/'; "folder/***" is the folder and all that is in it
//   \                 takes what follows as it is
// A pattern with neither '/' inside nor "**" is compared with the last component only. What lies in a folder that is
// left out is not looked at. Pure.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

class CINNABAR_API Filter {
  public:
    enum class Verdict : bool { exclude, include };
    // invalid_argument: an empty pattern.
    [[nodiscard]] Result<void> add(Verdict verdict, std::string_view pattern);
    // `path` is below the tree's beginning, without a leading '/'.
    [[nodiscard]] bool takes(std::string_view path, bool folder) const;

  private:
    struct Rule {
        Verdict verdict = Verdict::include;
        std::string pattern;
        bool anchored = false;
        bool folders_only = false;
        bool whole_path = false;  // not only the last component
        bool with_contents = false;
    };
    [[nodiscard]] static bool matches(const Rule& rule, std::string_view path, bool folder);
    std::vector<Rule> rules_;
};

// Compares all of `text` with a pattern of the characters above, without the rules about '/'.
[[nodiscard]] CINNABAR_API bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace cinnabar::files
