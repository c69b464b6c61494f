// SPDX-License-Identifier: BSD-3-Clause
// The rules of the project that no compiler checks. Each function reads one file and reports what violates a rule.
// CONTRIBUTING.md explains the rules.
#pragma once

#include "source.hpp"

#include <string>
#include <vector>

namespace cinnabar::tidy {

struct Finding {
    std::string path;
    std::size_t line;  // from 1
    std::string text;
};
using Findings = std::vector<Finding>;

inline constexpr std::size_t file_lines_max = 800;
inline constexpr std::size_t function_lines_max = 70;
inline constexpr std::size_t line_columns_max = 120;
inline constexpr std::size_t class_functions_max = 40;

// A file or a function that is too long, or a line that is too wide.
[[nodiscard]] Findings check_sizes(const Source& source);
// A class of the product with too many functions (classes.cpp).
[[nodiscard]] Findings check_classes(const Source& source);
// An include or a linked target that violates the layering; a plugin that sees another one.
[[nodiscard]] Findings check_arrows(const Source& source);
// A file that sees a whole context of rpc, although its parts name what they need (decision 116).
[[nodiscard]] Findings check_parts(const Source& source);
// A third-party header in a core library, or a third-party type in a public header.
[[nodiscard]] Findings check_third_party(const Source& source);
// Names that are banned from the code: goto, sleeps, C allocation; printing from a library.
[[nodiscard]] Findings check_banned_names(const Source& source);
// Names that libfabric 2 does not have, or not in the same way, in places that include its headers.
[[nodiscard]] Findings check_libfabric(const Source& source);
// Leftovers of work in progress: unfinished marks, disabled code, disabled tests.
[[nodiscard]] Findings check_leftovers(const Source& source);
// Conflict markers of an unfinished merge, in any file.
[[nodiscard]] Findings check_merges(const Source& source);
// Paths that exist only on somebody's machine.
[[nodiscard]] Findings check_machine_paths(const Source& source);
// The licence line, and #pragma once in headers (a guard in those for C).
[[nodiscard]] Findings check_first_lines(const Source& source);
// Words that this project no longer uses, except in rooms that they have not left yet (words.cpp).
[[nodiscard]] Findings check_words(const Source& source);
// A room on the list of such a word that does not contain the word any more.
[[nodiscard]] Findings check_rooms_of_words(const std::vector<Source>& tree);
// A C or C++ file that is not named in any CMakeLists.txt above it.
[[nodiscard]] Findings check_listed(const std::vector<Source>& tree);
// A row of docs/limits.md that occurs twice, names a test that does not exist, or names none without saying so.
[[nodiscard]] Findings check_limits(const std::vector<Source>& tree);

// All of the above over the whole tree.
[[nodiscard]] Findings check_tree(const std::vector<Source>& tree);

}  // namespace cinnabar::tidy
