// SPDX-License-Identifier: BSD-3-Clause
// `cinnabar perf mesh`.
#include "commands/descriptors.hpp"
#include "perf/command.hpp"
#include "perf/mesh_output.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/report.hpp"

#include <vector>

namespace cinnabar::tools::perf {
namespace {

constexpr std::uint64_t bulk_size = 1u << 20;

std::vector<std::string> mesh_lines(const MeshResults& results, RunOptions::Print print) {
    switch (print) {
        case RunOptions::Print::text:
            break;
        case RunOptions::Print::json:
            return mesh_json(results);
        case RunOptions::Print::csv:
            return mesh_csv(results);
    }
    return mesh_text(results);
}

Result<MeshResults> measure_mesh_of(const MeshOptions& options, const Interrupt& interrupt) {
    std::vector<std::string> servers = options.servers;
    if (!options.servers_file.empty()) {
        CINNABAR_TRY(const auto more, read_servers(options.servers_file));
        servers.insert(servers.end(), more.begin(), more.end());
    }
    MeshPlan plan = options.plan;
    if (options.bulk) plan.bulk = options.direction;
    if (options.size || options.bulk) plan.size = options.size.value_or(bulk_size);
    return measure_mesh(servers, plan, interrupt.token());
}

}  // namespace

ExitCode run_mesh(const MeshOptions& options) {
    const Interrupt interrupt;
    (void)raise_descriptor_limit();
    const auto results = measure_mesh_of(options, interrupt);
    if (results) {
        for (const auto& line : mesh_lines(*results, options.print)) print_line(line);
        return results->exit();
    }
    complain(results.error().message());
    const bool usage = results.code() == Errc::invalid_argument || results.code() == Errc::too_large;
    return usage ? ExitCode::usage : exit_code(results.code());
}

}  // namespace cinnabar::tools::perf
