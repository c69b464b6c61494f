// SPDX-License-Identifier: BSD-3-Clause
// The server's side of `cinnabar perf`, on a node of its own or on that of a live service: an echo, and memory to move
// to and fro. Peers are strangers: memory is bounded, and goes with the connection of the client that asked for it.
#pragma once

#include "perf/faults.hpp"

#include <cinnabar/hl/node.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::tools::perf {

struct ServiceOptions {
    std::uint64_t arena_bytes_max = 256u << 20;  // of all clients together; at most the node's buffer_bytes_max
    std::uint32_t contexts = 1;                  // that clients may spread over: those of the node
    std::string release;                         // of the library, as told to clients
    // An arena that its client does not hold by then is given to others.
    std::chrono::milliseconds hold_limit{10'000};
    Faults faults;
};

class Service {
  public:
    // exists: the node serves it already. The node must outlive the service's calls, not the service.
    [[nodiscard]] static Result<Service> serve_on(const hl::NodeRef& node, const ServiceOptions& options);

    // Arenas that clients have now. Any thread.
    [[nodiscard]] std::size_t arenas() const;

  private:
    class Arenas;
    explicit Service(std::shared_ptr<Arenas> arenas) : arenas_(std::move(arenas)) {}
    std::shared_ptr<Arenas> arenas_;
};

}  // namespace cinnabar::tools::perf
