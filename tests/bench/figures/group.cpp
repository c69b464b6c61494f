// SPDX-License-Identifier: BSD-3-Clause
// Collective calls among 32 processes over shm, as `cinnabar perf group` measures them.
#include "figures.hpp"
#include "support/command_output.hpp"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr unsigned processes = 32;
constexpr unsigned runs = 5;

// In microseconds: the median over the rounds, from the row of that collective.
double median_in(const std::string& output, const std::string& collective) {
    const auto row = output.find("{\"collective\": \"" + collective + "\"");
    const std::string key = "\"p50_ns\": ";
    const auto at = row == std::string::npos ? row : output.find(key, row);
    const double ns = at == std::string::npos ? 0 : std::strtod(output.c_str() + at + key.size(), nullptr);
    if (ns <= 0) throw std::runtime_error{"cinnabar perf group measures nothing: " + output};
    return ns / 1000;
}

Row row_of(std::string name, std::vector<double>& medians) {
    std::sort(medians.begin(), medians.end());
    Row row;
    row.name = std::move(name);
    row.value = medians[medians.size() / 2];
    row.unit = "us";
    row.remark = std::to_string(processes) + " processes, " + std::to_string(medians.size()) + " runs";
    return row;
}

std::vector<Row> run_group(const Settings& settings) {
    const std::string command = settings.tool + " launch -n " + std::to_string(processes) + " -- " + settings.tool +
                                " perf group --listen shm:// --size 64 --json --rounds " +
                                (settings.quick ? "50" : "500");
    std::vector<double> broadcasts;
    std::vector<double> barriers;
    for (unsigned i = 0; i < (settings.quick ? 1 : runs); ++i) {
        const std::string output = support::output_of(command);
        broadcasts.push_back(median_in(output, "broadcast"));
        barriers.push_back(median_in(output, "barrier"));
    }
    return {row_of("group.broadcast.small", broadcasts), row_of("group.barrier", barriers)};
}

}  // namespace

std::vector<Figure> group_figures() { return {{"group", run_group}}; }

}  // namespace cinnabar::bench
