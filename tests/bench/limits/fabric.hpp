// SPDX-License-Identifier: BSD-3-Clause
// Bare libfabric: the work of a figure done by a program that calls nothing else, over the providers that the ofi
// plugin runs on, with a server process of its own. Only where this program was built with libfabric. They throw
// std::runtime_error when the provider is not there, fails, or lets a slice hang.
#pragma once

#include "limits.hpp"

#include <cstdint>

namespace cinnabar::bench {

enum class Fabric : std::uint8_t { tcp_rxm, shm };

// A tagged message each way, `in_flight` at a time, both ends spinning on their queues. Work: round trips.
[[nodiscard]] std::unique_ptr<Subject> make_fabric_ping_pong(Cores cores, Fabric fabric, FrameBytes frame,
                                                             std::size_t in_flight);

// The client reads blocks of the server's memory, `in_flight` at a time, each round through one buffer of its own on
// either side. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_fabric_read(Cores cores, Fabric fabric, std::size_t block_bytes,
                                                        std::size_t in_flight);

}  // namespace cinnabar::bench
