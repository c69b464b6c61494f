// SPDX-License-Identifier: BSD-3-Clause
// Checks the requirements of the transport shm (plugins/shm/README.md).
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

namespace cinnabar::tools::doctor {
namespace {

constexpr unsigned cap_sys_ptrace = 19;

std::string root_of(const Host& host) {
    const std::string chosen = host.environment("CINNABAR_SHM_DIR");
    return chosen.empty() ? "/dev/shm" : chosen;
}

void check_leftovers(const Host& host, const std::string& folder, Findings& found) {
    constexpr std::string_view ending = ".lock";
    std::size_t alive = 0;
    std::size_t dead = 0;
    for (const auto& name : host.list(folder)) {
        if (name.ends_with(ending)) ++(host.is_locked(folder + "/" + name) ? alive : dead);
    }
    if (dead > 0)
        return found.note(
            "stale-files",
            fmt::format("{} names in {} are left by killed processes; {} are in use", dead, printable(folder), alive),
            "nothing: the next process that listens on shm:// removes them");
    found.good("stale-files", fmt::format("nothing is left of dead processes; {} names are in use", alive));
}

}  // namespace

void check_shared_memory(const Host& host, Findings& found) {
    const std::string root = root_of(host);
    const auto space = host.space(root);
    if (!space)
        return found.problem("shm-room", ExitCode::not_found,
                             printable(root) + " is not there: the transport shm has no place for its sockets",
                             "mount -t tmpfs -o mode=1777 none /dev/shm, or let CINNABAR_SHM_DIR name another folder");
    constexpr std::uint64_t little = 1u << 20;
    if (space->free_bytes < little)
        found.problem("shm-room", ExitCode::no_space,
                      fmt::format("{} has {} free of {}: no more sockets fit", printable(root),
                                  human_bytes(space->free_bytes), human_bytes(space->total_bytes)),
                      fmt::format("remove what is not needed there, or mount -o remount,size=1G {}", root));
    else
        found.good("shm-room", fmt::format("{} has {} free", printable(root), human_bytes(space->free_bytes)));

    const auto user = user_of(host);
    if (!user) return;
    const std::string folder = fmt::format("{}/cinnabar-{}", root, *user);
    const auto owner = host.owner(folder);
    if (owner && *owner != *user)
        return found.problem("shm-folder", ExitCode::permission,
                             fmt::format("{} belongs to user {}: listening on shm:// fails", printable(folder), *owner),
                             "have its owner remove it, or let CINNABAR_SHM_DIR name a folder that only you write to");
    found.good("shm-folder", owner ? printable(folder) + " is this user's" : printable(folder) + " can be made");
    check_leftovers(host, folder, found);
}

void check_ptrace_scope(const Host& host, Findings& found) {
    const auto scope = read_number(host, "/proc/sys/kernel/yama/ptrace_scope");
    if (!scope || *scope == 0) return found.good("ptrace-scope", "processes of one user copy each other's memory");
    if (is_capable(host, cap_sys_ptrace))
        return found.good("ptrace-scope", "this process may copy the memory of others (CAP_SYS_PTRACE)");
    const std::string what = fmt::format(
        "processes of one user may not copy each other's memory (ptrace_scope is {}): transfers over shm:// "
        "go through buffers, which is slower",
        *scope);
    if (*scope == 1)
        return found.warning(
            "ptrace-scope", ExitCode::permission, what,
            "shm://NAME?copy=across in the addresses of both sides, or sysctl kernel.yama.ptrace_scope=0");
    found.warning("ptrace-scope", ExitCode::permission, what, "sysctl kernel.yama.ptrace_scope=0 (3 needs a reboot)");
}

}  // namespace cinnabar::tools::doctor
