// SPDX-License-Identifier: BSD-3-Clause
// Checks how many files this process may open, and how much memory it may lock (RLIMIT_NOFILE, RLIMIT_MEMLOCK).
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace cinnabar::tools::doctor {
namespace {

constexpr unsigned cap_ipc_lock = 14;

std::string count_text(std::uint64_t count) {
    return count == unlimited ? std::string("any number") : fmt::format("{}", count);
}

}  // namespace

void check_descriptors(const Host& host, Findings& found) {
    const auto limit = limit_of(host, "Max open files");
    if (!limit) return found.note("descriptors", "the limit of open files cannot be read", "mount /proc");
    constexpr std::uint64_t few = 4096;
    constexpr std::uint64_t few_at_first = 1024;
    if (limit->hard < few)
        return found.problem(
            "descriptors", ExitCode::overloaded,
            fmt::format("at most {} files may be open, and no process may raise that: a connection takes one to three",
                        count_text(limit->hard)),
            "in /etc/security/limits.conf: * hard nofile 1048576; for a service: LimitNOFILE=1048576");
    if (limit->soft <= few_at_first)
        return found.warning(
            "descriptors", ExitCode::overloaded,
            fmt::format("{} files may be open; `cinnabar serve` raises that by itself to {}, other programs do not",
                        count_text(limit->soft), count_text(limit->hard)),
            fmt::format("ulimit -n {}", limit->hard == unlimited ? "1048576" : count_text(limit->hard)));
    found.good("descriptors", fmt::format("{} files may be open", count_text(limit->soft)));
}

void check_locked_memory(const Host& host, Findings& found) {
    const auto limit = limit_of(host, "Max locked memory");
    const bool devices = !host.list("/sys/class/infiniband").empty();
    if (!limit) return found.note("locked-memory", "the limit of locked memory cannot be read", "mount /proc");
    if (is_capable(host, cap_ipc_lock))
        return found.good("locked-memory", "any amount of memory may be pinned (CAP_IPC_LOCK)");
    if (limit->soft == unlimited) return found.good("locked-memory", "any amount of memory may be pinned");
    constexpr std::uint64_t little = std::uint64_t{1} << 30;
    const std::string what = fmt::format("{} of memory may be pinned", human_bytes(limit->soft));
    if (!devices) return found.good("locked-memory", what + ", which matters only with RDMA devices");
    if (limit->soft < little)
        return found.problem("locked-memory", ExitCode::overloaded,
                             what +
                                 ": RDMA devices pin every region, its receive slots among them, and registering "
                                 "more ends with `out of memory`",
                             "ulimit -l unlimited; for good in /etc/security/limits.conf: * - memlock unlimited; for a "
                             "service: LimitMEMLOCK=infinity");
    found.good("locked-memory", what);
}

}  // namespace cinnabar::tools::doctor
