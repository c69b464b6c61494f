// SPDX-License-Identifier: BSD-3-Clause
// Selects which files of a tree are transferred, by patterns with rsync's rules: the first pattern that matches
// decides; a path that matches no pattern is included.
//   a leading '/'     anchors the pattern at the top of the tree; otherwise it may begin at any component
//   a trailing '/'    the pattern matches folders only
//   *  ?  [a-z] [!a]  match within one component; also named classes: [[:alpha:]_]
//   **                also matches '/'; "folder/***" is the folder and everything in it, "**/name" the name anywhere
//   \                 escapes the next character
// A pattern that has neither a '/' inside nor "**" is matched against the last component only. The contents of an
// excluded folder are not visited. No function has side effects outside its object.
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
    // Whether the path is included. `path` is relative to the top of the tree, without a leading '/'.
    [[nodiscard]] bool takes(std::string_view path, bool folder) const;

  private:
    struct Rule {
        Verdict verdict = Verdict::include;
        std::string pattern;
        bool anchored = false;
        bool folders_only = false;
        bool whole_path = false;  // match the whole path, not only the last component
        bool with_contents = false;
    };
    [[nodiscard]] static bool matches(const Rule& rule, std::string_view path, bool folder);
    std::vector<Rule> rules_;
};

// Whether the pattern matches the whole of `text`. Understands the wildcards above, but not the rules for a leading or
// trailing '/'.
[[nodiscard]] CINNABAR_API bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace cinnabar::files
