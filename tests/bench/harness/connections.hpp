// SPDX-License-Identifier: BSD-3-Clause
// The TCP connections of other processes, as the kernel tells them in /proc.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <istream>
#include <unordered_set>
#include <vector>

namespace cinnabar::bench {

using Inodes = std::unordered_set<std::uint64_t>;

// Adds the sockets of a table like /proc/net/tcp that are connected. A connection within this host has two.
void add_connected(std::istream& table, Inodes& to);
// Those of IPv4 and IPv6 now.
[[nodiscard]] Inodes connected_sockets();

// How many of these sockets the process has open; 0 once it has ended.
[[nodiscard]] std::size_t connections_of(pid_t pid, const Inodes& connected);

// Its child processes. Empty once it has ended, and where the kernel does not tell.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

}  // namespace cinnabar::bench
