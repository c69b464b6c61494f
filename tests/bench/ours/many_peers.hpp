// SPDX-License-Identifier: BSD-3-Clause
// Peers of a server in this process, each with a transport and a context of its own, so that each one has a connection.
#pragma once

#include "rpc_endpoint.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace cinnabar::bench {

// Raises the limit of open files so that many peers can be made. Throws std::runtime_error if the system refuses.
void allow_open_files(std::size_t count);
inline constexpr std::size_t files_of_a_peer = 3;  // its socket, and the descriptors of its context

class ManyPeers {
  public:
    explicit ManyPeers(const std::string& address, Wire wire = Wire::tcp)
        : server_(na::Addr::parse(address).value()), wire_(wire) {}

    // Connects `count` more peers, each with one call of the echo.
    void add(std::size_t count);
    [[nodiscard]] const std::vector<std::unique_ptr<RpcEndpoint>>& all() const noexcept { return peers_; }
    // Each peer reads what has arrived.
    void look();
    // One peer waits in the kernel; all are polled now and then.
    void idle_for(double seconds);

  private:
    na::Addr server_;
    Wire wire_;
    std::vector<std::unique_ptr<RpcEndpoint>> peers_;
};

}  // namespace cinnabar::bench
