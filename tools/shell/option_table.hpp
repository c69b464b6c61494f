// SPDX-License-Identifier: BSD-3-Clause
// The commands and their options as plain data, read from the tables of the command line, for what is made of them:
// completions and man pages. Pure.
#pragma once

#include <CLI/App.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::tools::shell {

struct OptionRow {
    std::vector<std::string> names;  // "-j", "--jobs"; none: an argument by its place
    std::string value;               // what stands for its value: "N", "FILE"; empty: a flag
    std::string what;
    std::string otherwise;  // its value where it is not given; empty: none, or not told
    std::string range;      // "1 to 64"; empty: none
    std::vector<std::string> choices;
    std::string group;  // of the help; empty: the usual one
    enum class Completes : std::uint8_t { nothing, file, folder } completes = Completes::nothing;
    bool repeats = false;

    [[nodiscard]] bool positional() const noexcept { return names.empty(); }
};

struct CommandTable {
    std::vector<std::string> path;  // "cinnabar", "perf", "serve"
    std::string what;               // one sentence
    std::string synopsis;           // what stands behind its path: "[OPTION...] FILE... URI"
    std::vector<OptionRow> options;
    std::vector<CommandTable> commands;
};

[[nodiscard]] CommandTable read_tables(const CLI::App& app);

// The command and all below it, each before those below it.
[[nodiscard]] std::vector<const CommandTable*> flat(const CommandTable& top);

// "perf serve": without the word of the program; empty for the program itself.
[[nodiscard]] std::string words_below(const CommandTable& command, char between = ' ');

}  // namespace cinnabar::tools::shell
