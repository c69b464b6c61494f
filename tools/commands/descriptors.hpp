// SPDX-License-Identifier: BSD-3-Clause
// How a server divides the descriptors that it may have open: a file under way takes two (the file and its directory),
// and so does a client.
#pragma once

#include <cstdint>

namespace cinnabar::tools {

struct Descriptors {
    std::uint32_t files = 0;          // under way at once, of all clients
    std::uint32_t session_files = 0;  // of one client: never all, so that another one finds some
    std::uint32_t connections = 0;    // beyond these, quiet clients are asked to leave
};

// What `limit` descriptors allow, at most what `wanted` says. A part is kept for the server itself, whose `writers`
// open directories when they finish a file. Pure.
[[nodiscard]] Descriptors divide_descriptors(std::uint64_t limit, const Descriptors& wanted, unsigned writers) noexcept;

// Raises the process's soft limit, which is often 1,024, to the hard one, and gives that.
[[nodiscard]] std::uint64_t raise_descriptor_limit() noexcept;

}  // namespace cinnabar::tools
