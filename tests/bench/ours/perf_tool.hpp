// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace cinnabar::bench {

// `cinnabar perf calls` over shm with a server of its own and calls of 64 bytes; each slice is one client process.
// `tool`: the path of the command. Work: calls.
[[nodiscard]] std::unique_ptr<Subject> make_perf_tool(Cores cores, const std::string& tool, std::size_t in_flight);

}  // namespace cinnabar::bench
