// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/files/filter.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <optional>

namespace cinnabar::files {
namespace {

struct NamedClass {
    std::string_view name;
    bool (*has)(unsigned char c);
};
// These classes contain ASCII characters only: take_named() rejects others, whatever the locale.
constexpr std::array<NamedClass, 12> named_classes{{
    {"alnum", [](unsigned char c) { return std::isalnum(c) != 0; }},
    {"alpha", [](unsigned char c) { return std::isalpha(c) != 0; }},
    {"blank", [](unsigned char c) { return c == ' ' || c == '\t'; }},
    {"cntrl", [](unsigned char c) { return std::iscntrl(c) != 0; }},
    {"digit", [](unsigned char c) { return std::isdigit(c) != 0; }},
    {"graph", [](unsigned char c) { return std::isgraph(c) != 0; }},
    {"lower", [](unsigned char c) { return std::islower(c) != 0; }},
    {"print", [](unsigned char c) { return std::isprint(c) != 0; }},
    {"punct", [](unsigned char c) { return std::ispunct(c) != 0; }},
    {"space", [](unsigned char c) { return std::isspace(c) != 0; }},
    {"upper", [](unsigned char c) { return std::isupper(c) != 0; }},
    {"xdigit", [](unsigned char c) { return std::isxdigit(c) != 0; }},
}};

// Removes a named class such as "[:alpha:]" from the beginning of `elements` and returns whether it contains `c`; an
// unknown class contains nothing. nullopt: the first element is not a named class.
std::optional<bool> take_named(std::string_view& elements, unsigned char c) {
    if (!elements.starts_with("[:")) return std::nullopt;
    const auto end = elements.find(']');
    if (end == elements.npos || end < 3 || elements[end - 1] != ':') return std::nullopt;
    const auto name = elements.substr(2, end - 3);
    elements.remove_prefix(end + 1);
    const auto* const named = std::ranges::find(named_classes, name, &NamedClass::name);
    return named != named_classes.end() && c < 0x80 && named->has(c);
}

// The same for a first element of any kind: a named class, a character, or a range like "a-z".
bool take_element(std::string_view& elements, unsigned char c) {
    if (const auto named = take_named(elements, c)) return *named;
    if (elements[0] == '\\' && elements.size() > 1) elements.remove_prefix(1);
    const auto low = static_cast<unsigned char>(elements[0]);
    auto high = low;
    elements.remove_prefix(1);
    if (elements.size() > 1 && elements[0] == '-' && elements[1] != ']') {
        high = static_cast<unsigned char>(elements[1]);
        elements.remove_prefix(2);
    }
    return low <= c && c <= high;
}

// Matches `c` against a character class such as "[a-z]" at the beginning of `pattern`. Returns whether the class
// contains `c`, and the rest of the pattern. nullopt: the bracket is not closed, so it is an ordinary character.
struct ClassMatch {
    bool has = false;
    std::string_view rest;
};
std::optional<ClassMatch> match_class(std::string_view pattern, char c) {
    auto elements = pattern.substr(1);
    const bool negated = elements.starts_with('!') || elements.starts_with('^');
    if (negated) elements.remove_prefix(1);
    bool has = false;
    for (bool first = true; !elements.empty() && (first || elements[0] != ']'); first = false)
        has = take_element(elements, static_cast<unsigned char>(c)) || has;
    if (elements.empty()) return std::nullopt;
    return ClassMatch{has != negated && c != '/', elements.substr(1)};
}

// Matches one character of the text against the first element of the pattern, which is not a star. Returns the rest of
// the pattern; nullopt: no match.
std::optional<std::string_view> match_one(std::string_view pattern, char c) {
    if (pattern.empty()) return std::nullopt;
    if (pattern[0] == '?') return c == '/' ? std::nullopt : std::optional(pattern.substr(1));
    if (pattern[0] == '[') {
        if (const auto found = match_class(pattern, c)) return found->has ? std::optional(found->rest) : std::nullopt;
    }
    if (pattern[0] == '\\' && pattern.size() > 1) pattern.remove_prefix(1);
    return pattern[0] == c ? std::optional(pattern.substr(1)) : std::nullopt;
}

// A star to backtrack to: the pattern after it, and the text that it has not consumed.
struct Star {
    std::string_view pattern;
    std::string_view text;
    bool deep = false;  // may take '/'
    // Consumes one more character. False: it cannot.
    bool grow() {
        if (text.empty() || (!deep && text[0] == '/')) return false;
        text.remove_prefix(1);
        return true;
    }
};

}  // namespace

// Backtracking needs only the last star and the last deep star: whatever an earlier star could consume, a later star of
// the same kind can consume as well. So for any pattern, the time is bounded by the product of both lengths.
bool matches_pattern(std::string_view pattern, std::string_view text) {
    std::optional<Star> shallow;
    std::optional<Star> deep;
    for (;;) {
        if (pattern.starts_with("**")) {
            while (pattern.starts_with('*')) pattern.remove_prefix(1);
            deep = Star{pattern, text, true};
            shallow.reset();
            continue;
        }
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(1);
            shallow = Star{pattern, text, false};
            continue;
        }
        if (text.empty() && pattern.empty()) return true;
        const auto rest = text.empty() ? std::nullopt : match_one(pattern, text[0]);
        if (rest) {
            pattern = *rest;
            text.remove_prefix(1);
            continue;
        }
        if (shallow && !shallow->grow()) shallow.reset();
        if (!shallow && (!deep || !deep->grow())) return false;
        const Star& back = shallow ? *shallow : *deep;
        pattern = back.pattern;
        text = back.text;
    }
}

