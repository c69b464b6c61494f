// SPDX-License-Identifier: BSD-3-Clause
#include "shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cinnabar::tools::shell {
namespace {

// Escapes text for a specification within single quotes, where brackets and colons are special.
std::string in_specification(std::string_view text) {
    std::string quoted;
    for (const char c : text) {
        switch (c) {
            case '\'':
                quoted += "'\\''";
                break;
            case '[':
                quoted += '(';
                break;
            case ']':
                quoted += ')';
                break;
            case ':':
            case '\\':
                quoted += '\\';
                quoted += c;
                break;
            default:
                quoted += c;
        }
    }
    return quoted;
}

std::string value_part(const OptionRow& option) {
    using Completes = OptionRow::Completes;
    if (option.value.empty()) return {};
    std::string part = ":" + in_specification(option.value) + ":";
    if (!option.choices.empty()) return part + fmt::format("({})", fmt::join(option.choices, " "));
    if (option.completes == Completes::file) part += "_files";
    if (option.completes == Completes::folder) part += "_files -/";
    return part;
}

std::string specification_of(const OptionRow& option) {
    const auto behind = "[" + in_specification(option.what) + "]" + value_part(option) + "'";
    if (option.positional()) return "'" + std::string(option.repeats ? "*" : "") + value_part(option) + "'";
    if (option.repeats) {
        std::string each;
        for (const auto& name : option.names) each += (each.empty() ? "'*" : " '*") + name + behind;
        return each;
    }
    if (option.names.size() == 1) return "'" + option.names.front() + behind;
    return fmt::format("'({})'{{{}}}'{}", fmt::join(option.names, " "), fmt::join(option.names, ","), behind);
}

std::string function_name(const CommandTable& command) {
    return command.path.size() == 1 ? "_cinnabar" : "_cinnabar_" + words_below(command, '_');
}

std::string function_of(const CommandTable& command) {
    std::string text = function_name(command) + "() {\n";
    std::string options;
    for (const auto& option : command.options) options += " \\\n        " + specification_of(option);
    if (command.commands.empty()) return text + "    _arguments -s -S" + options + "\n}\n\n";
    text += "    local curcontext=\"$curcontext\" state line\n    local -a commands\n    typeset -A opt_args\n";
    text += "    _arguments -C" + options + " \\\n        '1: :->command' \\\n        '*:: :->rest'\n";
    text += "    case $state in\n        command)\n            commands=(\n";
    for (const auto& below : command.commands)
        text += fmt::format("                '{}:{}'\n", below.path.back(), in_specification(below.what));
    text += "            )\n            _describe -t commands command commands\n            ;;\n";
    text += "        rest)\n            case $words[1] in\n";
    for (const auto& below : command.commands)
        text += fmt::format("                {}) {} ;;\n", below.path.back(), function_name(below));
    return text + "            esac\n            ;;\n    esac\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandTable& program) {
    std::string text = "#compdef cinnabar\n# Completion of cinnabar for zsh; made by `cinnabar completion zsh`.\n\n";
    for (const auto* command : flat(program)) text += function_of(*command);
    return text + "_cinnabar \"$@\"\n";
}

}  // namespace cinnabar::tools::shell
