// SPDX-License-Identifier: BSD-3-Clause
#include "shell/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cinnabar::tools::shell {
namespace {

std::string in_quotes(std::string_view text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + "'";
}

// __cinnabar_is_at: whether the words before the cursor name this command and not a subcommand of it.
constexpr std::string_view fish_head = R"(# Completion of cinnabar for fish; made by `cinnabar completion fish`.
function __cinnabar_is_at
    set -l found
    for word in (commandline -opc)[2..-1]
        contains -- (string join -- ' ' $found $word) $__cinnabar_commands
        and set -a found $word
        or break
    end
    test "$found" = "$argv[1]"
end

complete -c cinnabar -f
)";

std::string condition_of(const CommandTable& command) {
    return fmt::format("-n \"__cinnabar_is_at '{}'\"", words_below(command));
}

std::string line_of(const CommandTable& command, const OptionRow& option) {
    using Completes = OptionRow::Completes;
    std::string line = "complete -c cinnabar " + condition_of(command);
    for (const auto& name : option.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    const bool file = option.completes == Completes::file;
    if (option.positional() && option.choices.empty()) return file ? line + " -F\n" : std::string();
    if (!option.value.empty() && !option.positional()) line += file ? " -r -F" : " -x";
    if (option.completes == Completes::folder) line += " -a '(__fish_complete_directories)'";
    if (!option.choices.empty()) line += fmt::format(" -a '{}'", fmt::join(option.choices, " "));
    return line + " -d " + in_quotes(option.what) + "\n";
}

}  // namespace

std::string fish_completion(const CommandTable& program) {
    std::vector<std::string> commands;
    std::string lines;
    for (const auto* command : flat(program)) {
        if (command->path.size() > 1) commands.push_back("'" + words_below(*command) + "'");
        for (const auto& below : command->commands)
            lines += fmt::format("complete -c cinnabar {} -a {} -d {}\n", condition_of(*command), below.path.back(),
                                 in_quotes(below.what));
        for (const auto& option : command->options) lines += line_of(*command, option);
    }
    return fmt::format("{}set -g __cinnabar_commands {}\n{}", fish_head, fmt::join(commands, " "), lines);
}

}  // namespace cinnabar::tools::shell
