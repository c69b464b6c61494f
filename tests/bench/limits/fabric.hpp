// SPDX-License-Identifier: BSD-3-Clause
// Bare libfabric: programs that do the work of a figure by calling nothing else, over the providers that the ofi plugin
// supports, each with a server process of its own. Only if this program was built with libfabric. They throw
// std::runtime_error if the provider is missing, fails, or lets a slice hang.
#pragma once

#include "limits.hpp"

#include <cstdint>

namespace cinnabar::bench {

enum class Fabric : std::uint8_t { tcp_rxm, shm };

// A tagged message in each direction, `in_flight` at a time. Both ends spin on their queues. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_fabric_ping_pong(Cores cores, Fabric fabric, FrameBytes frame,
                                                             std::size_t in_flight);

// The client reads blocks of the server's memory, `in_flight` at a time, each with a buffer of its own on either side.
// Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_fabric_read(Cores cores, Fabric fabric, std::size_t block_bytes,
                                                        std::size_t in_flight);

}  // namespace cinnabar::bench
