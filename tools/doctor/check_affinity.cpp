// SPDX-License-Identifier: BSD-3-Clause
// Checks the processors on which this process may run: which processors are threads of one core, on which NUMA nodes
// the processors are, and whether the kernel moves threads between them.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cinnabar::tools::doctor {
namespace {

// The NUMA nodes to which at least one of these processors belongs, as their folders are named.
std::vector<std::string> nodes_with(const Host& host, const std::vector<unsigned>& processors) {
    const std::string folder = "/sys/devices/system/node";
    std::vector<std::string> nodes;
    for (const auto& name : host.list(folder)) {
        const auto here = processors_of(read_word(host, folder + "/" + name + "/cpulist"));
        if (std::ranges::find_first_of(here, processors) != here.end()) nodes.push_back(name);
    }
    return nodes;
}

}  // namespace

void check_affinity(const Host& host, Findings& found) {
    const std::string folder = "/sys/devices/system/cpu";
    const std::string listed = field_of(host.read("/proc/self/status").value_or(""), "Cpus_allowed_list").value_or("");
    const auto allowed = processors_of(listed);
    if (allowed.size() < 2) return;  // `processors` reports one

    // The kernel's lists are sorted.
    const auto isolated = processors_of(read_word(host, folder + "/isolated"));
    if (std::ranges::includes(isolated, allowed))
        return found.warning(
            "processor-pinning", ExitCode::overloaded,
            fmt::format("processors {} are isolated, so the kernel moves no thread between them: all threads of this "
                        "process run on the one on which it started",
                        listed),
            "pin each thread to a processor of its own, or start the process on others: taskset -c LIST PROGRAM");
    const auto siblings =
        processors_of(read_word(host, fmt::format("{}/cpu{}/topology/thread_siblings_list", folder, allowed.front())));
    if (std::ranges::includes(siblings, allowed))
        return found.warning(
            "processor-pinning", ExitCode::overloaded,
            fmt::format("processors {} are threads of one core: a thread that spins for a reply slows the other down",
                        listed),
            "taskset with processors of several cores, which lscpu -e lists, or "
            "NodeOptions::rpc.context.spin_max = 0");
    const auto nodes = nodes_with(host, allowed);
    if (nodes.size() > 1)
        return found.note("processor-pinning",
                          fmt::format("this process may run on {} NUMA nodes ({}): a thread that moves to another one "
                                      "is far from its memory",
                                      nodes.size(), fmt::join(nodes, ", ")),
                          "numactl --cpunodebind=N --membind=N PROGRAM, with the node of the network device");
    const auto online = processors_of(read_word(host, folder + "/online"));
    if (allowed.size() < online.size())
        return found.good("processor-pinning",
                          fmt::format("may run on processors {}, of {} that this host has", listed, online.size()));
    found.good("processor-pinning", fmt::format("may run on processors {}", listed));
}

}  // namespace cinnabar::tools::doctor
