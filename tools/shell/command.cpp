// SPDX-License-Identifier: BSD-3-Clause
#include "shell/command.hpp"

#include "shell/completion.hpp"
#include "shell/man_page.hpp"
#include "terminal/report.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>

#include <CLI/CLI.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

namespace cinnabar::tools::shell {
namespace {

struct ManOptions {
    std::vector<std::string> words;  // of the command; empty: the program itself
    std::string folder;              // writes all pages into it
};

void print_text(std::string text) {
    text.pop_back();  // the newline that print_line adds
    print_line(text);
}

ExitCode print_completion(const CLI::App& app, const std::string& shell) {
    const auto program = read_tables(app);
    print_text(shell == "bash"  ? bash_completion(program)
               : shell == "zsh" ? zsh_completion(program)
                                : fish_completion(program));
    return ExitCode::ok;
}

ExitCode write_pages(const CommandTable& program, const std::string& folder, std::string_view version) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    for (const auto* command : flat(program)) {
        const auto path = (std::filesystem::path(folder) / (page_name(*command) + ".1")).string();
        errno = 0;
        std::ofstream page(path, std::ios::trunc);
        page << man_page(*command, program, version);
        if (page.close(); page) continue;
        const auto error = files::file_error(errno != 0 ? errno : EIO, "cannot write the page", path);
        complain(error.message());
        return exit_code(error.code);
    }
    return ExitCode::ok;
}

ExitCode run_man(const CLI::App& app, const ManOptions& options, std::string_view version) {
    const auto program = read_tables(app);
    if (!options.folder.empty()) return write_pages(program, options.folder, version);
    std::string wanted;
    for (const auto& word : options.words) wanted += (wanted.empty() ? "" : " ") + word;
    for (const auto* command : flat(program)) {
        if (words_below(*command) != wanted) continue;
        print_text(man_page(*command, program, version));
        return ExitCode::ok;
    }
    complain("there is no command " + printable(wanted) + "; cinnabar --help lists them");
    return ExitCode::usage;
}

}  // namespace

void add_commands(CLI::App& app, std::function<ExitCode()>& run, std::string version) {
    auto& completion = *app.add_subcommand("completion", "Print a shell's completion script for this command");
    const auto shell = std::make_shared<std::string>();
    completion.add_option("SHELL", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    completion.callback([shell, &app, &run] { run = [shell, &app] { return print_completion(app, *shell); }; });

    auto& man = *app.add_subcommand("man", "Print the man page of a command, in roff");
    const auto options = std::make_shared<ManOptions>();
    auto* words = man.add_option("COMMAND", options->words,
                                 "The command, as in `cinnabar man perf serve`; none: the whole program");
    man.add_option("-o,--output", options->folder, "Write the pages of all commands into this folder")
        ->type_name("DIR")
        ->excludes(words);
    man.callback([options, &app, &run, version = std::move(version)] {
        run = [options, &app, version] { return run_man(app, *options, version); };
    });
}

}  // namespace cinnabar::tools::shell
