// SPDX-License-Identifier: BSD-3-Clause
// The rules of the house that no compiler checks. Each reads one file and names what breaks it; CONTRIBUTING.md tells
// them to people.
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

// A file too long, a function too long, a line too wide.
[[nodiscard]] Findings check_sizes(const Source& source);
// A class of the product with too many functions (classes.cpp).
[[nodiscard]] Findings check_classes(const Source& source);
// An include or a linked target against the arrows of the house; a plugin that sees another one.
[[nodiscard]] Findings check_arrows(const Source& source);
// A third-party header in a core library, or a third-party type in a public header.
[[nodiscard]] Findings check_third_party(const Source& source);
// Names that have no place in the code: goto, sleeps, C allocation; printing from a library.
[[nodiscard]] Findings check_banned_names(const Source& source);
// Names that libfabric 2 has no longer, or not as they were, where its headers are included.
[[nodiscard]] Findings check_libfabric(const Source& source);
// What a hand left behind: unfinished marks, code that is switched off, tests that are switched off.
[[nodiscard]] Findings check_leftovers(const Source& source);
// Conflict markers of an unfinished merge, in any file.
[[nodiscard]] Findings check_merges(const Source& source);
// Paths that exist on somebody's machine only.
[[nodiscard]] Findings check_machine_paths(const Source& source);
// The licence line, and #pragma once in headers (a guard in those for C).
[[nodiscard]] Findings check_first_lines(const Source& source);
// Words that this project no longer uses, outside of the rooms that they have not left yet (words.cpp).
[[nodiscard]] Findings check_words(const Source& source);
// A room that such a word has left, and that is still on its list.
[[nodiscard]] Findings check_rooms_of_words(const std::vector<Source>& tree);
// A C or C++ file that no CMakeLists.txt above it names.
[[nodiscard]] Findings check_listed(const std::vector<Source>& tree);
// A row of docs/limits.md that is there twice, names a test that is not there, or none and does not say so.
[[nodiscard]] Findings check_limits(const std::vector<Source>& tree);

// All of the above over the whole tree.
[[nodiscard]] Findings check_tree(const std::vector<Source>& tree);

}  // namespace cinnabar::tidy
