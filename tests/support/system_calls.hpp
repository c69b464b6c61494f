// SPDX-License-Identifier: BSD-3-Clause
// Counts the system calls that a transport makes, without ptrace and without a preloaded library: a program that links
// `cinnabar_system_calls` has the functions of the C library that move bytes, wait and change what is waited for
// replaced at link time (-Wl,--wrap) by ones that count and pass on. What is linked into the program is counted
// (the static Cinnabar libraries are); calls from inside shared libraries are not.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::support {

// Calls since the start of the process, by all its threads.
[[nodiscard]] std::uint64_t system_calls() noexcept;

// The same, by the calling thread alone.
[[nodiscard]] std::uint64_t thread_system_calls() noexcept;

// What the calls of sockets among them (send, recv and their kin) have moved; calls that moved nothing do not count.
struct SocketTraffic {
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
};
[[nodiscard]] SocketTraffic socket_traffic() noexcept;

// "epoll_wait 12, recvmsg 8": each kind since the start of the process, for messages of tests and for profiles.
[[nodiscard]] std::string system_calls_by_name();

}  // namespace cinnabar::support
