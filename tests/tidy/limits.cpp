// SPDX-License-Identifier: BSD-3-Clause
// docs/limits.md names, for everything that can run out, the test that covers it. These checks enforce that.
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <regex>
#include <set>
#include <string>
#include <string_view>

namespace cinnabar::tidy {
namespace {

// The names of suites and of tests, and both as "Suite.Test".
std::set<std::string> tests_of(const std::vector<Source>& tree) {
    static const std::regex declaration(R"(^(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+), (\w+)\))");
    std::set<std::string> names;
    for (const Source& source : tree) {
        if (!source.is_cpp() || source.room() != "tests") continue;
        for (const std::string& line : source.lines) {
            std::smatch found;
            if (!std::regex_search(line, found, declaration)) continue;
            names.insert({found[1].str(), found[2].str(), found[1].str() + '.' + found[2].str()});
        }
    }
    return names;
}

bool is_there(const std::set<std::string>& tests, const std::string& name) {
    const std::size_t star = name.find('*');
    if (star == std::string::npos) return tests.contains(name);
    const std::string begin = name.substr(0, star);
    const auto first = tests.lower_bound(begin);
    return first != tests.end() && first->starts_with(begin);
}

// The cells of a table row; empty for other lines and for the line below a heading.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells;
    if (!line.starts_with('|') || line.starts_with("|--")) return cells;
    for (std::size_t begin = 1, end; (end = line.find('|', begin)) != std::string::npos; begin = end + 1) {
        const std::string cell = line.substr(begin, end - begin);
        const std::size_t from = cell.find_first_not_of(' ');
        cells.push_back(from == std::string::npos ? "" : cell.substr(from, cell.find_last_not_of(' ') - from + 1));
    }
    return cells;
}

bool names_a_program_or_folder(const std::string& name) {
    return name.ends_with("_test") || name.find('/') != std::string::npos;
}

}  // namespace

Findings check_limits(const std::vector<Source>& tree) {
    static const std::regex quoted("`([^`]+)`");
    const std::set<std::string> tests = tests_of(tree);
    Findings findings;
    for (const Source& source : tree) {
        if (source.path != "docs/limits.md") continue;
        std::set<std::string> rows;
        for (std::size_t i = 0; i < source.lines.size(); ++i) {
            const auto cells = cells_of(source.lines[i]);
            const auto say = [&](const std::string& text) { findings.push_back({source.path, i + 1, text}); };
            if (cells.empty() || cells.front() == "what") continue;
            if (!rows.insert(cells.front()).second) say("this row is there twice");
            const std::string& shown_by = cells.back();
            const std::sregex_iterator end;
            std::sregex_iterator name(shown_by.begin(), shown_by.end(), quoted);
            if (name == end && !shown_by.starts_with("none")) say("names no test; \"none\", and why, if there is none");
            for (; name != end; ++name) {
                const std::string test = (*name)[1];
                if (!names_a_program_or_folder(test) && !is_there(tests, test)) say("there is no test " + test);
            }
        }
    }
    return findings;
}

}  // namespace cinnabar::tidy
