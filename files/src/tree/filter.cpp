// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/files/filter.hpp>

#include <cstddef>
#include <optional>

namespace cinnabar::files {
namespace {

// Matches a character class such as "[a-z]" at the beginning of `pattern`: whether it contains `c`, and the rest of the
// pattern. nullopt: the bracket is not closed, so it is an ordinary character.
struct ClassMatch {
    bool has = false;
    std::string_view rest;
};
std::optional<ClassMatch> match_class(std::string_view pattern, char c) {
    std::size_t at = 1;
    const bool negated = at < pattern.size() && (pattern[at] == '!' || pattern[at] == '^');
    if (negated) ++at;
    bool has = false;
    for (bool first = true; at < pattern.size() && (first || pattern[at] != ']'); first = false) {
        if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
        const auto low = static_cast<unsigned char>(pattern[at++]);
        auto high = low;
        if (at + 1 < pattern.size() && pattern[at] == '-' && pattern[at + 1] != ']') {
            high = static_cast<unsigned char>(pattern[at + 1]);
            at += 2;
        }
        const auto value = static_cast<unsigned char>(c);
        has = has || (low <= value && value <= high);
    }
    if (at >= pattern.size()) return std::nullopt;
    return ClassMatch{has != negated && c != '/', pattern.substr(at + 1)};
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

// Backtracking needs only the last star and the last deep star: what an earlier star could consume, a later one of the
// same kind can as well. So the time is bounded by the product of the lengths, for any pattern.
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
