// SPDX-License-Identifier: BSD-3-Clause
// save.crash: rounds of the crash test (tests/crash), for as long as a figure may take. The first round in which a byte
// or a name is lost ends it. `./dev crash N` runs as many as one likes.
#include "figures.hpp"
#include "support/command_output.hpp"

#include <cstdio>
#include <string>

namespace cinnabar::bench {
namespace {

#ifdef CINNABAR_CRASH_TEST
constexpr const char* crash_test = CINNABAR_CRASH_TEST;
#else
constexpr const char* crash_test = "";  // without GoogleTest
#endif

constexpr unsigned first_seed = 1000;      // the tests have those from 0 on
constexpr unsigned seeds_of_a_round = 10;  // of CINNABAR_SEEDS, as in `./dev crash`

bool has(const std::string& output, const char* words) { return output.find(words) != std::string::npos; }

std::vector<Row> run_crash(const Settings& settings) {
    const std::string name = "save.crash";
    const std::string program = crash_test;
    if (program.empty()) return {skipped_row(name, "the crash test is not in this build")};
    const unsigned batch = settings.quick ? 2 : 20;
    const std::string on_cores =
        "taskset -c " + std::to_string(settings.cores.client) + ',' + std::to_string(settings.cores.server);
    unsigned rounds = 0;
    bool failed = false;
    for (const double end = seconds_now() + settings.effort.seconds_max; !failed && seconds_now() < end;
         rounds += batch) {
        const auto output = support::output_of(
            on_cores + " env -u CINNABAR_SEED CINNABAR_FIRST_SEED=" + std::to_string(first_seed + rounds) +
            " CINNABAR_SEEDS=" + std::to_string(seeds_of_a_round * batch) + " '" + program +
            "' --gtest_filter=Crash.Whatever*");
        if (has(output, "[  SKIPPED ]")) return {skipped_row(name, "a sanitizer does not go with the crash test")};
        failed = !has(output, "[  PASSED  ] 1 test");
        if (failed) std::fputs(output.c_str(), stderr);
    }
    auto row = count_row(name, failed ? 1 : 0, "failed rounds", 0);
    row.remark = std::to_string(rounds) + " rounds";
    return {row};
}

}  // namespace

std::vector<Figure> save_crash_figures() { return {{"save.crash", run_crash}}; }

}  // namespace cinnabar::bench
