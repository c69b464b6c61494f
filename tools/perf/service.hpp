// SPDX-License-Identifier: BSD-3-Clause
// The server side of `cinnabar perf`, on a node of its own or on the node of a live service: an echo, memory for
// transfers, and loads towards other servers. Peers are not trusted: memory is bounded, and released when the client
// that uses it disconnects; loads must be allowed.
#pragma once

#include "perf/faults.hpp"
#include "perf/mesh_service.hpp"

#include <cinnabar/hl/node.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace cinnabar::tools::perf {

struct ServiceOptions {
    std::uint64_t arena_bytes_max = 256u << 20;  // total for all clients; at most the node's buffer_bytes_max
    std::uint32_t contexts = 1;                  // number of contexts that clients may use: those of the node
    std::string release;                         // version of the library, reported to clients
    // An arena that its client does not hold within this time is released.
    std::chrono::milliseconds hold_limit{10'000};
    Faults faults;
    LoadOptions loads;  // towards other servers, for clients (`cinnabar perf mesh`)
};

class Service {
  public:
    // exists: the node serves it already. The node must outlive the service's calls, but not the service object.
    [[nodiscard]] static Result<Service> serve_on(const hl::NodeRef& node, const ServiceOptions& options);

    // The number of arenas in use. Any thread.
    [[nodiscard]] std::size_t arenas() const;

  private:
    class Arenas;
    explicit Service(std::shared_ptr<Arenas> arenas) : arenas_(std::move(arenas)) {}
    std::shared_ptr<Arenas> arenas_;
};

}  // namespace cinnabar::tools::perf
