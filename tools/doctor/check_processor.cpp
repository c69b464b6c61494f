// SPDX-License-Identifier: BSD-3-Clause
// Checks processors and clocks: whether this process gets CPU time when it needs it.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace cinnabar::tools::doctor {
namespace {

// From the first line of /proc/stat.
struct Ticks {
    double all = 0;
    double stolen = 0;
};

Ticks ticks_of(const Host& host) {
    Ticks ticks;
    const std::string text = host.read("/proc/stat").value_or("");
    const auto words = words_of(std::string_view(text).substr(0, text.find('\n')));
    // cpu user nice system idle iowait irq softirq steal; the fields after these are contained in user.
    for (std::size_t i = 1; i < std::min<std::size_t>(words.size(), 9); ++i) {
        const auto value = static_cast<double>(number_of(words[i]).value_or(0));
        ticks.all += value;
        if (i == 8) ticks.stolen = value;
    }
    return ticks;
}

// The CPU quota of the control groups, in processors; empty: no limit.
std::optional<double> quota_of(const Host& host) {
    // "0::/user.slice/..." names the group of version 2.
    const std::string groups = host.read("/proc/self/cgroup").value_or("");
    const auto at = groups.find("0::");
    std::string path = at == groups.npos ? "/" : trimmed(groups.substr(at + 3, groups.find('\n', at) - at - 3));
    std::optional<double> least;
    for (;;) {
        const auto words = words_of(host.read("/sys/fs/cgroup" + (path == "/" ? "" : path) + "/cpu.max").value_or(""));
        const auto quota = words.size() == 2 ? number_of(words[0]) : std::nullopt;
        const auto period = words.size() == 2 ? number_of(words[1]) : std::nullopt;
        if (quota && period && *period > 0) {
            const double share = static_cast<double>(*quota) / static_cast<double>(*period);
            least = least ? std::min(*least, share) : share;
        }
        if (path.size() < 2) return least;
        path.erase(path.rfind('/'));
        if (path.empty()) path = "/";
    }
}

void check_quota(std::optional<double> quota, Findings& found) {
    constexpr double enough = 1.5;
    if (!quota) return found.good("processor-quota", "no control group bounds the time of processors");
    const std::string allowed = fmt::format("a control group allows the time of {:.4g} processors", *quota);
    if (*quota >= enough) return found.good("processor-quota", allowed);
    found.warning("processor-quota", ExitCode::overloaded,
                  allowed + ": a process that used it up is paused until the next period",
                  "raise cpu.max of the group, or the CPU limit of the container");
}

}  // namespace

void check_processors(const Host& host, Findings& found) {
    const auto field = field_of(host.read("/proc/self/status").value_or(""), "Cpus_allowed_list");
    const auto allowed = processors_of(field.value_or(""));
    if (allowed.size() == 1)
        found.warning("processors", ExitCode::overloaded,
                      fmt::format("this process may run on processor {} only: a node that spins for a reply starves "
                                  "the handler",
                                  allowed.front()),
                      "taskset with two processors or more, or NodeOptions::rpc.context.spin_max = 0 on both sides");
    else
        found.good("processors", fmt::format("{} processors", allowed.size()));

    check_quota(quota_of(host), found);

    const std::string governor = read_word(host, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    if (governor == "powersave" || governor == "conservative")
        found.note("processor-speed",
                   fmt::format("processors save power (the governor is {}): the first calls after a pause are slower",
                               governor),
                   "cpupower frequency-set -g performance");
    else
        found.good("processor-speed", governor.empty() ? "the speed of processors is not governed here" : governor);
}

void check_over_time(const Host& host, Findings& found) {
    constexpr std::uint64_t span_ms = 250;
    const Ticks before = ticks_of(host);
    const std::uint64_t steady_before = host.monotonic_ns();
    const std::uint64_t real_before = host.real_ns();
    host.pause(span_ms);
    const double passed = static_cast<double>(host.monotonic_ns() - steady_before) * 1e-9;
    const double real_passed = static_cast<double>(static_cast<std::int64_t>(host.real_ns() - real_before)) * 1e-9;
    const Ticks now = ticks_of(host);

    const double all = now.all - before.all;
    const double share = all > 0 ? (now.stolen - before.stolen) / all : 0;
    constexpr double much = 0.02;
    if (share > much)
        found.warning(
            "steal", ExitCode::overloaded,
            fmt::format("{:.0f} % of the processors' time went to other virtual machines of this host", 100 * share),
            "use a machine or instance type with dedicated processors");
    else
        found.good("steal", "other virtual machines took no time");

    constexpr double jump_seconds = 0.01;
    if (std::abs(real_passed - passed) > jump_seconds)
        found.warning("clock-jump", ExitCode::timed_out,
                      fmt::format("the time of day jumped by {:.3f} s in a quarter of a second; deadlines do not go by "
                                  "it, but logs of two hosts do not fit together",
                                  real_passed - passed),
                      "chronyc tracking says why; let it slew (no makestep in operation)");
    else
        found.good("clock-jump", "the time of day runs evenly");

    constexpr double late_seconds = 0.05;
    const double late = passed - static_cast<double>(span_ms) * 1e-3;
    if (late > late_seconds)
        found.warning("starved", ExitCode::overloaded,
                      fmt::format("a pause of {} ms took {:.0f} ms longer: processors are busy with something else",
                                  span_ms, late * 1e3),
                      "see what runs (top), or give this process a better priority");
    else
        found.good("starved", "a thread that wakes up runs at once");
}

void check_clock(const Host& host, Findings& found) {
    constexpr double slow_ns = 200;
    const std::string source = read_word(host, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    const double cost = host.clock_cost_ns();
    if (cost > slow_ns)
        return found.warning("clock", ExitCode::unsuitable,
                             fmt::format("reading the clock takes {:.0f} ns ({}), and each call reads it", cost,
                                         source.empty() ? "of an unknown source" : source),
                             "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, or "
                             "clocksource=tsc tsc=reliable for the kernel");
    found.good("clock", fmt::format("reading the clock takes {:.0f} ns ({})", cost, source));
}

Findings examine(const Host& host) {
    Findings found;
    for (const auto check :
         {check_kernel, check_descriptors, check_locked_memory, check_huge_pages, check_shared_memory,
          check_ptrace_scope, check_socket_buffers, check_congestion, check_names, check_devices, check_locality,
          check_processors, check_affinity, check_over_time, check_clock})
        check(host, found);
    return found;
}

}  // namespace cinnabar::tools::doctor
