// SPDX-License-Identifier: BSD-3-Clause
// Compares completions and man pages with the output of --help, which other code produces.
#include "process.hpp"
#include "support/command_output.hpp"
#include "support/folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace cinnabar::tools {
namespace {

using support::output_of;

// A command, and the options that --help lists.
struct Helped {
    Words words;
    std::set<std::string> options;
};

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

// The command and all its subcommands.
void look_for_help(const Words& words, std::vector<Helped>& all) {
    auto ask = words;
    ask.emplace_back("--help");
    const auto help = run(ask);
    EXPECT_EQ(help.exit, 0) << help.err;
    Helped helped{words, {}};
    Words below;
    bool commands = false;
    for (const auto& line : lines_of(help.out)) {
        if (!line.starts_with(' ')) commands = line == "Subcommands:";
        if (commands && line.starts_with("  ") && line[2] != ' ')
            below.push_back(line.substr(2, line.find(' ', 2) - 2));
        if (commands || !line.starts_with("  -")) continue;
        const auto names = line.substr(2, line.find_first_of(" {", 2) - 2);  // "-j,--jobs"
        std::istringstream parts(names);
        for (std::string name; std::getline(parts, name, ',');) helped.options.insert(name);
    }
    all.push_back(std::move(helped));
    for (const auto& word : below) {
        auto deeper = words;
        deeper.push_back(word);
        look_for_help(deeper, all);
    }
}

const std::vector<Helped>& commands() {
    static const std::vector<Helped> all = [] {
        std::vector<Helped> found;
        look_for_help({}, found);
        return found;
    }();
    return all;
}

std::string page_of(const Helped& command) {
    Words words{"man"};
    words.insert(words.end(), command.words.begin(), command.words.end());
    const auto page = run(words);
    EXPECT_EQ(page.exit, 0) << page.err;
    return page.out;
}

std::string page_file(const Helped& command) {
    std::string name = "cinnabar";
    for (const auto& word : command.words) name += "-" + word;
    return name + ".1";
}

bool installed(const std::string& program) { return !output_of("command -v " + program).empty(); }

TEST(ManPages, EachCommandHasOneWithEachOfItsOptions) {
    std::size_t options = 0;
    for (const auto& command : commands()) {
        const auto page = page_of(command);
        for (const auto& option : command.options) {
            auto name = std::regex_replace(option, std::regex("-"), "\\-");
            EXPECT_NE(page.find("\\fB" + name + "\\fR"), std::string::npos) << option << " of " << page_file(command);
        }
        options += command.options.size();
        EXPECT_NE(page.find("\n.SH EXIT STATUS\n"), std::string::npos);
    }
    EXPECT_GT(commands().size(), 17u);
    EXPECT_GT(options, 150u);
}

TEST(ManPages, AreWrittenIntoAFolder) {
    const support::Folder folder;
    ASSERT_EQ(run({"man", "--output", folder.at("share/man/man1")}).exit, 0);
    for (const auto& command : commands())
        EXPECT_EQ(folder.get("share/man/man1/" + page_file(command)), page_of(command));
    (void)folder.put("taken", "no folder");
    const auto refused = run({"man", "--output", folder.at("taken")});
    EXPECT_EQ(refused.exit, 11) << "not a directory";
    EXPECT_NE(refused.err.find("taken/cinnabar.1"), std::string::npos) << refused.err;
    const auto unknown = run({"man", "sieve"});
    EXPECT_EQ(unknown.exit, 1);
    EXPECT_NE(unknown.err.find("no command sieve"), std::string::npos) << unknown.err;
}

TEST(ManPages, HaveNoInstructionByAccident) {
    const std::set<std::string> known{".TH", ".SH", ".SS", ".TP", ".B"};
    for (const auto& command : commands()) {
        for (const auto& line : lines_of(page_of(command))) {
            EXPECT_TRUE(!line.starts_with('.') || known.contains(line.substr(0, line.find(' ')))) << line;
            EXPECT_FALSE(line.starts_with('\'')) << line;
            EXPECT_FALSE(line.empty()) << page_file(command);
        }
    }
}

TEST(ManPages, GroffWarnsOfNothing) {
    if (!installed("groff")) GTEST_SKIP() << "groff is not installed; what is looked at above must do";
    const support::Folder folder;
    ASSERT_EQ(run({"man", "--output", folder.path().string()}).exit, 0);
    for (const auto& command : commands()) {
        const auto told = output_of("groff -man -ww -Tutf8 " + folder.at(page_file(command)) + " 2>&1 >/dev/null");
        EXPECT_EQ(told, "") << page_file(command);
    }
    const auto shown = output_of("groff -man -Tascii -P-bcou " + folder.at("cinnabar-save.1"));
    EXPECT_NE(shown.find("-j, --jobs N"), std::string::npos) << shown;
    EXPECT_NE(shown.find("cinnabar save [OPTION...] FILE... URI[/FOLDER]"), std::string::npos) << shown;
}

// Bash's completions of the last word, sorted by bytes.
std::set<std::string> completed(const Words& words, const std::string& folder = "/") {
    std::string line = "cd '" + folder + "'; source <('" CINNABAR_TOOL "' completion bash); COMP_WORDS=(cinnabar";
    for (const auto& word : words) line += " '" + word + "'";
    line += "); COMP_CWORD=" + std::to_string(words.size());
    // Calls the registered function, as bash does.
    line += R"(; read -ra registered < <(complete -p cinnabar); "${registered[2]}" cinnabar)";
    line += R"(; printf "%s\n" "${COMPREPLY[@]}")";
    const support::Folder scripts;
    const auto script = scripts.put("script", line);
    std::set<std::string> offered;
    for (const auto& word : lines_of(output_of("bash --norc --noprofile " + script))) offered.insert(word);
    offered.erase("");
    return offered;
}

TEST(BashCompletion, OffersEachOptionOfEachCommand) {
    for (const auto& command : commands()) {
        auto words = command.words;
        words.emplace_back("-");
        EXPECT_EQ(completed(words), command.options) << page_file(command);
    }
}

TEST(BashCompletion, OffersCommandsValuesAndFiles) {
    const support::Folder folder;
    (void)folder.put("file", "");
    (void)folder.put("found it", "");
    std::filesystem::create_directory(folder.path() / "folder");
    const auto here = folder.path().string();
    using Set = std::set<std::string>;
    EXPECT_EQ(completed({"sa"}), Set{"save"});
    EXPECT_EQ(completed({"perf", ""}), (Set{"serve", "calls", "bulk", "all", "mesh", "group"}));
    EXPECT_EQ(completed({"save", "--sync", ""}), (Set{"each", "batch", "none"}));
    EXPECT_EQ(completed({"save", "--sync", "=", "ba"}), Set{"batch"});
    EXPECT_EQ(completed({"save", "--sync", "="}), (Set{"each", "batch", "none"}));
    EXPECT_EQ(completed({"completion", ""}), (Set{"bash", "zsh", "fish"}));
    EXPECT_EQ(completed({"save", "f"}, here), (Set{"file", "found it", "folder"}));
    EXPECT_EQ(completed({"save", "--key-file", "fi"}, here), Set{"file"});
    EXPECT_EQ(completed({"serve", "--root", ""}, here), Set{"folder"});
    for (const char* option : {"--cert", "--cert-key", "--ca", "--crl"})
        EXPECT_EQ(completed({"save", option, "fi"}, here), Set{"file"}) << option;
    EXPECT_EQ(completed({"copy", "--from-key-file", "fi"}, here), Set{"file"});
    EXPECT_EQ(completed({"top", "--key-file", "fi"}, here), Set{"file"});
    EXPECT_EQ(completed({"cert", "server", "--output", ""}, here), Set{"folder"});
    EXPECT_EQ(completed({"save", "--jobs", ""}, here), Set{}) << "a number";
    EXPECT_EQ(completed({"list", ""}, here), Set{}) << "an address";
    EXPECT_EQ(completed({"bogus", ""}, here).count("save"), 1u) << "not a command: those that there are";
}

// Checks that the script contains each option, as `as` spells it.
void expect_options(const std::string& script, const std::function<std::string(const std::string&)>& as) {
    for (const auto& command : commands()) {
        for (const auto& option : command.options)
            EXPECT_NE(script.find(as(option)), std::string::npos) << option << " of " << page_file(command);
    }
}

TEST(ZshCompletion, HasEachCommandAndOption) {
    const auto script = run({"completion", "zsh"}).out;
    EXPECT_TRUE(script.starts_with("#compdef cinnabar\n"));
    expect_options(script, [](const std::string& option) { return option; });
    for (const auto& command : commands()) {
        std::string function = "_cinnabar";
        for (const auto& word : command.words) function += "_" + word;
        EXPECT_NE(script.find("\n" + function + "() {\n"), std::string::npos) << function;
    }
    EXPECT_NE(script.find("'--sync["), std::string::npos);
    EXPECT_NE(script.find(":WORD:(each batch none)'"), std::string::npos) << script;
}

TEST(ZshCompletion, IsAScriptForZsh) {
    if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed; what is looked at above must do";
    const support::Folder folder;
    const auto file = folder.put("script", run({"completion", "zsh"}).out);
    EXPECT_EQ(output_of("zsh -n " + file + " 2>&1"), "");
}

TEST(FishCompletion, HasEachCommandAndOption) {
    const auto script = run({"completion", "fish"}).out;
    expect_options(script, [](const std::string& option) {
        return option.starts_with("--") ? " -l " + option.substr(2) + " " : " -s " + option.substr(1) + " ";
    });
    EXPECT_NE(script.find("\"__cinnabar_is_at 'perf serve'\""), std::string::npos) << script;
}

TEST(FishCompletion, IsAScriptForFish) {
    if (!installed("fish")) GTEST_SKIP() << "fish is not installed; what is looked at above must do";
    const support::Folder folder;
    const auto file = folder.put("script", run({"completion", "fish"}).out);
    EXPECT_EQ(output_of("fish -n " + file + " 2>&1"), "");
    const auto offered =
        output_of("fish -N -c 'source " + file + "; complete -C \"cinnabar save --sync \"' | cut -f 1");
    EXPECT_EQ(offered, "batch\neach\nnone\n");
    EXPECT_NE(output_of("fish -N -c 'source " + file + "; complete -C \"cinnabar perf se\"'").find("serve"),
              std::string::npos);
}

TEST(Completion, OfAnotherShellIsRefused) { EXPECT_EQ(run({"completion", "tcsh"}).exit, 1); }

TEST(ExitCodes, AreTheSameInTheManualAndTheHelp) {
    std::ifstream file(CINNABAR_SOURCE "/docs/save-service.md");
    std::ostringstream manual;
    manual << file.rdbuf();
    const auto help = run({"--help"}).out;
    const std::regex code("([0-9]+) ([a-z/ ]+)");
    const auto codes = help.substr(help.find("Exit codes:"));
    unsigned found = 0;
    for (std::sregex_iterator at(codes.begin(), codes.end(), code), end; at != end; ++at, ++found) {
        EXPECT_EQ((*at)[1], std::to_string(found));
        const auto row = "\n| " + (*at)[1].str() + " | " + (found == 0 ? "all done" : (*at)[2].str() + ": ");
        EXPECT_NE(manual.str().find(row), std::string::npos) << row;
    }
    EXPECT_EQ(found, 17u);
}

}  // namespace
}  // namespace cinnabar::tools
