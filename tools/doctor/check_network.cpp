// SPDX-License-Identifier: BSD-3-Clause
// Checks socket buffers and host names.
#include "doctor/checks.hpp"
#include "doctor/parse.hpp"
#include "terminal/units.hpp"

#include <cinnabar/base/printable.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace cinnabar::tools::doctor {
namespace {

// Reads a file of the form "min default max" and returns the maximum.
std::optional<std::uint64_t> most_of(const Host& host, const std::string& path) {
    const auto words = words_of(host.read(path).value_or(""));
    return words.size() == 3 ? number_of(words[2]) : std::nullopt;
}

void check_lookup(const Host& host, const std::string& id, const std::string& name, Findings& found) {
    const Lookup lookup = host.look_up(name);
    constexpr double slow_seconds = 1;
    if (!lookup.found)
        return found.warning(
            id, ExitCode::unreachable,
            fmt::format("the name {} does not resolve: addresses with it are `bad address`", printable(name)),
            fmt::format("add a line to /etc/hosts: 127.0.1.1 {}", printable(name)));
    if (lookup.seconds > slow_seconds)
        return found.warning(
            id, ExitCode::timed_out,
            fmt::format("the name {} took {:.1f} s to resolve: the first call to a name waits for as long",
                        printable(name), lookup.seconds),
            "look at the name servers in /etc/resolv.conf; numeric addresses need none");
    found.good(id, fmt::format("{} is {}", printable(name), fmt::join(lookup.addresses, ", ")));
}

}  // namespace

void check_socket_buffers(const Host& host, Findings& found) {
    const auto receive = most_of(host, "/proc/sys/net/ipv4/tcp_rmem");
    const auto send = most_of(host, "/proc/sys/net/ipv4/tcp_wmem");
    if (!receive || !send)
        return found.note("socket-buffers", "the sizes of socket buffers cannot be read", "mount /proc");
    constexpr std::uint64_t enough = 4u << 20;
    const std::string what =
        fmt::format("a socket grows to {} for receiving and {} for sending", human_bytes(*receive), human_bytes(*send));
    if (std::min(*receive, *send) < enough)
        return found.warning(
            "socket-buffers", ExitCode::overloaded,
            what + ": this limits the bandwidth of paths with a long round trip (size / round trip)",
            "sysctl -w net.ipv4.tcp_rmem='4096 131072 16777216' net.ipv4.tcp_wmem='4096 16384 16777216'");
    found.good("socket-buffers", what);
}

void check_congestion(const Host& host, Findings& found) {
    const std::string name = read_word(host, "/proc/sys/net/ipv4/tcp_congestion_control");
    if (name == "bbr")
        return found.note("congestion-control",
                          "bbr paces what it sends, which takes a tenth of the bandwidth on the loopback and in a rack",
                          "sysctl -w net.ipv4.tcp_congestion_control=cubic, where no way is long or lossy");
    found.good("congestion-control", name.empty() ? "congestion control is not known here" : name);
}

void check_names(const Host& host, Findings& found) {
    check_lookup(host, "localhost", "localhost", found);
    const std::string own = read_word(host, "/proc/sys/kernel/hostname");
    if (!own.empty()) check_lookup(host, "host-name", own, found);
}

}  // namespace cinnabar::tools::doctor
