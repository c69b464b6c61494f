// SPDX-License-Identifier: BSD-3-Clause
// The doctor's checks of a machine. Each check adds what it found, good or bad, under its own ids (docs/doctor.md lists
// all ids). No check changes anything.
#pragma once

#include "doctor/finding.hpp"
#include "doctor/host.hpp"

namespace cinnabar::tools::doctor {

void check_kernel(const Host& host, Findings& found);          // kernel
void check_descriptors(const Host& host, Findings& found);     // descriptors
void check_locked_memory(const Host& host, Findings& found);   // locked-memory
void check_huge_pages(const Host& host, Findings& found);      // huge-pages, shared-huge-pages
void check_shared_memory(const Host& host, Findings& found);   // shm-room, shm-folder, stale-files
void check_ptrace_scope(const Host& host, Findings& found);    // ptrace-scope
void check_socket_buffers(const Host& host, Findings& found);  // socket-buffers
void check_congestion(const Host& host, Findings& found);      // congestion-control
void check_names(const Host& host, Findings& found);           // host-name, localhost
void check_devices(const Host& host, Findings& found);         // rdma-devices, rdma-port, rdma-gid, rdma-access
void check_locality(const Host& host, Findings& found);        // rdma-locality, nic-locality
void check_processors(const Host& host, Findings& found);      // processors, processor-quota, processor-speed
void check_affinity(const Host& host, Findings& found);        // processor-pinning
void check_over_time(const Host& host, Findings& found);       // steal, clock-jump, starved; takes a quarter second
void check_clock(const Host& host, Findings& found);           // clock

// Runs all of the above.
[[nodiscard]] Findings examine(const Host& host);

}  // namespace cinnabar::tools::doctor
