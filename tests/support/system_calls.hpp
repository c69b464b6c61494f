// SPDX-License-Identifier: BSD-3-Clause
// Counts the system calls of a transport, without ptrace or a preloaded library. In a program that links
// `cinnabar_system_calls`, the C library's functions for I/O and for waiting are replaced at link time (-Wl,--wrap) by
// wrappers that count. Calls from code that is linked statically are counted, such as the static Cinnabar libraries;
// calls from shared libraries are not.
#pragma once

#include <cstdint>
#include <string>

namespace cinnabar::support {

// Calls of all threads since the start of the process.
[[nodiscard]] std::uint64_t system_calls() noexcept;

// Calls of the calling thread only.
[[nodiscard]] std::uint64_t thread_system_calls() noexcept;

// Bytes moved by the socket calls among them (send, recv and related ones); calls that moved nothing do not count.
struct SocketTraffic {
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t sends = 0;
    std::uint64_t receives = 0;
};
[[nodiscard]] SocketTraffic socket_traffic() noexcept;

// Counts by name since the start of the process, such as "epoll_wait 12, recvmsg 8", for test messages and profiles.
[[nodiscard]] std::string system_calls_by_name();

}  // namespace cinnabar::support
