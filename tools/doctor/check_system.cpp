// SPDX-License-Identifier: BSD-3-Clause
// Checks the kernel and the limits of the process.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"
#include "terminal/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cinnabar::tools::doctor {
namespace {

constexpr unsigned cap_ipc_lock = 14;

struct Release {
    std::uint64_t major = 0;
    std::uint64_t minor = 0;
    [[nodiscard]] bool before(std::uint64_t other_major, std::uint64_t other_minor) const {
        return major < other_major || (major == other_major && minor < other_minor);
    }
};

// Parses for example "6.1.0-28-amd64".
Release release_of(const std::string& text) {
    const auto first = text.find('.');
    const auto second = first == text.npos ? first : text.find_first_not_of("0123456789", first + 1);
    if (first == text.npos) return {};
    return {number_of(text.substr(0, first)).value_or(0),
            number_of(text.substr(first + 1, second == text.npos ? second : second - first - 1)).value_or(0)};
}

std::string count_text(std::uint64_t count) {
    return count == unlimited ? std::string("any number") : fmt::format("{}", count);
}

}  // namespace

void check_kernel(const Host& host, Findings& found) {
    const std::string text = read_word(host, "/proc/sys/kernel/osrelease");
    const Release release = release_of(text);
    if (release.major == 0) return found.note("kernel", "the version of the kernel cannot be read", "mount /proc");
    if (release.before(5, 6))
        return found.problem("kernel", ExitCode::unsuitable,
                             fmt::format("Linux {}: no openat2, so `cinnabar serve` and `fetch` refuse to work", text),
                             "Linux 5.6 or newer; from 5.11 on, sleeps are exact to the microsecond");
    if (release.before(5, 11))
        return found.warning(
            "kernel", ExitCode::unsuitable,
            fmt::format("Linux {}: no epoll_pwait2, so a thread that sleeps wakes up to a millisecond late", text),
            "Linux 5.11 or newer");
    found.good("kernel", "Linux " + text);
}

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

void check_huge_pages(const Host& host, Findings& found) {
    const std::string own = chosen_of(read_word(host, "/sys/kernel/mm/transparent_hugepage/enabled"));
    if (own == "never")
        found.note("huge-pages", "memory gets no huge pages (transparent_hugepage/enabled is never)",
                   "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    else
        found.good("huge-pages", own.empty() ? "huge pages are unknown to this kernel" : "huge pages: " + own);
    const std::string shared = chosen_of(read_word(host, "/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
    if (shared == "never" || shared == "deny")
        found.warning("shared-huge-pages", ExitCode::unsuitable,
                      fmt::format("memory that the library allocates for processes of one host has no huge pages "
                                  "(shmem_enabled is {}): large transfers are slower",
                                  shared),
                      "echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled");
    else
        found.good("shared-huge-pages", shared.empty() ? "huge pages of shared memory are unknown to this kernel"
                                                       : "huge pages of shared memory: " + shared);
}

}  // namespace cinnabar::tools::doctor
