// SPDX-License-Identifier: BSD-3-Clause
#include "shell/option_table.hpp"

#include <CLI/App.hpp>

#include <algorithm>
#include <string_view>

namespace cinnabar::tools::shell {
namespace {

// Parses "TEXT:{each,batch,none}", or "ENUM:value in {each->0,batch->1,none->2} OR {0,1,2}".
std::vector<std::string> choices_in(std::string_view type) {
    std::vector<std::string> choices;
    const auto begin = type.find('{');
    const auto end = type.find('}', begin);
    if (begin == type.npos || end == type.npos) return choices;
    auto rest = type.substr(begin + 1, end - begin - 1);
    while (!rest.empty()) {
        const auto one = rest.substr(0, rest.find(','));
        choices.emplace_back(one.substr(0, one.find("->")));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    }
    return choices;
}

// Parses "UINT:INT in [1 - 64]". Skips numbers with an exponent, which would not help the reader.
std::string range_in(std::string_view type) {
    const auto begin = type.find(" in [");
    const auto end = type.find(']', begin);
    if (begin == type.npos || end == type.npos) return {};
    std::string range(type.substr(begin + 5, end - begin - 5));
    const auto middle = range.find(" - ");
    if (middle == range.npos || range.find_first_not_of("0123456789. -") != range.npos) return {};
    return range.replace(middle, 3, " to ");
}

std::string value_of(const CLI::Option& option, const OptionRow& row) {
    if (option.get_items_expected_max() == 0) return {};
    if (option.get_positional()) return option.get_name(true);
    const std::string type = option.get_type_name();
    const std::string word = type.substr(0, type.find(':'));
    if (!row.choices.empty()) return "WORD";
    if (word == "UINT" || word == "INT" || word == "FLOAT") return "N";
    return word.empty() ? "TEXT" : word;
}

OptionRow row_of(const CLI::Option& option) {
    using Completes = OptionRow::Completes;
    OptionRow row;
    for (const auto& name : option.get_snames()) row.names.push_back("-" + name);
    for (const auto& name : option.get_lnames()) row.names.push_back("--" + name);
    row.choices = choices_in(option.get_type_name());
    row.range = range_in(option.get_type_name());
    row.value = value_of(option, row);
    row.what = option.get_description();
    row.otherwise = option.get_default_str();
    if (option.get_group() != "Options" && !option.get_positional()) row.group = option.get_group();
    if (row.value.starts_with("FILE")) row.completes = Completes::file;
    if (row.value.starts_with("DIR")) row.completes = Completes::folder;
    row.repeats = !row.value.empty() && (option.get_expected_max() > 1 ||
                                         option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll);
    return row;
}

// Splits off the usage at the end of a description: "Save files: cinnabar save FILE... URI".
void split_use(const CLI::App& app, CommandTable& table) {
    constexpr std::string_view use = ": cinnabar ";
    table.what = app.get_description();
    const auto at = table.what.find(use);
    if (at != table.what.npos) {
        const auto words = words_below(table);
        table.synopsis = "[OPTION...] " + table.what.substr(at + use.size() + words.size() + 1);
        table.what.resize(at);
        return;
    }
    table.synopsis = "[OPTION...]";
    for (const auto* option : app.get_options()) {
        if (!option->get_positional()) continue;
        const auto word = option->get_name(true) + (option->get_expected_max() > 1 ? "..." : "");
        table.synopsis += option->get_required() ? " " + word : " [" + word + "]";
    }
    if (!table.commands.empty()) table.synopsis += " COMMAND ...";
}

CommandTable table_of(const CLI::App& app, std::vector<std::string> path) {
    CommandTable table;
    path.push_back(app.get_name());
    table.path = std::move(path);
    for (const auto* option : app.get_options()) {
        if (!option->get_group().empty()) table.options.push_back(row_of(*option));
    }
    for (const auto* command : app.get_subcommands([](const CLI::App*) { return true; }))
        table.commands.push_back(table_of(*command, table.path));
    split_use(app, table);
    return table;
}

}  // namespace

CommandTable read_tables(const CLI::App& app) { return table_of(app, {}); }

std::vector<const CommandTable*> flat(const CommandTable& top) {
    std::vector<const CommandTable*> all{&top};
    for (const auto& command : top.commands) {
        const auto below = flat(command);
        all.insert(all.end(), below.begin(), below.end());
    }
    return all;
}

std::string words_below(const CommandTable& command, char between) {
    std::string words;
    for (std::size_t i = 1; i < command.path.size(); ++i)
        words += (i > 1 ? std::string(1, between) : "") + command.path[i];
    return words;
}

}  // namespace cinnabar::tools::shell
