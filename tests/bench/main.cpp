// SPDX-License-Identifier: BSD-3-Clause
// cinnabar-bench: measures the figures, prints the table and writes the file. The exit code is 0 whatever the verdicts,
// since figures decide nothing by themselves; 1 if a figure could not be measured, 2 for wrong arguments.
#include "figures/figures.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <string_view>

namespace cinnabar::bench {
namespace {

constexpr const char* usage_text =
    "cinnabar-bench [--quick] [--seconds N] [--only NAME]... [--list] [--json FILE] [--tool CINNABAR]\n"
    "  --quick        5 seconds a figure instead of 60 at most, and less work where a figure has much\n"
    "  --seconds N    N seconds a figure at most, of the same work as without; from 1 to 3600\n"
    "  --only NAME    this figure, or all whose name begins with NAME; may be repeated\n"
    "  --list         print the names and stop\n"
    "  --json FILE    also write the rows there\n"
    "  --tool FILE    the cinnabar command, for files and groups; default: the one built with this program\n";

struct Arguments {
    Settings settings;
    std::vector<std::string> only;
    std::string json;
    bool list = false;
};

bool parse(int argc, char** argv, Arguments& arguments) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const bool more = i + 1 < argc;
        if (word == "--quick") {
            arguments.settings.quick = true;
            arguments.settings.effort.seconds_max = 5;
            arguments.settings.effort.slice = std::chrono::milliseconds{50};
            arguments.settings.effort.rounds_min = 8;
        } else if (word == "--seconds" && more) {
            double& seconds = arguments.settings.effort.seconds_max;
            if (std::sscanf(argv[++i], "%lf", &seconds) != 1 || !(seconds >= 1 && seconds <= 3600)) return false;
        } else if (word == "--list") {
            arguments.list = true;
        } else if (word == "--only" && more) {
            arguments.only.emplace_back(argv[++i]);
        } else if (word == "--json" && more) {
            arguments.json = argv[++i];
        } else if (word == "--tool" && more) {
            arguments.settings.tool = argv[++i];
        } else {
            return false;
        }
    }
    return true;
}

bool wanted(const Arguments& arguments, const std::string& name) {
    return arguments.only.empty() || std::ranges::any_of(arguments.only, [&](const auto& prefix) {
               return name.compare(0, prefix.size(), prefix) == 0;
           });
}

bool write_json(const std::string& path, const std::vector<Row>& rows) {
    std::ofstream file{path};
    file << to_json(rows);
    return static_cast<bool>(file.flush());
}

int run(Arguments& arguments) {
#ifdef CINNABAR_TOOL
    if (arguments.settings.tool.empty()) arguments.settings.tool = CINNABAR_TOOL;
#endif
    const auto figures = all_figures();
    if (arguments.list) {
        for (const auto& figure : figures) std::puts(figure.name.c_str());
        return 0;
    }
    arguments.settings.cores = pick_cores();
    if (!arguments.settings.cores.two) std::fputs("only one core may be used: no figure means anything\n", stderr);
    pin_to(arguments.settings.cores.client);
    std::vector<Row> rows;
    int failures = 0;
    bool written = true;
    for (const auto& figure : figures) {
        if (!wanted(arguments, figure.name)) continue;
        std::fprintf(stderr, "%s ...\n", figure.name.c_str());
        try {
            for (auto& row : figure.run(arguments.settings)) rows.push_back(std::move(row));
        } catch (const std::exception& error) {
            std::fprintf(stderr, "%s: %s\n", figure.name.c_str(), error.what());
            ++failures;
        }
        // After each figure, so that a run which is stopped has told what it measured.
        if (!arguments.json.empty()) written = write_json(arguments.json, rows);
    }
    std::fputs(to_table(rows).c_str(), stdout);
    if (!written) std::fprintf(stderr, "cannot write %s\n", arguments.json.c_str());
    return failures == 0 && written ? 0 : 1;
}

}  // namespace
}  // namespace cinnabar::bench

int main(int argc, char** argv) {
    cinnabar::bench::Arguments arguments;
    if (!cinnabar::bench::parse(argc, argv, arguments)) {
        std::fputs(cinnabar::bench::usage_text, stderr);
        return 2;
    }
    return cinnabar::bench::run(arguments);
}
