// SPDX-License-Identifier: BSD-3-Clause
// Divides a server's file descriptors among files in progress and clients. A file in progress takes up to three
// descriptors (the file, its directory, and the file that it replaces); a client takes up to two.
#pragma once

#include <cstdint>

namespace cinnabar::tools {

struct Descriptors {
    std::uint32_t files = 0;          // files in progress of all clients
    std::uint32_t session_files = 0;  // files in progress of one client; never all, so that other clients get some
    std::uint32_t connections = 0;    // beyond this number, idle clients are asked to disconnect
};

// Divides `limit` descriptors; no number in the result is larger than in `wanted`. Reserves some descriptors for the
// server itself, and for `writers` disk threads, which open directories when they finish a file. No side effects.
[[nodiscard]] Descriptors divide_descriptors(std::uint64_t limit, const Descriptors& wanted, unsigned writers) noexcept;

// Raises the process's soft limit of open files, often 1,024, to the hard limit. Returns the resulting limit. Used by
// commands that cannot bound the number of their connections or processes.
std::uint64_t raise_descriptor_limit() noexcept;

}  // namespace cinnabar::tools
