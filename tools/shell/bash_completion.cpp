// SPDX-License-Identifier: BSD-3-Clause
#include "shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

namespace cinnabar::tools::shell {
namespace {

constexpr std::string_view bash_head = R"(# Completion of cinnabar for bash; made by `cinnabar completion bash`.
_cinnabar() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= word options= words= kind=
    COMPREPLY=()
    # bash takes --option=value for three words.
    [[ $cur != = ]] || cur=
    [[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$command $word" in
)";

constexpr std::string_view bash_tail = R"(    if [[ -n $options && $cur == -* ]]; then
        words=$options
        kind=
    fi
    case $kind in
        file) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
        folder) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
        *) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
    esac
    [[ -z $kind ]] || compopt -o filenames 2>/dev/null
    return 0
}
complete -F _cinnabar cinnabar
)";

// Maps completion actions to the "command option" patterns that have them.
using Patterns = std::map<std::string, std::vector<std::string>>;

std::string path_word(const CommandTable& command) {
    const auto words = words_below(command);
    return words.empty() ? words : " " + words;
}

std::string kind_word(const OptionRow& option) {
    using Completes = OptionRow::Completes;
    if (!option.choices.empty()) return fmt::format("words='{}'", fmt::join(option.choices, " "));
    if (option.completes == Completes::file) return "kind=file";
    if (option.completes == Completes::folder) return "kind=folder";
    return ":";
}

std::string command_case(const CommandTable& command) {
    std::vector<std::string> options;
    std::vector<std::string> words;
    std::string more;
    for (const auto& below : command.commands) words.push_back(below.path.back());
    for (const auto& option : command.options) {
        options.insert(options.end(), option.names.begin(), option.names.end());
        if (option.positional() && more.empty()) more = kind_word(option);
    }
    std::string text = fmt::format("                '{}')\n                    options='{}'\n", path_word(command),
                                   fmt::join(options, " "));
    if (!words.empty()) text += fmt::format("                    words='{}'\n", fmt::join(words, " "));
    if (!more.empty() && more != ":") text += "                    " + more + "\n";
    return text + "                    ;;\n";
}

}  // namespace

std::string bash_completion(const CommandTable& program) {
    std::string text(bash_head);
    std::vector<std::string> commands;
    Patterns values;
    std::string cases;
    for (const auto* command : flat(program)) {
        const auto path = path_word(*command);
        if (!path.empty()) commands.push_back("'" + path + "'");
        for (const auto& option : command->options) {
            for (const auto& name : option.names) {
                if (!option.value.empty()) values[kind_word(option)].push_back(fmt::format("'{} {}'", path, name));
            }
        }
        cases += command_case(*command);
    }
    text += fmt::format("            {}) ;;\n            *) break ;;\n        esac\n", fmt::join(commands, " | "));
    text += "        command=\"$command $word\"\n    done\n    case \"$command $before\" in\n";
    for (const auto& [kind, patterns] : values)
        text += fmt::format("        {}) {} ;;\n", fmt::join(patterns, " | "), kind);
    text += "        *)\n            case $command in\n" + cases + "            esac\n            ;;\n    esac\n";
    return text.append(bash_tail);
}

}  // namespace cinnabar::tools::shell
