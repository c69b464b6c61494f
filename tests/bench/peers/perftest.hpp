// SPDX-License-Identifier: BSD-3-Clause
// perftest's own programs between the two RDMA devices of one kind: KIND1, at `host`, serves, and KIND0 asks.
#pragma once

#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace cinnabar::bench {

enum class RdmaKind : std::uint8_t { rxe, siw };
[[nodiscard]] const char* name_of(RdmaKind kind) noexcept;
// Of the end where servers are.
[[nodiscard]] std::string far_host(RdmaKind kind);

enum class PerfTool : std::uint8_t { send_latency, read_bandwidth, write_bandwidth };
[[nodiscard]] const char* name_of(PerfTool tool) noexcept;

// Each slice starts a server and a client of its own and takes what the client reports. Work: bytes, or, of the latency
// that is reported, round trips: two of it each. Throws std::runtime_error when they report nothing.
[[nodiscard]] std::unique_ptr<Subject> make_perftest(Cores cores, RdmaKind kind, PerfTool tool, std::size_t bytes,
                                                     std::size_t in_flight);

}  // namespace cinnabar::bench