Result<void> Filter::add(Verdict verdict, std::string_view pattern) {
    Rule rule;
    rule.verdict = verdict;
    rule.anchored = pattern.starts_with('/');
    if (rule.anchored) pattern.remove_prefix(1);
    rule.with_contents = pattern.ends_with("/***");
    if (rule.with_contents) pattern.remove_suffix(4);
    rule.folders_only = !rule.with_contents && pattern.ends_with('/');
    if (rule.folders_only) pattern.remove_suffix(1);
    if (pattern.empty()) return Error{Errc::invalid_argument, "a pattern must not be empty"};
    rule.whole_path =
        rule.anchored || pattern.find('/') != std::string_view::npos || pattern.find("**") != std::string_view::npos;
    rule.pattern = pattern;
    rules_.push_back(std::move(rule));
    return {};
}

bool Filter::matches(const Rule& rule, std::string_view path, bool folder) {
    if (rule.with_contents) {
        Rule of_folder = rule;
        of_folder.with_contents = false;
        of_folder.folders_only = true;
        if (matches(of_folder, path, folder)) return true;
        for (auto slash = path.rfind('/'); slash != path.npos; slash = path.substr(0, slash).rfind('/')) {
            if (matches(of_folder, path.substr(0, slash), true)) return true;
        }
        return false;
    }
    if (rule.folders_only && !folder) return false;
    if (!rule.whole_path) return matches_pattern(rule.pattern, path.substr(path.rfind('/') + 1));
    if (rule.anchored) return matches_pattern(rule.pattern, path);
    // With a slash before the path, "**/name" also matches that name at the top, as in rsync.
    if (rule.pattern.starts_with("**")) return matches_pattern(rule.pattern, std::string("/").append(path));
    for (;;) {
        if (matches_pattern(rule.pattern, path)) return true;
        const auto slash = path.find('/');
        if (slash == path.npos) return false;
        path.remove_prefix(slash + 1);
    }
}

bool Filter::takes(std::string_view path, bool folder) const {
    for (const auto& rule : rules_) {
        if (matches(rule, path, folder)) return rule.verdict == Verdict::include;
    }
    return true;
}

}  // namespace cinnabar::files
