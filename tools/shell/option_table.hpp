// SPDX-License-Identifier: BSD-3-Clause
// The commands and their options as plain data, read from CLI11's tables. Completions and man pages are generated from
// this data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// CLI11's headers are heavy, so only files that add options include them.
namespace CLI {
class App;
}

namespace cinnabar::tools::shell {

struct OptionRow {
    std::vector<std::string> names;  // "-j", "--jobs"; empty: a positional argument
    std::string value;               // placeholder of its value: "N", "FILE"; empty: a flag
    std::string what;
    std::string otherwise;  // default value; empty: none, or not shown
    std::string range;      // "1 to 64"; empty: none
    std::vector<std::string> choices;
    std::string group;  // heading in the help; empty: the default one
    enum class Completes : std::uint8_t { nothing, file, folder } completes = Completes::nothing;
    bool repeats = false;

    [[nodiscard]] bool positional() const noexcept { return names.empty(); }
};

struct CommandTable {
    std::vector<std::string> path;  // "cinnabar", "perf", "serve"
    std::string what;               // one sentence
    std::string synopsis;           // what follows the path: "[OPTION...] FILE... URI"
    std::vector<OptionRow> options;
    std::vector<CommandTable> commands;
};

[[nodiscard]] CommandTable read_tables(const CLI::App& app);

// The command and all its subcommands, parents first.
[[nodiscard]] std::vector<const CommandTable*> flat(const CommandTable& top);

// For example "perf serve": without the program's name; empty for the program itself.
[[nodiscard]] std::string words_below(const CommandTable& command, char between = ' ');

}  // namespace cinnabar::tools::shell
