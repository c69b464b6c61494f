// SPDX-License-Identifier: BSD-3-Clause
// Mercury's own benchmark programs, with busy polling, from the installation that was found at configuration
// (CMAKE_PREFIX_PATH).
#pragma once

#include "../harness/figure.hpp"
#include "../harness/subject.hpp"

#include <cstddef>
#include <memory>

namespace cinnabar::bench {

// Mercury's shared memory (na+sm), or libfabric's RxM over tcp on the loopback.
enum class MercuryWire : std::uint8_t { sm, ofi_tcp_rxm };
[[nodiscard]] bool has_mercury(MercuryWire wire) noexcept;

enum class MercuryTool : std::uint8_t { rate, read, write };
[[nodiscard]] const char* name_of(MercuryTool tool) noexcept;

// Each slice starts a new server and client, and takes the rate that the client reports, in calls or bytes per second.
// Throws std::runtime_error if none is reported.
[[nodiscard]] std::unique_ptr<Subject> make_mercury(Cores cores, MercuryWire wire, MercuryTool tool, std::size_t bytes,
                                                    std::size_t in_flight);

}  // namespace cinnabar::bench
