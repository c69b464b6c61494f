// SPDX-License-Identifier: BSD-3-Clause
// Words that this project no longer uses, with the words that the field uses instead (CONTRIBUTING.md, "Words"). A word
// leaves the sources room by room. `still_in` names the rooms that it has not left yet; a room is removed from the list
// as soon as it no longer contains the word, and none is ever added.
#include "rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::tidy {
namespace {

struct Retired {
    std::string_view word;  // or its plural, as a part of a name: put_off is found in PutOff and put_off_
    bool in_prose;          // not an English word otherwise, so banned from comments and documents, too
    std::string_view instead;
    std::vector<std::string_view> still_in;
    bool whole_name = false;  // only as a name of its own, since names of tests that are sentences contain it
    std::vector<std::string_view> meant_in = {};  // files in which it has the meaning that CONTRIBUTING.md gives it
};

const std::array retired_words{
    Retired{"came_in", false, "accepted, or incoming", {}},
    Retired{"card", false, "endpoint, or greeting", {}},
    Retired{"let_in", false, "accept", {}},
    Retired{"loan", false, "lease", {}},
    Retired{"meeting", false, "handshake", {}},
    Retired{"met", false, "connected", {}},
    Retired{"news", false, "event", {}},
    Retired{"newcomer", true, "incoming connection, or pending handshake", {}},
    Retired{"nonsense", false, "malformed", {}},
    Retired{"owed", false, "pending, or expected", {}},
    Retired{"places",
            false,
            "slots, entries, or the name of what they are",
            {},
            true,
            {"hl/include/cinnabar/hl/admission.hpp", "hl/src/admission.cpp", "tests/integration/caller_test.cpp"}},
    Retired{"put_off", false, "deferred", {}},
    Retired{"turned_away", false, "rejected", {}},
    Retired{"untaken", false, "pending", {}},
    Retired{"who", false, "identity, caller, or the name of what it is", {}, true},
};

// "_put_off_" of PutOff, put_off_ and put_off.
std::string parts_of(std::string_view name) {
    std::string parts = "_";
    for (const char c : name) {
        const bool upper = std::isupper(static_cast<unsigned char>(c)) != 0;
        if (upper && parts.back() != '_' && std::islower(static_cast<unsigned char>(parts.back()))) parts += '_';
        parts += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return parts + '_';
}

bool has_word(std::string_view name, const Retired& retired) {
    const std::string parts = parts_of(name);
    const std::string one = '_' + std::string(retired.word);
    if (retired.whole_name) return parts == one + '_' || parts == one + "__";
    return parts.find(one + '_') != std::string::npos || parts.find(one + "s_") != std::string::npos;
}

// Texts about the past, and this list.
bool keeps_old_words(const Source& source) {
    return source.path.starts_with("docs/decisions/") || source.path.starts_with("tests/tidy/") ||
           source.path == "CHANGELOG.md" || source.path == "CONTRIBUTING.md";
}

bool line_has(const Source& source, std::size_t index, const Retired& retired) {
    const auto in_names = [&](std::string_view text) {
        const auto names = names_in(text);
        return std::any_of(names.begin(), names.end(), [&](auto name) { return has_word(name, retired); });
    };
    if (retired.in_prose) return in_names(source.lines[index]);
    // Documents write names in the code as code; a single word outside is English.
    if (!source.is_cpp() && retired.word.find('_') == std::string_view::npos) return false;
    return in_names(source.code[index]);
}

bool lies_in(std::string_view path, std::string_view room) {
    return path == room || (path.starts_with(room) && path[room.size()] == '/');
}

// The line numbers, from 1; 0 for the name of the file itself.
std::vector<std::size_t> lines_with(const Source& source, const Retired& retired) {
    std::vector<std::size_t> lines;
    if (keeps_old_words(source)) return lines;
    if (source.is_cpp() && has_word(std::filesystem::path(source.path).stem().string(), retired)) lines.push_back(0);
    for (std::size_t i = 0; i < source.code.size(); ++i) {
        if (line_has(source, i, retired)) lines.push_back(i + 1);
    }
    return lines;
}

}  // namespace

Findings check_words(const Source& source) {
    Findings findings;
    for (const Retired& retired : retired_words) {
        const auto& rooms = retired.still_in;
        if (std::any_of(rooms.begin(), rooms.end(), [&](auto room) { return lies_in(source.path, room); })) continue;
        if (std::count(retired.meant_in.begin(), retired.meant_in.end(), source.path) != 0) continue;
        for (const auto line : lines_with(source, retired)) {
            findings.push_back(
                {source.path, std::max<std::size_t>(line, 1),
                 "the retired word \"" + std::string(retired.word) + "\"; say " + std::string(retired.instead)});
        }
    }
    return findings;
}

Findings check_rooms_of_words(const std::vector<Source>& tree) {
    Findings findings;
    for (const Retired& retired : retired_words) {
        for (const auto room : retired.still_in) {
            const bool there = std::any_of(tree.begin(), tree.end(), [&](const Source& source) {
                return lies_in(source.path, room) && !lines_with(source, retired).empty();
            });
            if (there) continue;
            findings.push_back({"tests/tidy/words.cpp", 1,
                                "\"" + std::string(retired.word) + "\" has left " + std::string(room) +
                                    ": take that room off its list"});
        }
    }
    return findings;
}

}  // namespace cinnabar::tidy
