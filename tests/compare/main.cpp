// SPDX-License-Identifier: BSD-3-Clause
// `./dev compare`: compares Cinnabar with other installed programs.
#include "harness/scratch.hpp"
#include "harness/usage.hpp"
#include "installed.hpp"
#include "machine.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "works.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

namespace {

using namespace cinnabar;

struct Arguments {
    compare::Pace pace;
    std::string only;
    std::string commit;
    std::string json;
    std::string html;
    std::string markdown;
};

void write(const std::string& path, const std::string& text) {
    if (path.empty()) return;
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

int run(const Arguments& arguments) {
    compare::extend_path();
    if (!bench::pick_cores().two) throw std::runtime_error("two cores are needed: one for each side");
    constexpr std::uint64_t scratch_bytes = 3 * compare::file_bytes;
    const bench::Scratch scratch(scratch_bytes);
    bench::make_file(scratch.path() / compare::file_name, compare::file_bytes);
    bench::make_folder(scratch.path() / compare::folder_name, compare::folder_files, compare::folder_file_bytes);
    compare::Report report = compare::about_this_machine();
    report.commit = arguments.commit;
    report.seconds = arguments.pace.seconds;
    report.rounds = arguments.pace.rounds;
    for (const compare::Work& work : compare::all_works()) {
        if (work.name.rfind(arguments.only, 0) != 0) continue;
        report.works.push_back(compare::compare(work, arguments.pace, scratch.path(), [](const std::string& line) {
            std::fprintf(stderr, "%s\n", line.c_str());
        }));
    }
    if (report.works.empty()) throw std::runtime_error("no work's name begins with " + arguments.only);
    write(arguments.json, compare::to_json(report));
    write(arguments.html, compare::to_html(report));
    write(arguments.markdown, compare::to_markdown(report));
    std::fputs(compare::to_text(report).c_str(), stdout);
    return compare::has_failures(report) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    CLI::App app("Ours beside the programs of others that are installed, in turn", "cinnabar-compare");
    app.add_option("--seconds", arguments.pace.seconds, "Of a slice")
        ->check(CLI::Range(0.05, 60.0))
        ->capture_default_str();
    app.add_option("--rounds", arguments.pace.rounds, "How often each works")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--only", arguments.only, "Works whose name begins so");
    app.add_option("--commit", arguments.commit, "What the report says was measured");
    app.add_option("--json", arguments.json, "Writes every figure of every round into this file");
    app.add_option("--html", arguments.html, "Writes a report with plots into this file");
    app.add_option("--markdown", arguments.markdown, "Writes the tables into this file");
    CLI11_PARSE(app, argc, argv);
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "cinnabar-compare: %s\n", error.what());
        return 2;
    }
}
