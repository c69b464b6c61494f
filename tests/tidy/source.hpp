// SPDX-License-Identifier: BSD-3-Clause
// A source file as the rules see it: its lines, and the same lines with comments and literals blanked out.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tidy {

struct Source {
    std::string path;                // relative to the project, with '/'
    std::vector<std::string> lines;  // unchanged
    std::vector<std::string> code;  // C++ only: comments and literals are spaces, so that columns stay; else as `lines`

    Source(std::string path, std::string_view text);

    [[nodiscard]] bool is_header() const;
    [[nodiscard]] bool is_cpp() const;  // C or C++, header or not
    // The first folder: "na", "plugins", "tests"; empty for a file at the top.
    [[nodiscard]] std::string_view room() const;
    // The second folder: the plugin's name for plugins/tcp/..., "unit" for tests/unit/...; may be empty.
    [[nodiscard]] std::string_view corner() const;
};

// Every text file of the project that was written by hand: no build trees, no hidden folders, no fuzz corpora.
[[nodiscard]] std::vector<Source> load_tree(const std::filesystem::path& root);

// The names in a line of code, in order: identifiers and keywords.
[[nodiscard]] std::vector<std::string_view> names_in(std::string_view code);

}  // namespace cinnabar::tidy
