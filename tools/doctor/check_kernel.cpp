// SPDX-License-Identifier: BSD-3-Clause
// Checks the version of the kernel, and whether it uses huge pages.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace cinnabar::tools::doctor {
namespace {

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
