// SPDX-License-Identifier: BSD-3-Clause
// perftest's own programs between the two RDMA devices of one kind: KIND1, at `host`, serves, and KIND0 is the client.
#pragma once

#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace cinnabar::bench {

enum class RdmaKind : std::uint8_t { rxe, siw };
[[nodiscard]] const char* name_of(RdmaKind kind) noexcept;
// The address of the end at which servers run.
[[nodiscard]] std::string far_host(RdmaKind kind);

enum class PerfTool : std::uint8_t { send_latency, read_bandwidth, write_bandwidth };
[[nodiscard]] const char* name_of(PerfTool tool) noexcept;

// Each slice starts a new server and client and takes what the client reports. Work: bytes, or round trips, each of
// which counts as twice the reported latency. Throws std::runtime_error if nothing is reported.
[[nodiscard]] std::unique_ptr<Subject> make_perftest(Cores cores, RdmaKind kind, PerfTool tool, std::size_t bytes,
                                                     std::size_t in_flight);

}  // namespace cinnabar::bench
