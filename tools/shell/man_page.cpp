// SPDX-License-Identifier: BSD-3-Clause
#include "shell/man_page.hpp"

#include "terminal/exit_code.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace cinnabar::tools::shell {
namespace {

// Escapes a line, so that roff interprets nothing in it.
std::string roff(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (safe.empty() && (c == '.' || c == '\'')) safe += "\\&";
        if (c == '\\') {
            safe += "\\e";
        } else if (c == '-') {
            safe += "\\-";
        } else if (c == '`' || c == '\'') {
            safe += c == '`' ? "\\(ga" : "\\(aq";
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

// Adds the full stop that descriptions of options lack.
std::string sentence(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

std::string heading_of(const OptionRow& option) {
    if (option.positional()) return italic(option.value) + (option.repeats ? " ..." : "");
    std::string heading;
    for (const auto& name : option.names) heading += (heading.empty() ? "" : ", ") + bold(name);
    return option.value.empty() ? heading : heading + " " + italic(option.value);
}

std::string entry_of(const OptionRow& option) {
    std::string text = ".TP\n" + heading_of(option) + "\n" + roff(sentence(option.what)) + "\n";
    if (!option.choices.empty()) {
        text += roff(fmt::format("{} is one of: {}.", option.value, fmt::join(option.choices, ", "))) + "\n";
    }
    if (!option.range.empty()) text += roff(option.value + " is " + option.range + ".") + "\n";
    if (!option.otherwise.empty()) text += roff("Default: " + option.otherwise + ".") + "\n";
    if (option.repeats && !option.positional()) text += "It may be given several times.\n";
    return text;
}

std::string options_of(const CommandTable& command) {
    std::string arguments;
    std::string options;
    std::vector<std::pair<std::string, std::string>> groups;  // in order of first use
    for (const auto& option : command.options) {
        if (option.group.empty()) {
            (option.positional() ? arguments : options) += entry_of(option);
            continue;
        }
        if (groups.empty() || groups.back().first != option.group) groups.emplace_back(option.group, "");
        groups.back().second += entry_of(option);
    }
    std::string text;
    if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
    text += ".SH OPTIONS\n" + options;
    for (const auto& [group, rows] : groups) text += ".SS " + roff(group) + "\n" + rows;
    return text;
}

std::string commands_of(const CommandTable& command) {
    if (command.commands.empty()) return {};
    std::string text = ".SH COMMANDS\n";
    for (const auto& below : command.commands)
        text += ".TP\n" + bold(below.path.back()) + "\n" + roff(sentence(below.what)) + "\n";
    return text;
}

std::string exit_status() {
    std::string text = ".SH EXIT STATUS\n";
    for (const auto& meaning : exit_meanings())
        text += fmt::format(".TP\n.B {}\n{}\n", static_cast<unsigned>(meaning.code),
                            roff(sentence(fmt::format("{}: {}", meaning.word, meaning.means))));
    return text;
}

std::string see_also(const CommandTable& command, const CommandTable& program) {
    std::vector<const CommandTable*> others;
    if (command.path.size() > 1) others.push_back(&program);
    for (const auto* other : flat(program)) {
        const bool beside = other->path.size() == 2 && command.path.size() <= 2;
        const bool in_one_family =
            other->path.size() > 1 && command.path.size() > 1 && other->path[1] == command.path[1];
        if (other != &command && (beside || in_one_family)) others.push_back(other);
    }
    std::string text;
    for (const auto* other : others) text += (text.empty() ? "" : ",\n") + bold(page_name(*other)) + "(1)";
    return ".SH SEE ALSO\n" + text + "\n";
}

}  // namespace

std::string page_name(const CommandTable& command) { return fmt::format("{}", fmt::join(command.path, "-")); }

std::string man_page(const CommandTable& command, const CommandTable& program, std::string_view version) {
    auto title = page_name(command);
    std::ranges::transform(title, title.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    std::string text = fmt::format(".TH {} 1 \"\" \"cinnabar {}\" \"Cinnabar\"\n", roff(title), version);
    text += ".SH NAME\n" + roff(page_name(command)) + " \\- " + roff(command.what) + "\n";
    text +=
        ".SH SYNOPSIS\n" + bold(fmt::format("{}", fmt::join(command.path, " "))) + "\n" + roff(command.synopsis) + "\n";
    text += ".SH DESCRIPTION\n" + roff(sentence(command.what)) + "\n";
    text += commands_of(command) + options_of(command) + exit_status();
    return text + see_also(command, program);
}

}  // namespace cinnabar::tools::shell
