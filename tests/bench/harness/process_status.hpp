// SPDX-License-Identifier: BSD-3-Clause
// What the kernel reports about a running process, from /proc. Throws std::runtime_error if the process is gone.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace cinnabar::bench {

struct ProcessStatus {
    std::uint64_t resident_bytes = 0;
    std::uint64_t resident_bytes_max = 0;  // since it started
    std::uint64_t wake_ups = 0;            // voluntary context switches of all its threads: each sleep ends with one
    double cpu_seconds = 0;                // its process clock
};
[[nodiscard]] ProcessStatus status_of(pid_t pid);

// The most resident memory that it had since its program began, in bytes; 0 once it has ended, without an error.
[[nodiscard]] std::uint64_t resident_bytes_max_of(pid_t pid);

// The memory of the whole kernel that grows with connections: slabs, and pages in TCP buffers.
[[nodiscard]] std::uint64_t kernel_socket_bytes();

}  // namespace cinnabar::bench
