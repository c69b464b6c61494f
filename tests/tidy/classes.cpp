// SPDX-License-Identifier: BSD-3-Clause
// Counts the functions of each class. It reads declarations, not all of C++, and may be off by one if a class declares
// something unusual.
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace cinnabar::tidy {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string text_of(const Source& source) {
    std::string text;
    for (const std::string& line : source.code) {
        const std::size_t first = line.find_first_not_of(' ');
        const bool directive = first != std::string::npos && line[first] == '#';
        text.append(directive ? "" : line).push_back('\n');
    }
    return text;
}

// Replaces each outermost pair of brackets of one kind, with its contents, with `instead`.
std::string without(std::string_view text, char open, char close, std::string_view instead) {
    std::string out;
    int depth = 0;
    for (const char c : text) {
        if (c == open && depth++ == 0) continue;
        if (c == close && depth > 0) {
            if (--depth == 0) out += instead;
            continue;
        }
        if (depth == 0) out += c;
    }
    return out;
}

// Whether a declaration in a class, without bodies, attributes and template arguments, is a function. Functions that
// the compiler writes or that are deleted do not count.
bool declares_function(std::string_view declaration) {
    if (declaration.ends_with("= default") || declaration.ends_with("= delete")) return false;
    const std::size_t open = declaration.find('(');
    const std::size_t first = declaration.find_first_not_of(" \n:");
    if (open == std::string_view::npos || first == std::string_view::npos) return false;
    if (declaration[first] == ',' || declaration[first] == ')') return false;  // continues after the braces of a value
    constexpr std::array<std::string_view, 3> others{"using ", "friend ", "static_assert"};
    const std::string_view begin = declaration.substr(first);
    if (std::any_of(others.begin(), others.end(), [&](auto other) { return begin.starts_with(other); })) return false;
    const std::string_view head = declaration.substr(0, open);
    if (head.find("operator") != std::string_view::npos) return true;
    const std::size_t last = head.find_last_not_of(' ');
    return last != std::string_view::npos && in_name(head[last]) && head.find('=') == std::string_view::npos;
}

std::size_t functions_in(std::string_view body) {
    std::string flat = without(body, '{', '}', ";");
    flat = without(without(flat, '[', ']', ""), '<', '>', "");
    std::size_t count = 0;
    for (std::size_t begin = 0, end; begin < flat.size(); begin = end + 1) {
        end = std::min(flat.find(';', begin), flat.size());
        if (declares_function(std::string_view(flat).substr(begin, end - begin))) ++count;
    }
    return count;
}

// Where the body of the class whose keyword ends at `at` begins; npos: it is only declared, or is not a class.
std::size_t body_behind(std::string_view text, std::size_t at) {
    const std::size_t stop = text.find_first_of("{;()=>,", at);
    return stop != std::string_view::npos && text[stop] == '{' ? stop + 1 : std::string_view::npos;
}

bool is_keyword(std::string_view text, std::size_t at, std::string_view word) {
    if (text.substr(at, word.size()) != word || (at > 0 && in_name(text[at - 1]))) return false;
    if (at + word.size() < text.size() && in_name(text[at + word.size()])) return false;
    return at < 5 || text.substr(at - 5, 5) != "enum ";
}

std::string_view body_at(std::string_view text, std::size_t begin) {
    int depth = 1;
    std::size_t end = begin;
    for (; end < text.size() && depth > 0; ++end) depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
    return text.substr(begin, end - begin - 1);
}

}  // namespace

Findings check_classes(const Source& source) {
    Findings findings;
    if (!source.is_cpp() || source.room() == "tests") return findings;
    const std::string text = text_of(source);
    for (std::size_t at = 0; at < text.size(); ++at) {
        for (const std::string_view word : {"class", "struct"}) {
            if (!is_keyword(text, at, word)) continue;
            const std::size_t begin = body_behind(text, at + word.size());
            if (begin == std::string::npos) continue;
            const std::size_t count = functions_in(body_at(text, begin));
            if (count <= class_functions_max) continue;
            const auto line =
                static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<long>(at), '\n'));
            findings.push_back({source.path, line + 1,
                                "the class has " + std::to_string(count) + " functions, over " +
                                    std::to_string(class_functions_max) + ": give some to an object that it has"});
        }
    }
    return findings;
}

}  // namespace cinnabar::tidy
