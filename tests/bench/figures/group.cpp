// SPDX-License-Identifier: BSD-3-Clause
// Collective calls among 32 processes over shm, as `cinnabar perf group` measures them, next to the same by MPI. Both
// have the two cores of the comparison for all their processes.
#include "../harness/pairs.hpp"
#include "figures.hpp"
#include "support/command_output.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr unsigned processes = 32;
constexpr unsigned runs = 5;

#ifdef CINNABAR_MPI_ROUNDS
const std::string mpi_launcher{CINNABAR_MPIEXEC};
const std::string mpi_program{CINNABAR_MPI_ROUNDS};
#else
const std::string mpi_launcher;
const std::string mpi_program;  // empty: there is no MPI
#endif

// Medians over the rounds, in microseconds.
struct Medians {
    double broadcast = 0;
    double barrier = 0;
};

// From the row of that collective.
double median_in(const std::string& output, const std::string& collective) {
    const auto row = output.find("{\"collective\": \"" + collective + "\"");
    const std::string key = "\"p50_ns\": ";
    const auto at = row == std::string::npos ? row : output.find(key, row);
    const double ns = at == std::string::npos ? 0 : std::strtod(output.c_str() + at + key.size(), nullptr);
    if (ns <= 0) throw std::runtime_error{"a program measures nothing: " + output};
    return ns / 1000;
}

Medians medians_of(const std::string& command) {
    const std::string output = support::output_of(command);
    return {median_in(output, "broadcast"), median_in(output, "barrier")};
}

std::string our_command(const Settings& settings, const std::string& rounds) {
    return settings.tool + " launch -n " + std::to_string(processes) + " -- " + settings.tool +
           " perf group --listen shm:// --size 64 --json --rounds " + rounds;
}

// Open MPI starts more processes than there are cores, and starts as root, only if it is told to.
std::string mpi_command(const std::string& rounds) {
    return std::string{"env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "} +
           "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none " + mpi_launcher + " -n " +
           std::to_string(processes) + ' ' + mpi_program + ' ' + rounds;
}

std::vector<Row> run_group(const Settings& settings) {
    if (settings.tool.empty()) throw std::runtime_error{"the cinnabar command was not built; see --tool"};
    const std::string rounds = settings.quick ? "50" : "500";
    const std::string on_cores =
        "taskset -c " + std::to_string(settings.cores.client) + ',' + std::to_string(settings.cores.server) + ' ';
    const std::string ours = on_cores + our_command(settings, rounds);
    Pairs broadcasts;
    Pairs barriers;
    for (unsigned i = 0; i < (settings.quick ? 1 : runs); ++i) {
        if (mpi_program.empty()) {
            const Medians own = medians_of(ours);
            broadcasts.add(own.broadcast);
            barriers.add(own.barrier);
            continue;
        }
        const std::string theirs = on_cores + mpi_command(rounds);
        const Medians mpi = medians_of(theirs);
        const Medians own = medians_of(ours);
        const Medians again = medians_of(theirs);
        broadcasts.add(own.broadcast, mpi.broadcast, again.broadcast);
        barriers.add(own.barrier, mpi.barrier, again.barrier);
    }
    std::vector<Row> rows{
        broadcasts.row("group.broadcast.small", "us", Bar{Sense::at_most, 1.5}, "MPI_Bcast and MPI_Reduce"),
        barriers.row("group.barrier", "us", Bar{Sense::at_most, 2}, "MPI_Barrier")};
    for (auto& row : rows) {
        row.remark += ", " + std::to_string(processes) + " processes";
        if (mpi_program.empty()) row.remark += "; comparison skipped: MPI is not on this machine";
    }
    return rows;
}

}  // namespace

std::vector<Figure> group_figures() { return {{"group", run_group}}; }

}  // namespace cinnabar::bench
